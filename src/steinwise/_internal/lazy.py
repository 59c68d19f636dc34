"""Names of a package that load on first use, written once: in the stub that type checkers read."""

import ast
from collections.abc import Callable
from importlib import import_module
from importlib.resources import files


def modules_of_names(package: str) -> dict[str, str]:
    """The module of every name that the stub ``__init__.pyi`` of a package imports."""
    stub = ast.parse((files(package) / "__init__.pyi").read_text("utf-8"))
    imports = (node for node in stub.body if isinstance(node, ast.ImportFrom))
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def loader(package: str, modules: dict[str, str]) -> Callable[[str], object]:
    """A module's ``__getattr__`` (PEP 562) for these names."""

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = modules[name]
        if home in ("steinwise", "steinwise.api"):  # the name is that of a module
            value = import_module(f"{home}.{name}")
        else:
            value = getattr(import_module(home), name)
        setattr(import_module(package), name, value)  # the next use finds it there
        return value

    return load
