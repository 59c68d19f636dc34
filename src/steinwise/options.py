"""Options, checked where they enter."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from steinwise.errors import InputError
from steinwise.random import stream


def require_whole(name: str, value: Any, *, least: int) -> None:
    """A whole number, at least so large.

    >>> require_whole("bins", 2.5, least=1)
    Traceback (most recent call last):
    steinwise.errors.InputError: bins is 2.5: expected a whole number, at least 1.
    """
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < least:
        raise InputError(f"{name} is {value!r}: expected a whole number, at least {least}.")


def require_at_least(name: str, value: Any, least: float) -> None:
    """A finite number, at least so large."""
    if not _is_number(value) or not least <= value < np.inf:
        raise InputError(f"{name} is {value!r}: expected a number, at least {least}.")


def require_level(alpha: Any) -> None:
    """The level of a test."""
    if not _is_number(alpha) or not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha!r}: expected a level between 0 and 1, such as 0.05.")


def require_share(name: str, value: Any) -> None:
    """A number between 0 and 1, neither of them."""
    if not _is_number(value) or not 0 < value < 1:
        raise InputError(f"{name} is {value!r}: expected a number between 0 and 1.")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def choose_coordinates(coordinates: Any, names: Sequence[str], seed: object = 0) -> tuple[int, ...]:
    """The numbers of some coordinates, given by name, by number, or as how many to draw.

    >>> choose_coordinates(["b"], ["a", "b", "c"]), choose_coordinates([2, 0], ["a", "b", "c"])
    ((1,), (0, 2))
    """
    if isinstance(coordinates, (int, np.integer)) and not isinstance(coordinates, bool):
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
        whole = isinstance(one, (int, np.integer)) and not isinstance(one, bool)
        if whole and 0 <= one < len(names):
            numbers.append(int(one))
        elif isinstance(one, str) and one in position:
            numbers.append(position[one])
        else:
            shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            raise InputError(f"there is no coordinate {one!r}; there are {len(names)}: {shown}.")
    if not numbers or len(set(numbers)) < len(numbers):
        raise InputError(f"coordinates is {coordinates!r}: expected some, each of them once.")
    return tuple(sorted(numbers))
