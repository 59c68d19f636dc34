"""Which coordinates a user asked for: by name, by number, or a number of them at random."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from steinwise._internal.escaping import printable
from steinwise._internal.random import stream
from steinwise._internal.validation import is_whole, require_whole
from steinwise.errors import InputError


def choose_coordinates(coordinates: Any, names: Sequence[str], seed: object = 0) -> tuple[int, ...]:
    """The numbers of the chosen coordinates, in increasing order.

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
            "how many to choose at random."
        )
    position = {name: j for j, name in enumerate(names)}
    numbers = []
    for coordinate in coordinates:
        if is_whole(coordinate) and 0 <= coordinate < len(names):
            numbers.append(int(coordinate))
        elif isinstance(coordinate, str) and coordinate in position:
            numbers.append(position[coordinate])
        else:
            shown = ", ".join(map(printable, names[:5])) + (", ..." if len(names) > 5 else "")
            raise InputError(
                f"there is no coordinate {coordinate!r}; there are {len(names)}: {shown}."
            )
    if not numbers or len(set(numbers)) < len(numbers):
        raise InputError(
            f"coordinates is {coordinates!r}: expected at least one, and none of them twice."
        )
    return tuple(sorted(numbers))
