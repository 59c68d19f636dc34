"""Batches of draws: one sign each, contiguous, and each inside one chain."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from steinwise._internal.memory import chunks
from steinwise.draws.samples import Samples
from steinwise.draws.storage import even_bounds


@dataclass(frozen=True, eq=False)
class Batches:
    """Contiguous batches of the rows of a Samples, each inside one chain."""

    bounds: Int[np.ndarray, " edges"]  # batch g is rows bounds[g]:bounds[g + 1]
    chain: Int[np.ndarray, " batch"]
    independent: bool

    @property
    def count(self) -> int:
        return len(self.bounds) - 1

    @property
    def lengths(self) -> Int[np.ndarray, " batch"]:
        return np.diff(self.bounds)

    @property
    def allowed(self) -> Bool[np.ndarray, "batch batch"]:
        """Pairs of batches that a pair statistic may use.

        Never a batch with itself; in a chain, never with its neighbours, which share its
        autocorrelation.
        """
        index = np.arange(self.count)
        gap = np.abs(index[:, None] - index[None, :])
        if self.independent:
            return gap > 0
        neighbours = (gap == 1) & (self.chain[:, None] == self.chain[None, :])
        return (gap > 0) & ~neighbours

    @property
    def pairs(self) -> float:
        """The number of pairs of draws in allowed pairs of batches."""
        lengths = self.lengths.astype(float)
        return float((lengths[:, None] * lengths)[self.allowed].sum())

    def first(self, count: int) -> "Batches":
        """The first `count` batches."""
        return Batches(self.bounds[: count + 1], self.chain[:count], self.independent)

    def of_every(self, step: int, draws: int) -> "Batches":
        """The same batches of every step-th draw of each chain, which has `draws` of them.

        No batch may be shorter than a step.
        """
        chains = -(-int(self.bounds[-1]) // draws)
        numbers = (draws * np.arange(chains)[:, None] + np.arange(0, draws, step)).ravel()
        return Batches(np.searchsorted(numbers, self.bounds), self.chain, self.independent)

    def runs(self, count: int) -> Iterator["Batches"]:
        """These batches, at most `count` at a time, in runs of one length as far as can be."""
        runs = -(-self.count // count)
        for part in chunks(self.count, -(-self.count // runs)):
            bounds = self.bounds[part.start : part.stop + 1]
            yield Batches(bounds, self.chain[part], self.independent)

    def sums(self, values: Float[np.ndarray, "n *rest"]) -> Float[np.ndarray, "batch *rest"]:
        """Sums of the rows of each batch."""
        return np.add.reduceat(values, self.bounds[:-1], axis=0)

    def padded(self, values: Shaped[np.ndarray, "n *rest"]) -> tuple[np.ndarray, np.ndarray]:
        """Rows as (batch, longest, ...), short batches filled by their first row at weight 0."""
        lengths = self.lengths
        within = np.arange(lengths.max())
        weight = (within[None, :] < lengths[:, None]).astype(float)
        index = self.bounds[:-1, None] + np.where(weight > 0, within, 0)
        return values[index], weight


def cut_into(samples: Samples, count: int) -> Batches:
    """About this many batches, equally many per chain, whatever the dependence between them."""
    return cut_evenly(samples, -(-count // samples.n_chains))


def cut_evenly(samples: Samples, per_chain: int) -> Batches:
    """This many batches in every chain, or as many as it has draws."""
    return even_batches(
        samples.n_chains,
        samples.n_draws,
        min(per_chain, samples.n_draws),
        independent=samples.independent,
    )


def cut_by_length(chains: int, draws: int, length: int, *, independent: bool) -> Batches:
    """Batches of `length` draws in each chain; what is left over lengthens some of them by one."""
    return even_batches(chains, draws, max(1, draws // length), independent=independent)


def even_batches(chains: int, draws: int, per_chain: int, *, independent: bool) -> Batches:
    """This many batches in each of some chains, whose lengths differ by one at most."""
    bounds = even_bounds(chains, draws, per_chain)
    return Batches(bounds, np.repeat(np.arange(chains), per_chain), independent)
