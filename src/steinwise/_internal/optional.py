"""Optional packages: imported where they are needed, with an error that names the extra."""

from importlib import import_module
from typing import Any


def require(module: str, extra: str, caller: str) -> Any:
    """Import a module of an optional package, or say which extra installs it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'{caller} needs {module.split(".")[0]}: pip install "steinwise[{extra}]" ({error})'
        ) from error
