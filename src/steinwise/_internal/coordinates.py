"""Which coordinates a user asked for: by name, by number, or a number of them at random."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from steinwise._internal.escaping import listed
from steinwise._internal.random import stream
from steinwise._internal.validation import is_whole, require_whole
from steinwise.errors import InputError


def choose_coordinates(
    coordinates: Any,
    names: Sequence[str],
    seed: object = 0,
    labels: Callable[[], Sequence[str]] = tuple,
) -> tuple[int, ...]:
    """The numbers of the chosen coordinates, in increasing order.

    A coordinate goes by its name or its label, as it is printed; all entries of a vector by the
    name of the vector.

    >>> choose_coordinates(["b"], ["a", "b", "c"]), choose_coordinates([2, 0], ["a", "b", "c"])
    ((1,), (0, 2))
    >>> choose_coordinates(["a", "log(b)"], ["a[0]", "a[1]", "b"], 0, lambda: ["", "", "log(b)"])
    (0, 1, 2)
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
        elif isinstance(coordinate, str) and (found := _named_otherwise(coordinate, names, labels)):
            numbers.extend(found)
        else:
            raise InputError(
                f"there is no coordinate {coordinate!r}; there are {len(names)}: {listed(names)}."
            )
    if not numbers or len(set(numbers)) < len(numbers):
        raise InputError(
            f"coordinates is {coordinates!r}: expected at least one, and none of them twice."
        )
    return tuple(sorted(numbers))


def near_names(name: Any, names: Sequence[str]) -> str:
    """What there is in place of a name that there is not: a hint, or nothing.

    >>> near_names("log(tau)", ["tau", "mu"]), near_names("mu", ["mu[0]", "mu[1]"])
    (" The row of its parameter is 'tau'.", " Its entries have a row each, such as 'mu[0]'.")
    """
    parameter = str(name).partition("(")[2].removesuffix(")")
    if parameter in names:
        return f" The row of its parameter is {parameter!r}."
    entries = [one for one in names if _vector(one) == name]
    return f" Its entries have a row each, such as {entries[0]!r}." if entries else ""


def _named_otherwise(
    given: str, names: Sequence[str], labels: Callable[[], Sequence[str]]
) -> list[int]:
    """The coordinates that are the entries of a vector, or that have a label."""
    entries = [j for j, name in enumerate(names) if _vector(name) == given]
    return entries or [j for j, label in enumerate(labels()) if given in (label, _vector(label))]


def _vector(name: str) -> str:
    """A name without the index of an entry: that of alpha[0], or log(alpha[0])."""
    return re.sub(r"\[.*\]", "", name)
