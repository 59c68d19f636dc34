"""A stand-in for q(x_j | x_-j) made from p's own conditional and the draws' transforms."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from steinwise._internal.memory import chunks
from steinwise._internal.validation import require_flag, require_whole
from steinwise.conditionals.base import (
    AbstractConditional,
    AbstractFittedConditional,
    Atoms,
    TrainingData,
    refuse_blocks,
    require_target,
)
from steinwise.errors import InputError
from steinwise.orbits.lines import Lines, NormalLines
from steinwise.orbits.nodes import SearchRanges, search_ranges_of
from steinwise.orbits.quadrature import follow_lines
from steinwise.orbits.quantiles import QUANTILES
from steinwise.target import AbstractTarget

LINES_PER_CALL = 2**15  # 8 MiB of quantiles


@dataclass(frozen=True, eq=False)
class Transported(AbstractConditional):
    r"""The distribution of F_ij^-1(u), u from the transforms u_lj = F_lj(x_lj) of training draws l.

    F_ij is the distribution function of p's conditional of coordinate j given the others of draw i.
    If q's conditionals differ from p's in the same way wherever the other coordinates are, this is
    q's conditional. The atoms are p's own quantiles, weighted by a histogram of the u_lj with
    `bins` equal cells, smoothed by one pseudo-count per cell; no sampling, no network. The default
    test, `sw.methods.Transported`, goes further with the same transforms and needs no split.

    Parameters
    ----------
    bins
        Cells of the histogram; a divisor of 32, the number of atoms.
    pooled
        Whether all coordinates share one histogram: for a misfit that they share, as when all of
        them are too narrow.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(0.5, 1.0, size=(4000, 1))
    >>> target = sw.Gaussian([0.0], [[1.0]])
    >>> discrepancy = sw.kccsd(draws, target, conditional=sw.conditionals.Transported())
    >>> bool(abs(discrepancy.value - 0.25 / np.sqrt(3)) < 0.03)
    True
    """

    bins: int = QUANTILES
    pooled: bool = False

    def __post_init__(self) -> None:
        require_whole("bins", self.bins, least=1)
        require_flag("pooled", self.pooled)
        if QUANTILES % self.bins:
            raise InputError(f"bins is {self.bins!r}: expected a divisor of {QUANTILES}.")

    @property
    def uses_target(self) -> bool:
        return True

    def describe(self) -> str:
        return f"Transported({self.bins} bins{', pooled' * self.pooled})"

    def fit(self, data: TrainingData) -> "FittedTransported":
        refuse_blocks(self, data)
        target, x = require_target(self, data), data.train
        lines = _TargetLines(target, search_ranges_of(x), data.run.memory)
        parts = chunks(len(x), lines.rows_per_call(data.dim))
        u = np.concatenate([lines.through(x[part]).u for part in parts])
        cells = np.minimum((u * self.bins).astype(int), self.bins - 1)
        counts = np.stack([np.bincount(column, minlength=self.bins) for column in cells.T])
        if self.pooled:
            counts = np.broadcast_to(counts.sum(axis=0), counts.shape)
        counts = counts + 1.0
        shares = np.repeat(counts, QUANTILES // self.bins, axis=1)
        shares = shares / shares.sum(axis=1, keepdims=True)
        return FittedTransported(self, lines, shares)


@dataclass(frozen=True, eq=False)
class _TargetLines:
    """The target's conditionals along the lines through draws, one per coordinate."""

    target: AbstractTarget
    ranges: SearchRanges
    memory: int

    def through(self, x: Float[np.ndarray, "n d"]) -> Lines | NormalLines:
        return follow_lines(self.target, x, np.arange(x.shape[1]), x, self.ranges, self.memory)

    def rows_per_call(self, d: int) -> int:
        return max(1, min(1024, LINES_PER_CALL // d))


@dataclass(frozen=True, eq=False)
class FittedTransported(AbstractFittedConditional):
    """The target's quantiles, with weights learned from the transforms of the training draws."""

    settings: Transported
    lines: _TargetLines
    shares: Float[np.ndarray, "d q"]  # of the transforms, per quantile

    def describe(self) -> str:
        return self.settings.describe()

    def rows_per_call(self, d: int) -> int:
        return self.lines.rows_per_call(d)

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:  # noqa: ARG002
        quantiles = self.lines.through(x).quantiles
        return Atoms(quantiles, np.broadcast_to(self.shares, quantiles.shape))

    def log_density(self, x: np.ndarray) -> np.ndarray:
        lines = self.lines.through(x)
        cell = np.minimum((lines.u * QUANTILES).astype(int), QUANTILES - 1)
        shares = self.shares[np.arange(x.shape[1]), cell]
        return lines.log_density + np.log(QUANTILES * shares)
