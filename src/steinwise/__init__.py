"""Do these draws come from this density, and if not, which coordinates are wrong?

Every public name loads on first use, so that ``import steinwise`` stays cheap. The names and their
modules are written once, in ``__init__.pyi``.
"""

from steinwise._internal.fork import watch_forks
from steinwise._internal.lazy import loader, modules_of_names

__version__ = "0.1.0"

_MODULES = modules_of_names(__name__)
__getattr__ = loader(__name__, _MODULES)
__all__ = sorted([*_MODULES, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]

watch_forks()


def __dir__() -> list[str]:
    return list(__all__)
