"""The best of several stand-ins, coordinate by coordinate."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.validation import require_at_least
from steinwise.conditionals.base import (
    AbstractConditional,
    AbstractFittedConditional,
    Atoms,
    TrainingData,
    require_fitted,
    require_target,
)
from steinwise.conditionals.histogram import Histogram
from steinwise.conditionals.kde import KDE
from steinwise.conditionals.linear import Linear
from steinwise.conditionals.mixture_density import MixtureDensity
from steinwise.conditionals.transported import Transported
from steinwise.errors import InputError


@dataclass(frozen=True, eq=False)
class Auto(AbstractConditional):
    """Per coordinate or block, the candidate with the lowest validation loss.

    The loss is minus the mean log density of the validation draws: the paper's criterion, both for
    kinds of models and for their settings.

    Parameters
    ----------
    candidates
        Stand-ins that learn and have a density, the simplest first. By default Transported, pooled
        and per coordinate, Linear, MixtureDensity, KDE, and Histograms of 10 and 20 bins; for
        blocks of several coordinates Linear and MixtureDensity.
    ties
        How many standard errors of the difference a loss must be lower by to count as lower. A few
        dozen validation draws tell little about one coordinate, and the lowest of many losses is
        lowest by chance. So one candidate is chosen for all coordinates together, and another for
        a single coordinate only where its loss is lower by this much; 0 takes the lowest loss.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.multivariate_normal(np.zeros(3), 0.3 * np.eye(3) + 0.7, size=500)
    >>> candidates = [sw.conditionals.Linear(), sw.conditionals.KDE()]
    >>> method = sw.methods.KCCSD(sw.conditionals.Auto(candidates))
    >>> result = sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)), method=method)
    >>> result.rejected, {row.model for row in result.learned}
    (True, {'Linear'})
    """

    candidates: Sequence[AbstractConditional] | None = None
    ties: float = 2.0

    least_train: ClassVar[int] = 8
    least_validation: ClassVar[int] = 4

    def __post_init__(self) -> None:
        require_at_least("ties", self.ties, 0)
        if self.candidates is None:
            return
        learning = isinstance(self.candidates, Sequence) and [
            isinstance(candidate, AbstractConditional) and candidate.learns
            for candidate in self.candidates
        ]
        if not learning or not all(learning):
            raise InputError(
                f"candidates is {self.candidates!r}: expected stand-ins that learn, such as "
                "[sw.conditionals.Linear(), sw.conditionals.KDE()]."
            )

    @property
    def uses_target(self) -> bool:
        return self.candidates is None or any(c.uses_target for c in self.candidates)

    def fit(self, data: TrainingData) -> "FittedAuto":
        if self.uses_target:
            require_target(self, data)
        candidates = self.candidates
        if candidates is None:
            candidates = [Linear(), MixtureDensity()]
            if not data.blockwise:
                transported = Transported(8, pooled=True), Transported(8)
                candidates = [*transported, *candidates, KDE(), Histogram(10), Histogram(20)]
        fitted = tuple(require_fitted(candidate, candidate.fit(data)) for candidate in candidates)
        losses = np.stack([-_log_density(candidate, data.validation) for candidate in fitted])
        return FittedAuto(self, fitted, data.blocks, self._best(losses))

    def _best(self, losses: Float[np.ndarray, "candidate v block"]) -> Int[np.ndarray, " block"]:
        """The first candidate, unless another is clearly better in all blocks together; then, in
        each block, that candidate unless another is clearly better there."""
        overall = self._clearly_better(losses.mean(axis=2, keepdims=True), np.array([0]))
        return self._clearly_better(losses, np.repeat(overall, losses.shape[2]))

    def _clearly_better(
        self, losses: Float[np.ndarray, "candidate v block"], usual: Int[np.ndarray, " block"]
    ) -> Int[np.ndarray, " block"]:
        """The candidate that gains most over the usual one, by more than `ties` standard errors."""
        gains = np.take_along_axis(losses, usual[None, None], axis=0) - losses
        mean, error = gains.mean(axis=1), gains.std(axis=1) / np.sqrt(losses.shape[1] - 1)
        clear = np.where(mean > self.ties * error, mean, 0.0)
        return np.where(clear.max(axis=0) > 0, clear.argmax(axis=0), usual)


@dataclass(frozen=True, eq=False)
class FittedAuto(AbstractFittedConditional):
    """What all candidates learned, and which of them is used for each block."""

    settings: Auto
    candidates: tuple[AbstractFittedConditional, ...]
    blocks: tuple[Int[np.ndarray, " _"], ...]
    best: Int[np.ndarray, " block"]  # the number of a candidate

    def describe(self) -> str:
        return self.settings.describe()

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:
        used = {int(k): self.candidates[k].atoms(x.copy(), seed, first_row) for k in set(self.best)}
        most = max(atoms.points.shape[-1] for atoms in used.values())
        points, weights = np.zeros((*x.shape, most)), np.zeros((*x.shape, most))
        for best, block in zip(self.best, self.blocks, strict=True):
            atoms = used[int(best)]
            count = atoms.points.shape[-1]
            points[:, block, :count] = atoms.points[:, block]
            points[:, block, count:] = atoms.points[:, block, :1]  # at weight 0
            weights[:, block, :count] = atoms.weights[:, block]
        return Atoms(points, weights)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        used = {int(k): _log_density(self.candidates[k], x) for k in set(self.best)}
        return np.stack([used[int(k)][:, j] for j, k in enumerate(self.best)], axis=1)

    def chosen(self, count: int) -> tuple[str, ...]:  # noqa: ARG002
        return tuple(self.candidates[k].describe() for k in self.best)

    def rows_per_call(self, d: int) -> int:
        return min(candidate.rows_per_call(d) for candidate in self.candidates)


def _log_density(candidate: AbstractFittedConditional, x: np.ndarray) -> np.ndarray:
    logs = candidate.log_density(x)
    if logs is None:
        raise InputError(
            f"{candidate.describe()} has no log_density, which Auto needs to compare it with the "
            "others: give it one, or pass it to KCCSD without Auto."
        )
    return logs
