"""Options, checked where they enter."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float

from steinwise._internal.random import stream
from steinwise.errors import InputError

Estimator = Literal["u", "v"]


def require_whole(name: str, value: Any, *, least: int) -> None:
    """A whole number, at least so large.

    >>> require_whole("bins", 2.5, least=1)
    Traceback (most recent call last):
    steinwise.errors.InputError: bins is 2.5: expected a whole number, at least 1.
    """
    if not is_whole(value) or value < least:
        raise InputError(f"{name} is {value!r}: expected a whole number, at least {least}.")


def require_at_least(name: str, value: Any, least: float) -> None:
    """A finite number, at least so large."""
    if not _is_number(value) or not least <= value < np.inf:
        raise InputError(f"{name} is {value!r}: expected a number, at least {least}.")


def require_positive(name: str, value: Any, most: float = np.inf) -> None:
    """A finite number above 0, and at most so large.

    >>> require_positive("gamma", 1.5, most=1)
    Traceback (most recent call last):
    steinwise.errors.InputError: gamma is 1.5: expected a positive number, at most 1.
    """
    if not _is_number(value) or not 0 < value < np.inf or value > most:
        limit = f", at most {most:g}" if most < np.inf else ""
        raise InputError(f"{name} is {value!r}: expected a positive number{limit}.")


def require_flag(name: str, value: Any) -> None:
    """True or False: any other object would count as one of them, "no" as True."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} is {value!r}: expected True or False.")


def require_level(alpha: Any) -> None:
    """The level of a test."""
    if not _is_number(alpha) or not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha!r}: expected a level between 0 and 1, such as 0.05.")


def require_estimator(estimator: Any) -> None:
    """How a mean over pairs counts those of a draw with itself."""
    if not isinstance(estimator, str) or estimator not in get_args(Estimator):
        raise InputError(f"estimator is {estimator!r}: expected 'u' or 'v'.")


def require_share(name: str, value: Any) -> None:
    """A number between 0 and 1, neither of them."""
    if not _is_number(value) or not 0 < value < 1:
        raise InputError(f"{name} is {value!r}: expected a number between 0 and 1.")


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, which True and False are not."""
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
    given = as_numbers(value)
    if given is None or given.ndim != 2 or given.size == 0:
        came = repr(value) if given is None or given.ndim == 0 else f"of shape {given.shape}"
        raise InputError(f"{name} is {came}: expected {expected}.")
    wrong = ~np.isfinite(given).all(axis=1)
    if wrong.any():
        raise InputError(
            f"{name} has {wrong.sum()} of {len(given)} rows with NaN or infinite numbers, the "
            f"first is row {wrong.argmax()}: expected finite ones."
        )
    return given


def choose_coordinates(coordinates: Any, names: Sequence[str], seed: object = 0) -> tuple[int, ...]:
    """The numbers of some coordinates, given by name, by number, or as how many to draw.

    >>> choose_coordinates(["b"], ["a", "b", "c"]), choose_coordinates([2, 0], ["a", "b", "c"])
    ((1,), (0, 2))
    """
    if is_whole(coordinates):
        require_whole("coordinates", coordinates, least=1)
        count = min(int(coordinates), len(names))
        chosen = stream(seed, "coordinates").choice(len(names), count, replace=False)
        return tuple(sorted(chosen.tolist()))
    if isinstance(coordinates, str) or not isinstance(coordinates, (Sequence, np.ndarray)):
        raise InputError(
            f"coordinates is {coordinates!r}: expected names such as [{names[0]!r}], numbers, or "
            "how many to draw at random."
        )
    position = {name: j for j, name in enumerate(names)}
    numbers = []
    for one in coordinates:
        if is_whole(one) and 0 <= one < len(names):
            numbers.append(int(one))
        elif isinstance(one, str) and one in position:
            numbers.append(position[one])
        else:
            shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            raise InputError(f"there is no coordinate {one!r}; there are {len(names)}: {shown}.")
    if not numbers or len(set(numbers)) < len(numbers):
        raise InputError(f"coordinates is {coordinates!r}: expected some, each of them once.")
    return tuple(sorted(numbers))
