"""Options that are numbers, checked where they enter."""

from typing import Any

import numpy as np

from steinwise.errors import InputError


def require_whole(name: str, value: Any, *, least: int) -> None:
    """A whole number, at least so large.

    >>> require_whole("bins", 2.5, least=1)
    Traceback (most recent call last):
    steinwise.errors.InputError: bins is 2.5: expected a whole number, at least 1.
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise InputError(f"{name} is {value!r}: expected a whole number, at least {least}.")


def require_level(alpha: Any) -> None:
    """The level of a test."""
    if not isinstance(alpha, (int, float, np.floating)) or not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha!r}: expected a level between 0 and 1, such as 0.05.")


def require_share(name: str, value: Any) -> None:
    """A number between 0 and 1, neither of them."""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not 0 < value < 1:
        raise InputError(f"{name} is {value!r}: expected a number between 0 and 1.")
