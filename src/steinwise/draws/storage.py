"""Draws that stay where they are: files, chunked arrays, a Dask cluster.

They are read a slab of rows at a time. A function of a slab runs where the rows are: here, or, for
a Dask array, on the workers of the user's own scheduler, which also runs it again for a worker that
dies.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.memory import chunks

_Made = TypeVar("_Made")
SLABS_AT_ONCE = 64  # of a Dask array, whose results are waited for together


def is_chunked(draws: Any) -> bool:
    """Whether an array is kept in chunks: Dask, zarr, HDF5, or xarray around one of them."""
    return getattr(draws, "chunks", None) is not None and hasattr(draws, "dtype")


def is_dask(values: Any) -> bool:
    return is_chunked(values) and hasattr(values, "to_delayed")


def read_rows(values: Any, part: slice) -> Float[np.ndarray, "m d"]:
    """Consecutive rows of draws (chain, draw, d), counted through all chains."""
    chains, draws, d = values.shape
    if isinstance(values, np.ndarray):
        return values.reshape(-1, d)[part].astype(np.float64, copy=False)
    pieces = []
    for chain in range(part.start // draws, min(-(-part.stop // draws), chains)):
        first = max(part.start - chain * draws, 0)
        last = min(part.stop - chain * draws, draws)
        pieces.append(np.asarray(values[chain, first:last], dtype=np.float64))
    return np.concatenate(pieces)


def mapped(
    values: Any, function: Callable[[int, np.ndarray], _Made], rows: int
) -> Iterator[tuple[slice, _Made]]:
    """`function(start, rows)` of consecutive slabs, in order, with the rows that each covers.

    Slabs have at most `rows` rows, or are the chunks of a Dask array.
    """
    if is_dask(values):
        yield from _mapped_by_dask(values, function)
        return
    for part in chunks(values.shape[0] * values.shape[1], rows):
        yield part, function(part.start, read_rows(values, part))


def take_rows(values: Any, index: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m d"]:
    """Some rows, in increasing order of their numbers."""
    if isinstance(values, np.ndarray):
        return values.reshape(-1, values.shape[2])[index].astype(np.float64, copy=False)
    slab = max(1, 2**21 // values.shape[2])
    return np.concatenate([rows for _, rows in mapped(values, partial(_chosen, index), slab)])


def _chosen(index: Int[np.ndarray, " m"], start: int, rows: np.ndarray) -> np.ndarray:
    first, last = np.searchsorted(index, [start, start + len(rows)])
    return rows[index[first:last] - start]


def even_bounds(chains: int, draws: int, per_chain: int) -> Int[np.ndarray, " edges"]:
    """Where groups of consecutive draws begin and end: this many in every chain, of even length."""
    edges = np.linspace(0, draws, per_chain + 1).round().astype(int)
    starts = (np.arange(chains)[:, None] * draws + edges[None, :-1]).ravel()
    return np.append(starts, chains * draws)


def touched_groups(bounds: Int[np.ndarray, " edges"], start: int, stop: int) -> slice:
    """The groups that the draws `start` to `stop` fall into."""
    first = int(np.searchsorted(bounds, start, side="right")) - 1
    return slice(first, int(np.searchsorted(bounds, stop, side="left")))


def add_rows(
    total: Float[np.ndarray, "groups *rest"],
    rows: Float[np.ndarray, "m *rest"],
    start: int,
    bounds: Int[np.ndarray, " edges"],
) -> None:
    """Add consecutive rows, beginning at draw `start`, to the sums of the groups they fall into.

    Group g is the draws bounds[g] to bounds[g + 1].
    """
    groups = touched_groups(bounds, start, start + len(rows))
    edges = np.maximum(bounds[groups] - start, 0)
    total[groups] += np.add.reduceat(rows, edges, axis=0)


def _flat(values: Any) -> Any:
    """All chains of a Dask array one after the other, every chunk with all coordinates."""
    import dask.array as da  # pyright: ignore[reportMissingImports]

    return da.concatenate(list(values)).rechunk({1: -1})


def _mapped_by_dask(
    values: Any, function: Callable[[int, np.ndarray], _Made]
) -> Iterator[tuple[slice, _Made]]:
    import dask  # pyright: ignore[reportMissingImports]

    flat = _flat(values)
    ends = np.cumsum(flat.chunks[0])
    blocks = flat.to_delayed().ravel()
    shared = dask.delayed(function, pure=False)  # type: ignore[attr-defined]
    parts = [slice(int(e - c), int(e)) for e, c in zip(ends, flat.chunks[0], strict=True)]
    for window in chunks(len(parts), SLABS_AT_ONCE):
        made = dask.compute(  # type: ignore[attr-defined]
            *(
                dask.delayed(_called)(shared, part.start, block)  # type: ignore[attr-defined]
                for part, block in zip(parts[window], blocks[window], strict=True)
            )
        )
        yield from zip(parts[window], made, strict=True)


def _called(function: Callable[[int, np.ndarray], _Made], start: int, rows: Any) -> _Made:
    """A slab on a worker."""
    return function(start, np.asarray(rows, dtype=np.float64))
