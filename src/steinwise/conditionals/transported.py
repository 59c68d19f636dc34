"""A stand-in for q(x_j | x_-j) made from p's own conditional and the draws' transforms."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from steinwise.conditionals.abstract import AbstractConditional, Atoms
from steinwise.errors import InputError
from steinwise.lines import QUANTILES, follow, make_guide
from steinwise.samples import Samples
from steinwise.target import AbstractTarget


@dataclass(frozen=True, eq=False)
class Transported(AbstractConditional):
    r"""The law of F_ij^-1(u), u from the transforms u_lj = F_lj(x_lj) of all draws.

    If q's conditionals differ from p's in the same way wherever the other coordinates are, this is
    q's conditional. The atoms are p's own quantiles, weighted by a histogram of the u_lj with
    `bins` equal cells, smoothed by one pseudo-count per cell; no sampling, no training.

    Parameters
    ----------
    bins
        Cells of the histogram; a divisor of 32, the number of atoms.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(0.5, 1.0, size=(2000, 1))
    >>> target = sw.Gaussian([0.0], [[1.0]])
    >>> found = sw.kccsd(draws, target, conditional=sw.conditionals.Transported())
    >>> bool(abs(found.value - 0.25 / np.sqrt(3)) < 0.02)
    True
    """

    bins: int = QUANTILES
    _fitted: tuple | None = None

    from_tested_draws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.bins not in (1, 2, 4, 8, 16, 32):
            raise InputError(f"bins is {self.bins!r}: expected a divisor of {QUANTILES}.")

    def fit(self, samples: Samples, target: AbstractTarget, memory: int) -> "Transported":
        """The same stand-in with the transforms of these draws."""
        x = samples.rows
        every = np.arange(samples.dim)
        guide = make_guide(x)
        u = np.concatenate(
            [
                follow(target, x[part], every, x[part], guide, memory).u
                for part in np.array_split(np.arange(len(x)), max(1, x.size // 2**15))
            ]
        )
        cells = np.minimum((u * self.bins).astype(int), self.bins - 1)
        counts = np.stack([np.bincount(column, minlength=self.bins) for column in cells.T]) + 1.0
        weights = np.repeat(counts, QUANTILES // self.bins, axis=1)
        weights = weights / weights.sum(axis=1, keepdims=True)
        return Transported(self.bins, (target, guide, weights, memory))

    def rows_per_call(self, d: int) -> int:
        return max(1, min(1024, 2**15 // d))

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:  # noqa: ARG002
        if self._fitted is None:
            raise InputError("conditionals.Transported() must be fitted to the draws first.")
        target, guide, weights, memory = self._fitted
        lines = follow(target, x, np.arange(x.shape[1]), x, guide, memory)
        return Atoms(lines.quantiles, np.broadcast_to(weights, lines.quantiles.shape))
