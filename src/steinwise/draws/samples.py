"""Draws that have been checked: their values, the names of their coordinates, their dependence."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float64, Int

from steinwise._internal.counting import counted
from steinwise._internal.escaping import printable
from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.validation import require_flag
from steinwise.draws.chain_diagnostics import Autocorrelation
from steinwise.draws.draw_index import DrawIndex
from steinwise.draws.frames import is_frame, read_frame
from steinwise.draws.input_checks import (
    as_float_array,
    check_shape,
    check_values,
    coordinate_names,
    refuse_autocorrelated,
    refuse_equal_chains,
    row_dependence,
)
from steinwise.draws.score_checks import as_scores
from steinwise.draws.storage import (
    as_one_chain,
    is_dask,
    map_array,
    map_slabs,
    read_rows,
    take_rows,
)
from steinwise.errors import InputError

_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class ConstrainedScale:
    """Parameters on the scale of their model, as functions of unconstrained draws.

    A parameter that has the name of a coordinate is that coordinate on its own scale.
    """

    names: tuple[str, ...]
    values: Callable[[np.ndarray], np.ndarray]  # of draws (n, d): (n, q), a column per name

    def renamed(self, names: Mapping[str, str]) -> "ConstrainedScale":
        """With the new names of coordinates; parameters that are none keep theirs."""
        return replace(self, names=tuple(names.get(name, name) for name in self.names))


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
    scores: Any = None  # at every draw, in the shape of `values`, where they are known
    scores_of: object = None  # the target whose scores they are
    constrained: ConstrainedScale | None = None  # where an adapter knows it
    hidden_chain: Autocorrelation | None = None  # in chains that were said to be independent
    refreshed: bool = False  # whether `sw.refresh` moved them along the lines that checks follow

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
            per coordinate, and columns `chain` and `draw` for MCMC, or a Samples. A memory-mapped
            array, and arrays of zarr, HDF5 and Dask, are read in slabs, and are loaded into memory
            only by methods that need all draws.
        names
            One name per coordinate; x[0], x[1], ... by default.
        independent
            Whether the draws are independent. By default (n, d) is, and is refused if its rows are
            visibly autocorrelated; (chain, draw, d) is not.
        """
        return cls.entered(draws, names=names, independent=independent)

    @classmethod
    def entered(
        cls,
        draws: Any,
        *,
        names: Sequence[str] | None = None,
        independent: bool | None = None,
        discrete: Callable[[Sequence[str]], Collection[int]] = lambda names: (),  # noqa: ARG005
    ) -> "Samples":
        """As `of`; `discrete` gives the coordinates, by names of all, that are discrete.

        These may never change, and be integers.
        """
        if independent is not None:
            require_flag("independent", independent)
        if isinstance(draws, Samples):
            if names is not None:
                draws = draws._renamed(coordinate_names(names, draws.dim))
            return draws if independent is None else draws._called(bool(independent))
        if is_frame(draws):
            draws, own = read_frame(draws, discrete)
            names = own if names is None else names
        all_discrete = lambda d: len(discrete(coordinate_names(names, d))) == d  # noqa: E731
        array = as_float_array(draws, all_discrete)
        check_shape(array.shape)
        labels = coordinate_names(names, array.shape[-1], array.shape[-2])
        values = array if array.ndim == 3 else as_one_chain(array)
        check_values(values, labels, discrete(labels))
        if array.ndim == 2 and independent is None:
            refuse_autocorrelated(values, labels)
        if array.ndim == 3 and not independent:
            refuse_equal_chains(values)
        if array.ndim == 2:
            return cls(values, labels, independent is None or bool(independent))
        return cls(values, labels, False)._called(bool(independent))

    def _renamed(self, names: tuple[str, ...]) -> "Samples":
        scale = self.constrained
        if scale is not None:
            scale = scale.renamed(dict(zip(self.names, names, strict=True)))
        return replace(self, names=names, constrained=scale)

    def _called(self, independent: bool) -> "Samples":
        """The same draws by what the user said of them; chains may show that they are none."""
        if not independent or self.independent:
            return replace(self, independent=independent)
        hidden = row_dependence(self.values)
        return replace(self, independent=True, hidden_chain=hidden)

    def with_scores(self, scores: Any, target: object) -> "Samples":
        """The same draws with the scores of a target at them, which it then need not compute.

        Parameters
        ----------
        scores
            grad log p at every draw, in the shape of the draws; an array of any kind that draws
            may be.
        target
            The target whose scores they are. With any other target they are left aside.

        Examples
        --------
        >>> import numpy as np, steinwise as sw
        >>> draws = np.random.default_rng(0).normal(size=(4, 250, 2))
        >>> target = sw.Gaussian([0, 0], np.eye(2))
        >>> samples = sw.Samples.of(draws).with_scores(-draws, target)
        >>> sw.check(samples, target, method="ksd").rejected
        False
        """
        found = as_scores(scores, self.values.shape, self.names)
        return replace(self, scores=found, scores_of=target)

    def scored_by(self, target: object) -> "Samples":
        """The same draws, with their known scores only if these are the target's."""
        if self.scores is None or self.scores_of is target:
            return self
        return replace(self, scores=None, scores_of=None)

    def mapped(
        self,
        to: Callable[[np.ndarray], np.ndarray],
        scores_to: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> "Samples":
        """The draws on another scale: `to(x)`, and `scores_to(x, scores)` of known scores."""
        scores = None if self.scores is None else map_array(scores_to, self.values, self.scores)
        return replace(self, values=map_array(to, self.values), scores=scores)

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

    def scores_by(
        self,
        score: Callable[[np.ndarray], np.ndarray],
        index: Int[np.ndarray, " m"] | None = None,
    ) -> Float64[np.ndarray, "m d"]:
        """The scores of all draws, or of the rows with these numbers, which must increase.

        The known ones; where there are none, those that `score(rows)` gives.
        """
        if self.scores is None:
            return score(self.rows if index is None else self.take(index))
        if index is None:
            return read_rows(self.scores, slice(0, self.n))
        return take_rows(self.scores, index)

    def map_slabs(
        self,
        function: Callable[[int, np.ndarray], _Result],
        spans: Iterable[slice] | None = None,
    ) -> Iterator[tuple[slice, _Result]]:
        """Call `function(start, rows)` on consecutive slabs of draws, in order.

        Yields the span of rows that a slab covers and the result. The calls run on the workers of
        Dask if the draws are a Dask array.
        """
        return map_slabs(self.values, function, spans)

    def map_scored_slabs(
        self,
        function: Callable[[int, np.ndarray, np.ndarray | None], _Result],
        spans: Iterable[slice] | None = None,
    ) -> Iterator[tuple[slice, _Result]]:
        """As `map_slabs`, with `function(start, rows, scores)`: the known scores, or None.

        `spans` are the slabs, where draws are not in chunks of their own.
        """
        if self.scores is None:
            return map_slabs(self.values, partial(_without_scores, function), spans)
        return map_slabs(self.values, function, spans, self.scores)

    def evenly_spaced(self, most: int) -> Float64[np.ndarray, "m d"]:
        """At most `most` draws, evenly spaced through all chains."""
        return self.take(evenly_spaced_indices(self.n, most))

    def take(self, index: Int[np.ndarray, " m"]) -> Float64[np.ndarray, "m d"]:
        """The rows with these numbers, which must increase."""
        return take_rows(self.values, index)

    def thinned(self, step: int) -> "Samples":
        """Every step-th draw of each chain, in memory unless they are on a cluster."""
        index = np.arange(self.n).reshape(self.n_chains, -1)[:, ::step]

        def every_step(array: Any) -> Any:
            if is_dask(array):
                return array[:, ::step]
            return take_rows(array, index.ravel()).reshape(*index.shape, self.dim)

        return self._with_draws(every_step, self.draw_index.draws[::step])

    def reordered(self, order: Int[np.ndarray, " draw"]) -> "Samples":
        """The draws of every chain in another order."""
        return self._with_draws(lambda array: array[:, order], self.draw_index.draws[order])

    def split(self, *fractions: float) -> tuple["Samples", ...]:
        """Consecutive parts of every chain with these shares of its draws; the last takes the rest.

        >>> import numpy as np, steinwise as sw
        >>> draws = np.random.default_rng(0).normal(size=(2, 10, 1))
        >>> [part.n_draws for part in sw.Samples.of(draws).split(0.2, 0.1, 0.7)]
        [2, 1, 7]
        """
        ends = np.cumsum(part_sizes(fractions, self.n_draws))
        parts = [slice(start, end) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        numbers = self.draw_index.draws
        return tuple(
            self._with_draws(lambda array, part=part: array[:, part], numbers[part])
            for part in parts
        )

    def _with_draws(
        self, choose: Callable[[Any], Any], numbers: Int[np.ndarray, " draw"]
    ) -> "Samples":
        """Some of the draws of every chain, chosen alike from their values and their scores."""
        scores = None if self.scores is None else choose(self.scores)
        return replace(self, values=choose(self.values), scores=scores, draw_numbers=numbers)

    def __repr__(self) -> str:
        draws = f"{self.n} independent draws"
        if not self.independent:
            draws = f"{counted(self.n_chains, 'chain')} x {self.n_draws} draws"
        shown = ", ".join(map(printable, self.names[:5])) + (", ..." if self.dim > 5 else "")
        return f"Samples({draws}, {counted(self.dim, 'coordinate')}: {shown})"


def _without_scores(
    function: Callable[[int, np.ndarray, None], _Result], start: int, rows: np.ndarray
) -> _Result:
    return function(start, rows, None)


def part_sizes(fractions: Sequence[float], n: int) -> list[int]:
    """The number of draws in each part when n draws are split; the last part takes the rest.

    >>> part_sizes((0.2, 0.1, 0.7), 28)
    [6, 2, 20]
    """
    ends = np.round(np.cumsum(fractions)[:-1] * n).astype(int)
    return np.diff([0, *ends, n]).tolist()
