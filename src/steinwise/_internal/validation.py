"""Checks of options, where they enter the library."""

from collections.abc import Iterable
from typing import Any, Literal, TypeGuard, get_args

import numpy as np
from jaxtyping import Float

from steinwise._internal.counting import by_count
from steinwise.errors import InputError

Estimator = Literal["u", "v"]
LARGEST_COUNT = 10**9  # of anything that takes time or memory
# The asymmetry of a matrix that is left to rounding, in units of the roots of its diagonal:
# products of matrices in float32 leave 1e-7, and mistakes are larger.
ROUNDING = 1e-6
LEAST_LEVEL = 1e-9  # of a test: its bootstraps would fill any memory


def require_whole(name: str, value: Any, *, least: int) -> None:
    """Require a whole number that is at least `least`.

    >>> require_whole("bins", 2.5, least=1)
    Traceback (most recent call last):
    steinwise.errors.InputError: bins is 2.5: expected a whole number, at least 1.
    """
    if not is_whole(value) or value < least:
        raise InputError(f"{name} is {value!r}: expected a whole number, at least {least}.")
    if value > LARGEST_COUNT:
        raise InputError(f"{name} is {value!r}: expected a whole number, at most {LARGEST_COUNT}.")


def require_at_least(name: str, value: Any, least: float) -> None:
    """Require a finite number that is at least `least`."""
    if not _is_number(value) or not least <= value < np.inf:
        raise InputError(f"{name} is {value!r}: expected a number, at least {least}.")


def require_positive(name: str, value: Any, most: float = np.inf, *, least: float = 0.0) -> None:
    """Require a finite number above 0 that is at least `least` and at most `most`.

    >>> require_positive("gamma", 1.5, most=1)
    Traceback (most recent call last):
    steinwise.errors.InputError: gamma is 1.5: expected a positive number, at most 1.
    """
    if not _is_number(value) or not 0 < value < np.inf or not least <= value <= most:
        limits = [f"at least {least:g}"] * (least > 0) + [f"at most {most:g}"] * (most < np.inf)
        number = ", ".join(["a positive number", *limits])
        raise InputError(f"{name} is {value!r}: expected {number}.")


def require_flag(name: str, value: Any) -> None:
    """Require True or False: other objects have a truth value too, and that of "no" is True."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} is {value!r}: expected True or False.")


def require_function(name: str, value: Any, expected: str = "a function") -> None:
    """Require something that can be called."""
    if not callable(value):
        raise InputError(f"{name} is of type {type(value).__name__}: expected {expected}.")


def require_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Require one of some words; an array, which is equal to each of them in part, is none.

    >>> require_choice("null", "sign", ["signs", "target"])
    Traceback (most recent call last):
    steinwise.errors.InputError: null is 'sign': expected 'signs' or 'target'.
    """
    words = list(choices)
    if not isinstance(value, str) or value not in words:
        *others, last = map(repr, words)
        raise InputError(f"{name} is {value!r}: expected {', '.join(others)} or {last}.")


def require_level(alpha: Any) -> None:
    """Require a level of a test."""
    if not _is_number(alpha) or not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha!r}: expected a level between 0 and 1, such as 0.05.")
    if alpha < LEAST_LEVEL:
        raise InputError(
            f"alpha is {alpha!r}: no bootstrap can tell a level below {LEAST_LEVEL:g}. Take one "
            "such as 0.05, or 1e-4 for a test that is run often."
        )


def require_estimator(estimator: Any) -> None:
    """Require "u" or "v": whether a mean over pairs leaves out the pairs of a draw with itself."""
    require_choice("estimator", estimator, get_args(Estimator))


def require_share(name: str, value: Any) -> None:
    """Require a number between 0 and 1, both excluded."""
    if not _is_number(value) or not 0 < value < 1:
        raise InputError(f"{name} is {value!r}: expected a number between 0 and 1.")


def is_whole(value: Any) -> TypeGuard[int | np.integer]:
    """Whether a value is a whole number; True and False are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    """Whether a value is a real number that a float holds."""
    if is_whole(value):
        return abs(int(value)) < 1e300
    return isinstance(value, (float, np.floating))


def as_numbers(value: Any) -> np.ndarray | None:
    """An array of real numbers, in 64 bit; None for anything else, such as masked entries.

    >>> as_numbers([1, 2]), as_numbers("ten"), as_numbers([[1], [2, 3]])
    (array([1., 2.]), None, None)
    """
    parts = value if isinstance(value, (list, tuple)) else ()
    if np.ma.is_masked(value) or any(np.ma.is_masked(part) for part in parts):
        return None
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return array.astype(np.float64) if array.dtype.kind in "iuf" else None


def as_symmetric(name: str, matrix: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    """A positive definite matrix that is symmetric but for rounding, made so exactly.

    >>> as_symmetric("the covariance", np.array([[1.0, 0.5], [0.0, 1.0]]))
    Traceback (most recent call last):
    steinwise.errors.InputError: the covariance is not symmetric: it differs from its transpose by
    up to 0.5.
    """
    asymmetry = np.abs(matrix - matrix.T)
    scale = np.sqrt(np.abs(np.diagonal(matrix)))
    if (asymmetry > ROUNDING * np.outer(scale, scale)).any():
        raise InputError(
            f"{name} is not symmetric: it differs from its transpose by up to "
            f"{asymmetry.max():.3g}."
        )
    return (matrix + matrix.T) / 2


def as_positive(value: Any) -> np.ndarray | None:
    """A positive number, or a vector of them, in 64 bit; None for anything else.

    Between 1e-70 and 1e70: kernels take fourth powers, which must neither vanish nor overflow.
    """
    array = as_numbers(value)
    if array is None or array.ndim > 1 or array.size == 0:
        return None
    return array if ((array >= 1e-70) & (array <= 1e70)).all() else None


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
            f"{wrong.sum()} of the {len(points)} rows of {name} "
            f"{by_count(wrong.sum(), 'has', 'have')} NaN or infinite entries, the first is row "
            f"{wrong.argmax()}: expected finite numbers."
        )
    return points
