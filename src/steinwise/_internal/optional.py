"""Packages that only some users have: imported where they are needed, or named in the error."""

from importlib import import_module
from typing import Any


def require(module: str, extra: str, caller: str) -> Any:
    """Import a module of an optional package, or say which extra brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'{caller} needs {module.split(".")[0]}: pip install "steinwise[{extra}]" ({error})'
        ) from error
