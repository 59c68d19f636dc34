"""Calling a compiled function on many rows: few shapes to compile, one precision.

A compiled function is compiled anew for every shape. So rows go in by chunks of one size; the last
chunk is filled with copies of the last row, and what came of these is cut off again.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np

from steinwise._internal.memory import chunks


def precision(wide: bool = True) -> AbstractContextManager:
    """64 bit, or 32 bit, whatever the user's configuration of JAX; for this thread only."""
    return jax.enable_x64(wide)


def call_in_chunks(
    function: Callable[..., Any],
    rows_at: Callable[[np.ndarray], tuple],
    count: int,
    size: int,
    *,
    wide: bool = True,
) -> np.ndarray:
    """`function(*rows_at(index))` for the rows 0 to `count`, `size` of them to a call.

    What it gives for a row must not depend on the other rows.

    >>> call_in_chunks(lambda x: 2 * x, rows_of(np.arange(5)), 5, 2).tolist()
    [0, 2, 4, 6, 8]
    """
    pieces = []
    with precision(wide):
        for part in chunks(count, size):
            index = np.minimum(np.arange(part.start, part.start + size), count - 1)
            found = np.asarray(function(*rows_at(index)))
            pieces.append(found[: part.stop - part.start])
    return np.concatenate(pieces)


def rows_of(*arrays: np.ndarray | None) -> Callable[[np.ndarray], tuple]:
    """Rows of arrays by their numbers; None stays None."""

    def at(index: np.ndarray) -> tuple:
        return tuple(None if array is None else array[index] for array in arrays)

    return at
