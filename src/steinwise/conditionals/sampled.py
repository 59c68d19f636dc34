"""Random draws from a stand-in's atoms, in place of all atoms with their weights."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from steinwise._internal.random import stream
from steinwise._internal.validation import require_whole
from steinwise.conditionals.base import (
    AbstractConditional,
    AbstractFittedConditional,
    Atoms,
    TrainingData,
    require_fitted,
)
from steinwise.errors import InputError


@dataclass(frozen=True, eq=False)
class Sampled(AbstractConditional):
    """A few draws from another stand-in, as in the paper.

    The mean of the contributions is the same, with the noise of sampling on top: for comparison
    with the paper, and for densities so expensive that every atom counts.

    Parameters
    ----------
    conditional
        The stand-in to draw from: for a histogram a draw is a bin's centre.
    n_atoms
        Draws per row and coordinate.

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

    def fit(self, data: TrainingData) -> "FittedSampled":
        source = require_fitted(self.conditional, self.conditional.fit(data))
        return FittedSampled(self, source, data.blocks)


@dataclass(frozen=True, eq=False)
class FittedSampled(AbstractFittedConditional):
    """Draws from what another stand-in learned."""

    settings: Sampled
    source: AbstractFittedConditional
    blocks: tuple[Int[np.ndarray, " _"], ...]

    def describe(self) -> str:
        return self.settings.describe()

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:
        weighted = self.source.atoms(x, seed, first_row)
        (n, d, m), n_atoms = weighted.points.shape, self.settings.n_atoms
        uniform = stream(seed, "sampled", first_row).random((n, len(self.blocks), n_atoms))
        first = np.array([block[0] for block in self.blocks])  # a block's weights are all alike
        cumulative = np.cumsum(weighted.weights[:, first], axis=-1)
        cumulative /= cumulative[..., -1:]
        drawn = (cumulative[:, :, None] < uniform[..., None]).sum(axis=-1)
        index = np.empty((n, d, n_atoms), int)
        for k, block in enumerate(self.blocks):
            index[:, block] = drawn[:, k, None]
        points = np.take_along_axis(weighted.points, np.minimum(index, m - 1), axis=-1)
        return Atoms(points, np.full(points.shape, 1.0 / n_atoms))

    def log_density(self, x: np.ndarray) -> np.ndarray | None:
        return self.source.log_density(x)

    def chosen(self, count: int) -> tuple[str, ...]:
        return self.source.chosen(count)

    def rows_per_call(self, d: int) -> int:
        return self.source.rows_per_call(d)
