"""The border for draws: everything that can be wrong with the user's array is answered here."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float64, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise.draws.chain_diagnostics import hidden_chain_window, row_autocorrelation
from steinwise.draws.storage import is_chunked, is_dask, mapped, read_rows, take_rows
from steinwise.errors import InputError

FARTHEST, NARROWEST = 1e100, 1e-150  # an absolute value, and a range
SLAB_BYTES = 2**24
_Made = TypeVar("_Made")


@dataclass(frozen=True, eq=False)
class DrawIndex:
    """Where rows stand among the draws that were given."""

    draws: Int[np.ndarray, " draw"]  # the same in every chain
    rows: Int[np.ndarray, " m"] | None = None  # which were kept, where not all were

    def of(self, row: int) -> tuple[int, int]:
        """The chain and the number of the draw."""
        chain, position = divmod(row if self.rows is None else int(self.rows[row]), len(self.draws))
        return chain, int(self.draws[position])


@dataclass(frozen=True, eq=False)
class Samples:
    """Draws of shape (chain, draw, d) with the names of their coordinates.

    Build one with `Samples.of`, which checks what it is given. `values` is an array in memory, or
    one that is read by `read` and `mapped`: memory-mapped, of zarr, or of Dask.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(size=(4, 250, 2))
    >>> sw.Samples.of(draws, names=["mu", "log_sigma"])
    Samples(4 chains x 250 draws, 2 coordinates: mu, log_sigma)
    """

    values: Any
    names: tuple[str, ...]
    independent: bool
    numbers: Int[np.ndarray, " draw"] | None = None  # of the draws, where they are a part of all

    @classmethod
    def of(
        cls,
        draws: Any,
        *,
        names: Sequence[str] | None = None,
        independent: bool | None = None,
    ) -> "Samples":
        """Check the user's draws and give them their shape.

        Parameters
        ----------
        draws
            (n, d) for independent draws, (chain, draw, d) for MCMC, a data frame with a column
            per coordinate, or a Samples. A memory-mapped array, and arrays of zarr, HDF5 and Dask,
            are read by chunk and never held whole by a method that can do without.
        names
            One name per coordinate; x[0], x[1], ... otherwise.
        independent
            Whether the draws are independent. By default (n, d) is, unless its rows are visibly
            autocorrelated, which is refused; (chain, draw, d) is not.
        """
        if isinstance(draws, Samples):
            given = draws if names is None else replace(draws, names=_names(names, draws.dim))
            return given if independent is None else replace(given, independent=bool(independent))
        if names is None and hasattr(draws, "columns") and hasattr(draws, "to_numpy"):
            names = [str(column) for column in draws.columns]
        array = _to_array(draws)
        _check_axes(array.shape)
        labels = _names(names, array.shape[-1])
        chains = array if array.ndim == 3 else array[None]
        alone = array.ndim == 2 if independent is None else bool(independent)
        samples = cls(chains, labels, alone)
        _check_values(samples)
        if array.ndim == 2 and independent is None:
            _refuse_autocorrelated(samples)
        return samples

    @property
    def n_chains(self) -> int:
        return self.values.shape[0]

    @property
    def n_draws(self) -> int:
        """Draws per chain."""
        return self.values.shape[1]

    @property
    def n(self) -> int:
        """Draws in all."""
        return self.n_chains * self.n_draws

    @property
    def dim(self) -> int:
        return self.values.shape[2]

    @property
    def rows(self) -> Float64[np.ndarray, "n d"]:
        """All draws, one chain after the other, in memory."""
        return read_rows(self.values, slice(0, self.n))

    @property
    def nbytes(self) -> int:
        return 8 * self.n * self.dim

    @property
    def in_memory(self) -> bool:
        """Whether the draws are held as the array that they are worked on as."""
        return isinstance(self.values, np.ndarray) and self.values.dtype == np.float64

    def loaded(self, budget: int, by: str) -> "Samples":
        """The same, held in memory, where so many bytes suffice for whatever needs all draws."""
        if self.in_memory:
            return self
        if self.nbytes > budget:
            raise InputError(
                f"{self!r} takes {self.nbytes / 2**20:.0f} MiB in memory, more than memory= allows "
                f"({budget / 2**20:.0f} MiB), and {by} needs all draws at once. sw.check with its "
                "default method reads them by chunk. Or thin the draws (draws[:, ::10]), or raise "
                "memory=."
            )
        return replace(self, values=self.rows.reshape(self.values.shape))

    def mapped(
        self, function: Callable[[int, np.ndarray], _Made], rows: int | None = None
    ) -> Iterator[tuple[slice, _Made]]:
        """`function(start, rows)` of consecutive slabs of draws, with the rows that each covers.

        On the workers of Dask, if the draws are a Dask array.
        """
        return mapped(self.values, function, rows or self._slab)

    @property
    def _slab(self) -> int:
        return max(1, SLAB_BYTES // (8 * self.dim))

    @property
    def on_cluster(self) -> bool:
        return is_dask(self.values)

    def spaced(self, most: int) -> Float64[np.ndarray, "m d"]:
        """At most this many draws, evenly spaced through all chains."""
        return self.take(evenly_spaced_indices(self.n, most))

    def take(self, index: Int[np.ndarray, " m"]) -> Float64[np.ndarray, "m d"]:
        """Some draws, by their increasing numbers."""
        return take_rows(self.values, index)

    @property
    def places(self) -> DrawIndex:
        """Which of the draws that were given these are."""
        return DrawIndex(np.arange(self.n_draws) if self.numbers is None else self.numbers)

    def thinned(self, step: int) -> "Samples":
        """Every so-manieth draw of each chain, in memory unless they are on a cluster."""
        if self.on_cluster:
            values = self.values[:, ::step]
        else:
            index = np.arange(self.n).reshape(self.n_chains, -1)[:, ::step]
            values = self.take(index.ravel()).reshape(*index.shape, self.dim)
        return replace(self, values=values, numbers=self.places.draws[::step])

    def in_order(self, order: Int[np.ndarray, " draw"]) -> "Samples":
        """The draws of every chain in another order."""
        return replace(self, values=self.values[:, order], numbers=self.places.draws[order])

    def split(self, *fractions: float) -> tuple["Samples", ...]:
        """Consecutive parts of every chain with these shares of its draws; the last takes the rest.

        >>> import numpy as np, steinwise as sw
        >>> draws = np.random.default_rng(0).normal(size=(2, 10, 1))
        >>> [part.n_draws for part in sw.Samples.of(draws).split(0.2, 0.1, 0.7)]
        [2, 1, 7]
        """
        ends = np.cumsum(part_sizes(fractions, self.n_draws))[:-1]
        parts = np.split(self.values, ends, axis=1)
        numbers = np.split(self.places.draws, ends)
        both = zip(parts, numbers, strict=True)
        return tuple(replace(self, values=part, numbers=which) for part, which in both)

    def __repr__(self) -> str:
        draws = f"{self.n} independent draws"
        if not self.independent:
            s = "" if self.n_chains == 1 else "s"
            draws = f"{self.n_chains} chain{s} x {self.n_draws} draws"
        shown = ", ".join(self.names[:5]) + (", ..." if self.dim > 5 else "")
        return f"Samples({draws}, {self.dim} coordinate{'s' * (self.dim > 1)}: {shown})"


def part_sizes(fractions: Sequence[float], n: int) -> list[int]:
    """How many of n draws each share comes to; the last takes the rest.

    >>> part_sizes((0.2, 0.1, 0.7), 28)
    [6, 2, 20]
    """
    ends = np.round(np.cumsum(fractions)[:-1] * n).astype(int)
    return np.diff([0, *ends, n]).tolist()


def _chunked(draws: Any) -> Any:
    """An array that is kept in chunks, as it is."""
    array = getattr(draws, "data", draws) if hasattr(draws, "dims") else draws
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise InputError(
            f"draws have dtype {array.dtype}: expected float32 or float64. Convert them yourself, "
            "so that nothing is cast down unseen."
        )
    if any(np.isnan(size) for size in array.shape):
        raise InputError(
            f"draws have shape {array.shape}: Dask does not know how many rows there are. "
            "Call draws.compute_chunk_sizes() first."
        )
    return array


def _to_array(draws: Any) -> Any:
    from jax.core import Tracer

    if is_chunked(draws):
        return _chunked(draws)
    if isinstance(draws, Tracer):
        raise InputError(
            "draws is a JAX tracer: this function runs on the host and cannot be called inside "
            "jit, vmap or grad. Use the pure functions of sw.functional there."
        )
    if isinstance(draws, dict):
        raise InputError(
            f"draws is a dict with {sorted(map(str, draws))[:5]}: expected one array whose last "
            "axis is the coordinate. Concatenate the unconstrained parameters along the last axis "
            "(jax.flatten_util.ravel_pytree does it for one draw)."
        )
    if np.ma.is_masked(draws):
        raise InputError(
            f"draws is a masked array with {np.ma.count_masked(draws)} masked entries: expected "
            "every entry of every draw. np.ma.compress_rows(draws) drops the rows that have any."
        )
    try:
        array = np.asarray(draws)
    except Exception as error:
        raise InputError(
            f"draws of type {type(draws).__name__} cannot become a NumPy array: {error}"
        ) from error
    if array.dtype.kind in "iub":
        raise InputError(
            f"draws have dtype {array.dtype}: expected floats. Stein's identity needs continuous "
            "parameters; discrete ones cannot be checked. If these are real numbers that happen "
            "to be whole, pass draws.astype(float)."
        )
    if array.dtype.kind != "f" or array.dtype.itemsize > 8:
        raise InputError(
            f"draws have dtype {array.dtype}: expected float32 or float64. "
            + (
                "Rows of unequal length or mixed types make an object array."
                if array.dtype.kind == "O"
                else "Convert them yourself, so that nothing is cast down unseen."
            )
        )
    return array if isinstance(draws, np.memmap) else array.astype(np.float64)


def _check_axes(shape: tuple[int, ...]) -> None:
    if len(shape) not in (2, 3):
        hint = "For one coordinate pass draws[:, None]." if len(shape) == 1 else ""
        raise InputError(
            f"draws have shape {shape}, {len(shape)} axes: expected (n, d) for independent "
            f"draws or (chain, draw, d) for MCMC. {hint}".rstrip()
        )
    if 0 in shape:
        raise InputError(f"draws have shape {shape}: there is nothing to check.")
    if len(shape) == 3 and shape[0] > shape[1]:
        raise InputError(
            f"draws have shape {shape}: {shape[0]} chains with {shape[1]} draws "
            "each. The order of the axes is (chain, draw, d); if these are (draw, chain, d), pass "
            "np.swapaxes(draws, 0, 1). For many short independent runs pass their last draws as "
            "(n, d)."
        )
    if shape[-2] < 2:
        raise InputError(
            f"draws have shape {shape}: at least 2 draws are needed"
            + (" in each chain." if len(shape) == 3 else ". Is this (d, n)? Pass draws.T then.")
        )


def _names(names: Sequence[str] | None, d: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"x[{j}]" for j in range(d))
    labels = tuple(names)
    if isinstance(names, str) or not all(isinstance(name, str) for name in labels):
        raise InputError(f"names is {names!r}: expected a sequence of strings.")
    if len(labels) != d:
        raise InputError(f"{len(labels)} names came for {d} coordinates: {labels[:5]}...")
    if len(set(labels)) != d:
        twice = next(name for name in labels if labels.count(name) > 1)
        raise InputError(f"the name {twice!r} stands for more than one coordinate.")
    return labels


def _check_values(samples: Samples) -> None:
    found = [made for _, made in samples.mapped(_inspect)]
    names = samples.names
    not_finite = sum(one.not_finite for one in found)
    for one in found:
        if one.not_finite:
            index, value = one.first
            raise InputError(
                f"{not_finite} of {samples.n * samples.dim} draws are NaN or infinite; the first "
                f"is {value} at {_place(samples, index)}. Did the sampler diverge, or is a bounded "
                "parameter at its bound, which the transform sends to infinity?"
            )
    for one in found:
        if one.first is not None:
            index, value = one.first
            raise InputError(
                f"a draw has the value {value:.3g} at {_place(samples, index)}, beyond "
                f"{FARTHEST:g}: its square overflows. Did the sampler diverge?"
            )
    low = np.min([one.low for one in found], axis=0)
    high = np.max([one.high for one in found], axis=0)
    constant = np.flatnonzero(low == high)
    if constant.size:
        shown = ", ".join(f"{names[j]} = {low[j]:.6g}" for j in constant[:5])
        raise InputError(
            f"{constant.size} of {len(names)} coordinates never change: {shown}. Drop them from "
            "the draws and fix them in the density, or look why the sampler never moved them."
        )
    narrow = int(np.argmin(high - low))
    if high[narrow] - low[narrow] < NARROWEST:
        raise InputError(
            f"{names[narrow]} varies by {high[narrow] - low[narrow]:.3g} only, less than "
            f"{NARROWEST:g}: its square underflows. Give draws and density in another unit."
        )


class _Inspected(NamedTuple):
    """What must be known of a slab of draws: its range, and the first entry that cannot be used."""

    low: np.ndarray
    high: np.ndarray
    not_finite: int
    first: Any  # ((row, coordinate), value), or None


def _inspect(start: int, rows: np.ndarray) -> _Inspected:
    with np.errstate(invalid="ignore"):
        low, high = rows.min(axis=0), rows.max(axis=0)
    if np.abs([low, high]).max() <= FARTHEST:  # not so for NaN
        return _Inspected(low, high, 0, None)
    bad = ~np.isfinite(rows)
    count = int(bad.sum())
    row, column = np.argwhere(bad if count else np.abs(rows) > FARTHEST)[0]
    return _Inspected(low, high, count, ((start + int(row), int(column)), rows[row, column]))


def _place(samples: Samples, index: tuple[int, int]) -> str:
    """An entry, by its index in the draws as they came."""
    row, column = index
    chain, draw = divmod(row, samples.n_draws)
    shown = (draw, column) if samples.n_chains == 1 else (chain, draw, column)
    return f"index {shown} ({samples.names[column]})"


def _refuse_autocorrelated(samples: Samples) -> None:
    window = hidden_chain_window(samples.dim)
    found = row_autocorrelation(read_rows(samples.values, slice(0, min(samples.n, window))))
    if found is None:
        return
    raise InputError(
        f"draws have shape {samples.values.shape[1:]}, which stands for independent draws, but "
        f"their rows are autocorrelated: {found.value:.2f} at lag {found.lag} in "
        f"{samples.names[found.coordinate]} ({found.how}). One MCMC chain has this shape; taken as "
        "independent it can be rejected whatever its law. The fix is draws[None] for one chain, or "
        "the shape (chain, draw, d) for several; pass independent=True if the draws are "
        "independent and the order of the rows means nothing (a sorted data set: shuffle it)."
    )
