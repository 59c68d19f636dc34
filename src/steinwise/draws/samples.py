"""Draws that have been checked: their values, the names of their coordinates, their dependence."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float64, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise.draws.draw_index import DrawIndex
from steinwise.draws.input_checks import (
    as_float_array,
    check_shape,
    check_values,
    coordinate_names,
    refuse_autocorrelated,
)
from steinwise.draws.storage import is_dask, map_slabs, read_rows, take_rows
from steinwise.errors import InputError

_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class Samples:
    """Draws of shape (chain, draw, d) with the names of their coordinates.

    Build one with `Samples.of`, which checks its input. `values` is a NumPy array, or an array
    that is stored elsewhere (memory-mapped, zarr, HDF5, Dask) and read slab by slab.

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
    draw_numbers: Int[np.ndarray, " draw"] | None = None  # if these are a subset of the user's

    @classmethod
    def of(
        cls,
        draws: Any,
        *,
        names: Sequence[str] | None = None,
        independent: bool | None = None,
    ) -> "Samples":
        """Check the user's draws and bring them into the shape (chain, draw, d).

        Parameters
        ----------
        draws
            (n, d) for independent draws, (chain, draw, d) for MCMC, a data frame with a column
            per coordinate, or a Samples. A memory-mapped array, and arrays of zarr, HDF5 and Dask,
            are read in slabs, and are loaded into memory only by methods that need all draws.
        names
            One name per coordinate; x[0], x[1], ... by default.
        independent
            Whether the draws are independent. By default (n, d) is, and is refused if its rows are
            visibly autocorrelated; (chain, draw, d) is not.
        """
        if isinstance(draws, Samples):
            if names is not None:
                draws = replace(draws, names=coordinate_names(names, draws.dim))
            return draws if independent is None else replace(draws, independent=bool(independent))
        if names is None and hasattr(draws, "columns") and hasattr(draws, "to_numpy"):
            names = [str(column) for column in draws.columns]
        array = as_float_array(draws)
        check_shape(array.shape)
        labels = coordinate_names(names, array.shape[-1])
        values = array if array.ndim == 3 else array[None]
        check_values(values, labels)
        if array.ndim == 2 and independent is None:
            refuse_autocorrelated(values, labels)
        return cls(values, labels, array.ndim == 2 if independent is None else bool(independent))

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
        """The size of all draws as float64."""
        return 8 * self.n * self.dim

    @property
    def in_memory(self) -> bool:
        """Whether the draws are held as a float64 array, ready for use."""
        return isinstance(self.values, np.ndarray) and self.values.dtype == np.float64

    @property
    def on_cluster(self) -> bool:
        """Whether the draws are a Dask array."""
        return is_dask(self.values)

    @property
    def draw_index(self) -> DrawIndex:
        """Which of the user's draws these are."""
        if self.draw_numbers is None:
            return DrawIndex(np.arange(self.n_draws))
        return DrawIndex(self.draw_numbers)

    def loaded(self, budget: int, needed_by: str) -> "Samples":
        """The same draws held in memory, provided that they fit into `budget` bytes.

        `needed_by` names whatever needs all of them, for the error message.
        """
        if self.in_memory:
            return self
        if self.nbytes > budget:
            raise InputError(
                f"{self!r} takes {self.nbytes / 2**20:.0f} MiB in memory, more than memory= allows "
                f"({budget / 2**20:.0f} MiB), and {needed_by} needs all draws at once. sw.check "
                "with its default method reads them in slabs. Or thin the draws (draws[:, ::10]), "
                "or raise memory=."
            )
        return replace(self, values=self.rows.reshape(self.values.shape))

    def map_slabs(
        self, function: Callable[[int, np.ndarray], _Result], rows: int | None = None
    ) -> Iterator[tuple[slice, _Result]]:
        """Call `function(start, rows)` on consecutive slabs of draws, in order.

        Yields the span of rows that a slab covers and the result. The calls run on the workers of
        Dask if the draws are a Dask array.
        """
        return map_slabs(self.values, function, rows)

    def evenly_spaced(self, most: int) -> Float64[np.ndarray, "m d"]:
        """At most `most` draws, evenly spaced through all chains."""
        return self.take(evenly_spaced_indices(self.n, most))

    def take(self, index: Int[np.ndarray, " m"]) -> Float64[np.ndarray, "m d"]:
        """The rows with these numbers, which must increase."""
        return take_rows(self.values, index)

    def thinned(self, step: int) -> "Samples":
        """Every step-th draw of each chain, in memory unless they are on a cluster."""
        if self.on_cluster:
            values = self.values[:, ::step]
        else:
            index = np.arange(self.n).reshape(self.n_chains, -1)[:, ::step]
            values = self.take(index.ravel()).reshape(*index.shape, self.dim)
        return replace(self, values=values, draw_numbers=self.draw_index.draws[::step])

    def reordered(self, order: Int[np.ndarray, " draw"]) -> "Samples":
        """The draws of every chain in another order."""
        return replace(
            self, values=self.values[:, order], draw_numbers=self.draw_index.draws[order]
        )

    def split(self, *fractions: float) -> tuple["Samples", ...]:
        """Consecutive parts of every chain with these shares of its draws; the last takes the rest.

        >>> import numpy as np, steinwise as sw
        >>> draws = np.random.default_rng(0).normal(size=(2, 10, 1))
        >>> [part.n_draws for part in sw.Samples.of(draws).split(0.2, 0.1, 0.7)]
        [2, 1, 7]
        """
        ends = np.cumsum(part_sizes(fractions, self.n_draws))[:-1]
        values = np.split(self.values, ends, axis=1)
        numbers = np.split(self.draw_index.draws, ends)
        return tuple(
            replace(self, values=part_values, draw_numbers=part_numbers)
            for part_values, part_numbers in zip(values, numbers, strict=True)
        )

    def __repr__(self) -> str:
        draws = f"{self.n} independent draws"
        if not self.independent:
            s = "" if self.n_chains == 1 else "s"
            draws = f"{self.n_chains} chain{s} x {self.n_draws} draws"
        shown = ", ".join(self.names[:5]) + (", ..." if self.dim > 5 else "")
        return f"Samples({draws}, {self.dim} coordinate{'s' * (self.dim > 1)}: {shown})"


def part_sizes(fractions: Sequence[float], n: int) -> list[int]:
    """The number of draws in each part when n draws are split; the last part takes the rest.

    >>> part_sizes((0.2, 0.1, 0.7), 28)
    [6, 2, 20]
    """
    ends = np.round(np.cumsum(fractions)[:-1] * n).astype(int)
    return np.diff([0, *ends, n]).tolist()
