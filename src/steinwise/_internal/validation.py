"""Checks of options, where they enter the library."""

from typing import Any, Literal, TypeGuard, get_args

import numpy as np
from jaxtyping import Float

from steinwise.errors import InputError

Estimator = Literal["u", "v"]


def require_whole(name: str, value: Any, *, least: int) -> None:
    """Require a whole number that is at least `least`.

    >>> require_whole("bins", 2.5, least=1)
    Traceback (most recent call last):
    steinwise.errors.InputError: bins is 2.5: expected a whole number, at least 1.
    """
    if not is_whole(value) or value < least:
        raise InputError(f"{name} is {value!r}: expected a whole number, at least {least}.")


def require_at_least(name: str, value: Any, least: float) -> None:
    """Require a finite number that is at least `least`."""
    if not _is_number(value) or not least <= value < np.inf:
        raise InputError(f"{name} is {value!r}: expected a number, at least {least}.")


def require_positive(name: str, value: Any, most: float = np.inf) -> None:
    """Require a finite number above 0 that is at most `most`.

    >>> require_positive("gamma", 1.5, most=1)
    Traceback (most recent call last):
    steinwise.errors.InputError: gamma is 1.5: expected a positive number, at most 1.
    """
    if not _is_number(value) or not 0 < value < np.inf or value > most:
        limit = f", at most {most:g}" if most < np.inf else ""
        raise InputError(f"{name} is {value!r}: expected a positive number{limit}.")


def require_flag(name: str, value: Any) -> None:
    """Require True or False: other objects have a truth value too, and that of "no" is True."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} is {value!r}: expected True or False.")


def require_level(alpha: Any) -> None:
    """Require a level of a test."""
    if not _is_number(alpha) or not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha!r}: expected a level between 0 and 1, such as 0.05.")


def require_estimator(estimator: Any) -> None:
    """Require "u" or "v": whether a mean over pairs leaves out the pairs of a draw with itself."""
    if not isinstance(estimator, str) or estimator not in get_args(Estimator):
        raise InputError(f"estimator is {estimator!r}: expected 'u' or 'v'.")


def require_share(name: str, value: Any) -> None:
    """Require a number between 0 and 1, both excluded."""
    if not _is_number(value) or not 0 < value < 1:
        raise InputError(f"{name} is {value!r}: expected a number between 0 and 1.")


def is_whole(value: Any) -> TypeGuard[int | np.integer]:
    """Whether a value is a whole number; True and False are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return is_whole(value) or isinstance(value, (float, np.floating))


def as_numbers(value: Any) -> np.ndarray | None:
    """An array of real numbers, in 64 bit; None for anything else.

    >>> as_numbers([1, 2]), as_numbers("ten"), as_numbers([[1], [2, 3]])
    (array([1., 2.]), None, None)
    """
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return None
    return array.astype(np.float64) if array.dtype.kind in "iuf" else None


def as_positive(value: Any) -> np.ndarray | None:
    """A positive finite number, or a vector of them, in 64 bit; None for anything else."""
    array = as_numbers(value)
    if array is None or array.ndim > 1 or array.size == 0:
        return None
    return array if (np.isfinite(array) & (array > 0)).all() else None


def as_points(name: str, value: Any, expected: str) -> Float[np.ndarray, "m d"]:
    """Finite points, one per row, in 64 bit.

    >>> as_points("locations", "a", "an array (J, d)")
    Traceback (most recent call last):
    steinwise.errors.InputError: locations is 'a': expected an array (J, d).
    """
    points = as_numbers(value)
    if points is None or points.ndim != 2 or points.size == 0:
        came = repr(value) if points is None or points.ndim == 0 else f"of shape {points.shape}"
        raise InputError(f"{name} is {came}: expected {expected}.")
    wrong = ~np.isfinite(points).all(axis=1)
    if wrong.any():
        raise InputError(
            f"{wrong.sum()} of the {len(points)} rows of {name} have NaN or infinite entries, the "
            f"first is row {wrong.argmax()}: expected finite numbers."
        )
    return points
