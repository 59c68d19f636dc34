"""A test bench for people who write samplers: targets with exact draws, and exact tests of steps.

Every name loads on first use. The names and their modules are written once, in ``__init__.pyi``.
"""

from steinwise._internal.lazy import loader, modules_of_names

_MODULES = modules_of_names(__name__)
__getattr__ = loader(__name__, _MODULES)
__all__ = sorted(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]


def __dir__() -> list[str]:
    return list(__all__)
