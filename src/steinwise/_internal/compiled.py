"""Calling a compiled function on many rows: few shapes to compile, one precision.

JAX compiles a function anew for every shape of its arguments. So rows are passed in chunks of one
size: the last chunk is padded with copies of its own rows, and the results for these are cut off.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import jax
import numpy as np

from steinwise._internal.constants import own_constants
from steinwise._internal.fork import refuse_forked_process
from steinwise._internal.memory import chunks


@contextmanager
def precision(wide: bool = True) -> Iterator[None]:
    """Work in 64 bit, or else in 32 bit, whatever JAX's configuration; for this thread only.

    Settings with which JAX raises are switched off: promotion of ranks and dtypes, NaN far out on a
    line, arrays that move from the host. They change no number, in our code or in the user's.
    """
    refuse_forked_process()
    with ExitStack() as settings:
        settings.enter_context(jax.enable_x64(wide))
        settings.enter_context(jax.numpy_rank_promotion("allow"))
        settings.enter_context(jax.numpy_dtype_promotion("standard"))
        settings.enter_context(jax.debug_nans(False))
        settings.enter_context(jax.debug_infs(False))
        settings.enter_context(jax.transfer_guard("allow"))
        settings.enter_context(own_constants())
        yield


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
