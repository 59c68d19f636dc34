"""Do these draws come from this density, and if not, which coordinates are wrong?

Every public name loads on first use, so that ``import steinwise`` stays cheap. The names and their
modules are written once, in ``__init__.pyi``.
"""

__version__ = "0.1.0"


def _modules_of_names() -> dict[str, str]:
    """The module of every public name, from the imports of the stub beside this file."""
    import ast
    from importlib.resources import files

    stub = ast.parse((files("steinwise") / "__init__.pyi").read_text("utf-8"))
    imports = (node for node in stub.body if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}


_MODULES = _modules_of_names()

__all__ = sorted([*_MODULES, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'steinwise' has no attribute {name!r}")
    from importlib import import_module

    home = _MODULES[name]
    if home in ("steinwise", "steinwise.api"):  # which hold modules only
        value = import_module(f"{home}.{name}")
    else:
        value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
