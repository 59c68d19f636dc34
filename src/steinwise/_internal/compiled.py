"""Calling a compiled function on many rows: few shapes to compile, one precision.

JAX compiles a function anew for every shape of its arguments. So rows are passed in chunks of one
size: the last chunk is padded with copies of its own rows, and the results for these are cut off.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np

from steinwise._internal.memory import chunks


def precision(wide: bool = True) -> AbstractContextManager:
    """Work in 64 bit, or else in 32 bit, whatever JAX's configuration; for this thread only."""
    return jax.enable_x64(wide)


def call_in_chunks(
    function: Callable[..., Any],
    rows_at: Callable[[np.ndarray], tuple],
    count: int,
    size: int,
    *,
    wide: bool = True,
) -> np.ndarray:
    """Call `function(*rows_at(index))` on the rows 0 to `count`, `size` of them at a time.

    The result for a row must not depend on the other rows, but for rounding.

    >>> call_in_chunks(lambda x: 2 * x, rows_of(np.arange(5)), 5, 2).tolist()
    [0, 2, 4, 6, 8]
    """
    pieces = []
    with precision(wide):
        for span in chunks(count, size):
            index = np.resize(np.arange(span.start, span.stop), size)
            results = np.asarray(function(*rows_at(index)))
            pieces.append(results[: span.stop - span.start])
    return np.concatenate(pieces)


def rows_of(*arrays: np.ndarray | None) -> Callable[[np.ndarray], tuple]:
    """A function from the numbers of rows to these rows of every array; None stays None."""

    def at(index: np.ndarray) -> tuple:
        return tuple(None if array is None else array[index] for array in arrays)

    return at
