"""Stein discrepancies as tests: each says how to make its batch sums, and no more.

A method loads on first use. The methods are listed once, in ``__init__.pyi``.
"""

from steinwise._internal.lazy import loader, modules_of_names

_MODULES = modules_of_names(__name__)
_CLASSES = {
    module.removeprefix("steinwise.methods."): name
    for name, module in _MODULES.items()
    if not name.startswith("Abstract")
}

NAMES = tuple(_CLASSES)  # that `method=` takes
__getattr__ = loader(__name__, _MODULES)
__all__ = sorted([*_MODULES, "NAMES", "by_name"])  # pyright: ignore[reportUnsupportedDunderAll]


def by_name(name: str) -> type:
    """The class of the method that has this name."""
    return __getattr__(_CLASSES[name])  # type: ignore[return-value]


def __dir__() -> list[str]:
    return list(__all__)
