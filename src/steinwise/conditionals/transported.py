"""A stand-in for q(x_j | x_-j) made from p's own conditional and the draws' transforms."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.memory import chunks
from steinwise.conditionals.base import (
    AbstractConditional,
    Atoms,
    TrainingData,
    learnt_by,
    refuse_blocks,
)
from steinwise.errors import InputError
from steinwise.orbits.lines import QUANTILES, Lines, NormalLines
from steinwise.orbits.quadrature import Guide, follow, make_guide
from steinwise.target import AbstractTarget

LINES_PER_CALL = 2**15


class _Fitted(NamedTuple):
    target: AbstractTarget
    guide: Guide
    shares: Float[np.ndarray, "d q"]  # of the transforms, per quantile
    memory: int

    def lines(self, x: Float[np.ndarray, "n d"]) -> Lines | NormalLines:
        return follow(self.target, x, np.arange(x.shape[1]), x, self.guide, self.memory)


@dataclass(frozen=True, eq=False)
class Transported(AbstractConditional):
    r"""The law of F_ij^-1(u), u from the transforms u_lj = F_lj(x_lj) of the training draws.

    If q's conditionals differ from p's in the same way wherever the other coordinates are, this is
    q's conditional. The atoms are p's own quantiles, weighted by a histogram of the u_lj with
    `bins` equal cells, smoothed by one pseudo-count per cell; no sampling, no network. The default
    test, `sw.methods.Transported`, goes further with the same transforms and needs no split.

    Parameters
    ----------
    bins
        Cells of the histogram; a divisor of 32, the number of atoms.
    pooled
        Whether one histogram serves all coordinates: for a misfit that they share, as when all of
        them are too narrow.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(0.5, 1.0, size=(4000, 1))
    >>> target = sw.Gaussian([0.0], [[1.0]])
    >>> found = sw.kccsd(draws, target, conditional=sw.conditionals.Transported())
    >>> bool(abs(found.value - 0.25 / np.sqrt(3)) < 0.03)
    True
    """

    bins: int = QUANTILES
    pooled: bool = False
    _fitted: _Fitted | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.bins not in (1, 2, 4, 8, 16, 32):
            raise InputError(f"bins is {self.bins!r}: expected a divisor of {QUANTILES}.")

    @property
    def uses_target(self) -> bool:
        return True

    def describe(self) -> str:
        return f"Transported({self.bins} bins{', pooled' * self.pooled})"

    def fit(self, data: TrainingData) -> "Transported":
        refuse_blocks(self, data)
        x = data.train
        unweighted = np.full((data.dim, QUANTILES), 1.0 / QUANTILES)
        fitted = _Fitted(data.target, make_guide(x), unweighted, data.run.memory)
        parts = chunks(len(x), self.rows_per_call(data.dim))
        u = np.concatenate([fitted.lines(x[part]).u for part in parts])
        cells = np.minimum((u * self.bins).astype(int), self.bins - 1)
        counts = np.stack([np.bincount(column, minlength=self.bins) for column in cells.T])
        if self.pooled:
            counts = np.broadcast_to(counts.sum(axis=0), counts.shape)
        counts = counts + 1.0
        shares = np.repeat(counts, QUANTILES // self.bins, axis=1)
        shares = shares / shares.sum(axis=1, keepdims=True)
        return replace(self, _fitted=fitted._replace(shares=shares))

    def rows_per_call(self, d: int) -> int:
        return max(1, min(1024, LINES_PER_CALL // d))

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:  # noqa: ARG002
        fitted = learnt_by(self, self._fitted)
        quantiles = fitted.lines(x).quantiles
        return Atoms(quantiles, np.broadcast_to(fitted.shares, quantiles.shape))

    def log_density(self, x: np.ndarray) -> np.ndarray:
        fitted = learnt_by(self, self._fitted)
        lines = fitted.lines(x)
        cell = np.minimum((lines.u * QUANTILES).astype(int), QUANTILES - 1)
        shares = fitted.shares[np.arange(x.shape[1]), cell]
        return lines.log_density + np.log(QUANTILES * shares)
