"""Reading draws slab by slab, wherever they are stored: memory, files, chunked arrays, Dask.

A slab is a run of consecutive rows. A function of a slab runs where the rows are: here, or, for a
Dask array, on the workers of the user's own scheduler, which also runs it again if a worker dies.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.memory import chunks
from steinwise.errors import InputError

_Result = TypeVar("_Result")

# The default size of a slab: large enough that a call costs little per row, small next to the
# smallest sensible memory budget.
SLAB_BYTES = 2**24
# Slabs of a Dask array whose results are awaited together: enough to keep some dozens of workers
# busy, few enough that their results fit here and that progress shows.
SLABS_AT_ONCE = 64


def is_chunked(draws: Any) -> bool:
    """Whether an array is stored in chunks: Dask, zarr, HDF5, or xarray around one of them.

    HDF5 and xarray both say None where there are no chunks: on disk, and in memory (as `data`).
    """
    if not (hasattr(draws, "chunks") and hasattr(draws, "dtype")):
        return False
    return draws.chunks is not None or not hasattr(draws, "data")


def is_dask(values: Any) -> bool:
    """Whether an array is a Dask array."""
    return is_chunked(values) and hasattr(values, "to_delayed")


@dataclass(frozen=True, eq=False)
class OneChain:
    """Rows (n, d) that are stored elsewhere, as draws (1, n, d); only Dask can add an axis."""

    rows: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return (1, *self.rows.shape)

    @property
    def dtype(self) -> np.dtype:
        return self.rows.dtype

    def __getitem__(self, key: tuple[int | slice, slice]) -> Any:
        chain, span = key
        return np.asarray(self.rows[span])[None] if isinstance(chain, slice) else self.rows[span]


@dataclass(frozen=True, eq=False)
class MappedArray:
    """A function of arrays that are stored elsewhere, computed for what is read of them."""

    function: Callable[..., np.ndarray]
    arrays: tuple[Any, ...]  # of one shape

    @property
    def shape(self) -> tuple[int, ...]:
        return self.arrays[0].shape

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(np.float64)

    def __getitem__(self, key: Any) -> np.ndarray:
        return self.function(*(np.asarray(array[key], np.float64) for array in self.arrays))


def map_array(function: Callable[..., np.ndarray], *arrays: Any) -> Any:
    """A function of whole draws (..., d), now for arrays in memory, else when they are read."""
    if all(type(array) is np.ndarray for array in arrays):
        return function(*(array.astype(np.float64, copy=False) for array in arrays))
    if all(is_dask(array) for array in arrays):
        import dask.array as da  # pyright: ignore[reportMissingImports]

        whole = [array.rechunk({2: -1}) for array in arrays]
        return da.map_blocks(function, *whole, dtype=np.float64)
    return MappedArray(function, arrays)


def as_one_chain(rows: Any) -> Any:
    """Rows (n, d) as draws (1, n, d)."""
    return rows[None] if isinstance(rows, np.ndarray) or is_dask(rows) else OneChain(rows)


def refuse_masked(draws: Any, what: str = "draws") -> None:
    """Refuse draws with masked entries, or a list of arrays that have some."""
    if isinstance(draws, (list, tuple)):
        for one in draws:
            if not isinstance(one, (float, int)):
                refuse_masked(one, what)
    elif np.ma.is_masked(draws):
        raise InputError(
            f"{what} is a masked array with {np.ma.count_masked(draws)} masked entries: expected "
            f"every entry of every draw. np.ma.compress_rows({what}) drops the rows that have any."
        )


def read_rows(values: Any, span: slice) -> Float[np.ndarray, "m d"]:
    """Consecutive rows of draws (chain, draw, d), numbered through all chains."""
    chains, draws, d = values.shape
    if isinstance(values, np.ndarray):
        return values.reshape(-1, d)[span].astype(np.float64, copy=False)
    pieces = []
    for chain in range(span.start // draws, min(-(-span.stop // draws), chains)):
        first = max(span.start - chain * draws, 0)
        last = min(span.stop - chain * draws, draws)
        pieces.append(np.asarray(values[chain, first:last], dtype=np.float64))
    return np.concatenate(pieces)


def map_slabs(
    values: Any, function: Callable[..., _Result], spans: Iterable[slice] | None = None, *also: Any
) -> Iterator[tuple[slice, _Result]]:
    """Call `function(start, rows)` on consecutive slabs, in order.

    Yields the span of rows that a slab covers and the result. Slabs are the chunks of a Dask
    array; otherwise the rows of each of the `spans`, or `SLAB_BYTES` of them. The same rows of the
    arrays `also`, which have as many and may be stored in another way, are further arguments.
    """
    if is_dask(values):
        yield from _map_dask_chunks(values, function, also)
        return
    chains, draws, d = values.shape
    for span in spans or chunks(chains * draws, SLAB_BYTES // (8 * d)):
        yield span, function(span.start, *(read_rows(array, span) for array in (values, *also)))


def take_rows(values: Any, index: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m d"]:
    """The rows with these numbers, which must increase."""
    if isinstance(values, np.ndarray):
        return values.reshape(-1, values.shape[2])[index].astype(np.float64, copy=False)
    return np.concatenate([rows for _, rows in map_slabs(values, partial(_rows_in_slab, index))])


def _rows_in_slab(index: Int[np.ndarray, " m"], start: int, rows: np.ndarray) -> np.ndarray:
    first, last = np.searchsorted(index, [start, start + len(rows)])
    return rows[index[first:last] - start]


def even_bounds(chains: int, draws: int, per_chain: int) -> Int[np.ndarray, " edges"]:
    """Where groups of consecutive draws begin and end: `per_chain` in each, of even length."""
    edges = np.linspace(0, draws, per_chain + 1).round().astype(int)
    starts = (np.arange(chains)[:, None] * draws + edges[None, :-1]).ravel()
    return np.append(starts, chains * draws)


def touched_groups(bounds: Int[np.ndarray, " edges"], start: int, stop: int) -> slice:
    """The groups that the rows `start` to `stop` fall into."""
    first = int(np.searchsorted(bounds, start, side="right")) - 1
    return slice(first, int(np.searchsorted(bounds, stop, side="left")))


def add_rows(
    total: Float[np.ndarray, "groups *rest"],
    rows: Float[np.ndarray, "m *rest"],
    start: int,
    bounds: Int[np.ndarray, " edges"],
) -> None:
    """Add consecutive rows, the first of them row `start`, to the sums of their groups.

    Group g is the rows bounds[g] to bounds[g + 1].
    """
    groups = touched_groups(bounds, start, start + len(rows))
    edges = np.maximum(bounds[groups] - start, 0)
    total[groups] += np.add.reduceat(rows, edges, axis=0)


def _map_dask_chunks(
    values: Any, function: Callable[..., _Result], also: tuple[Any, ...]
) -> Iterator[tuple[slice, _Result]]:
    import dask  # pyright: ignore[reportMissingImports]
    import dask.array as da  # pyright: ignore[reportMissingImports]

    flat = da.concatenate(list(values)).rechunk({1: -1})  # every chunk has all coordinates
    sizes = flat.chunks[0]
    spans = [slice(int(e - n), int(e)) for e, n in zip(np.cumsum(sizes), sizes, strict=True)]
    blocks = flat.to_delayed().ravel()

    def rows_of(array: Any, window: slice) -> Any:
        """The same rows of another array: blocks where it is, or what is sent to the workers."""
        if is_dask(array):
            same = da.concatenate(list(array)).rechunk((sizes, -1))
            return same.to_delayed().ravel()[window]
        return [read_rows(array, span) for span in spans[window]]

    shared = dask.delayed(function, pure=False)  # type: ignore[attr-defined]
    for window in chunks(len(spans), SLABS_AT_ONCE):
        results = dask.compute(  # type: ignore[attr-defined]
            *(
                dask.delayed(_call_on_worker)(shared, span.start, *parts)  # type: ignore[attr-defined]
                for span, *parts in zip(
                    spans[window],
                    blocks[window],
                    *(rows_of(array, window) for array in also),
                    strict=True,
                )
            )
        )
        yield from zip(spans[window], results, strict=True)


def _call_on_worker(function: Callable[..., _Result], start: int, *parts: Any) -> _Result:
    for rows in parts:
        refuse_masked(rows)
    return function(start, *(np.asarray(rows, dtype=np.float64) for rows in parts))
