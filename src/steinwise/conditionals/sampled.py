"""Draws from a stand-in's atoms, in place of the atoms with their weights."""

from dataclasses import dataclass, field, replace

import numpy as np

from steinwise._internal.random import stream
from steinwise._internal.validation import require_whole
from steinwise.conditionals.base import AbstractConditional, Atoms, TrainingData
from steinwise.errors import InputError


@dataclass(frozen=True, eq=False)
class Sampled(AbstractConditional):
    """A few draws from another stand-in, as in the paper.

    The mean of the contributions is the same, with the noise of sampling on top: for comparison
    with the paper, and for densities so dear that every atom counts.

    Parameters
    ----------
    conditional
        The stand-in to draw from: for a histogram a draw is a bin's centre.
    n_atoms
        Draws per line.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.multivariate_normal(np.zeros(3), 0.3 * np.eye(3) + 0.7, size=1000)
    >>> as_published = sw.conditionals.Sampled(sw.conditionals.Histogram(bins=10), n_atoms=1)
    >>> method = sw.methods.KCCSD(as_published)
    >>> sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)), method=method).rejected
    True
    """

    conditional: AbstractConditional
    n_atoms: int = 10
    _blocks: tuple[np.ndarray, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        require_whole("n_atoms", self.n_atoms, least=1)
        if not isinstance(self.conditional, AbstractConditional) or not self.conditional.learns:
            raise InputError(
                f"conditional is {self.conditional!r}: expected a stand-in that learns, such as "
                "sw.conditionals.Histogram()."
            )

    @property
    def uses_target(self) -> bool:
        return self.conditional.uses_target

    def describe(self) -> str:
        return f"{self.n_atoms} draws of {self.conditional.describe()}"

    def fit(self, data: TrainingData) -> "Sampled":
        return replace(self, conditional=self.conditional.fit(data), _blocks=data.blocks)

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:
        every = self.conditional.atoms(x, seed, first_row)
        n, d, m = every.points.shape
        blocks = [np.array([j]) for j in range(d)] if self._blocks is None else self._blocks
        uniform = stream(seed, "sampled", first_row).random((n, len(blocks), self.n_atoms))
        first = np.array([block[0] for block in blocks])
        below = np.cumsum(every.weights[:, first], axis=-1)
        below /= below[..., -1:]
        found = (below[:, :, None] < uniform[..., None]).sum(axis=-1)
        place = np.empty((n, d, self.n_atoms), int)
        for k, block in enumerate(blocks):
            place[:, block] = found[:, k, None]
        points = np.take_along_axis(every.points, np.minimum(place, m - 1), axis=-1)
        return Atoms(points, np.full(points.shape, 1.0 / self.n_atoms))

    def log_density(self, x: np.ndarray) -> np.ndarray | None:
        return self.conditional.log_density(x)

    def chosen(self, count: int) -> tuple[str, ...]:
        return self.conditional.chosen(count)

    def rows_per_call(self, d: int) -> int:
        return self.conditional.rows_per_call(d)
