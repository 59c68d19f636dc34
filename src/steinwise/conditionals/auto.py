"""The best of several stand-ins, coordinate by coordinate."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise.conditionals.base import (
    AbstractConditional,
    Atoms,
    TrainingData,
    learnt_by,
)
from steinwise.conditionals.histogram import Histogram
from steinwise.conditionals.kde import KDE
from steinwise.conditionals.linear import Linear
from steinwise.conditionals.mixture_density import MixtureDensity
from steinwise.conditionals.transported import Transported
from steinwise.errors import InputError


class _Fitted(NamedTuple):
    candidates: tuple[AbstractConditional, ...]
    blocks: tuple[Int[np.ndarray, " _"], ...]
    best: Int[np.ndarray, " block"]  # which candidate


@dataclass(frozen=True, eq=False)
class Auto(AbstractConditional):
    """Per coordinate or block, the candidate with the lowest validation loss.

    The loss is minus the mean log density of the validation draws: the paper's criterion, for
    classes of models and their settings alike.

    Parameters
    ----------
    candidates
        Stand-ins that learn and have a density, the simplest first. By default Transported, pooled
        and per coordinate, Linear, MixtureDensity, KDE, and Histograms of 10 and 20 bins; for
        blocks of several coordinates Linear and MixtureDensity.
    ties
        A few dozen validation draws tell little about one coordinate, and the lowest of many losses
        is lowest by chance. So one candidate is chosen for all coordinates together, and another
        for one of them, only where the loss is lower by so many standard errors of the difference;
        0 for the lowest loss as it is.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.multivariate_normal(np.zeros(3), 0.3 * np.eye(3) + 0.7, size=500)
    >>> candidates = [sw.conditionals.Linear(), sw.conditionals.KDE()]
    >>> method = sw.methods.KCCSD(sw.conditionals.Auto(candidates))
    >>> result = sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)), method=method)
    >>> result.rejected, {row.model for row in result.learnt}
    (True, {'Linear'})
    """

    candidates: Sequence[AbstractConditional] | None = None
    ties: float = 2.0
    _fitted: _Fitted | None = field(default=None, repr=False)

    least_train: ClassVar[int] = 8
    least_validation: ClassVar[int] = 4

    def __post_init__(self) -> None:
        if self.candidates is None:
            return
        good = [isinstance(one, AbstractConditional) and one.learns for one in self.candidates]
        if not good or not all(good):
            raise InputError(
                f"candidates is {self.candidates!r}: expected stand-ins that learn, such as "
                "[sw.conditionals.Linear(), sw.conditionals.KDE()]."
            )

    @property
    def uses_target(self) -> bool:
        return self.candidates is None or any(one.uses_target for one in self.candidates)

    def fit(self, data: TrainingData) -> "Auto":
        candidates = self.candidates
        if candidates is None:
            candidates = [Linear(), MixtureDensity()]
            if not data.blockwise:
                transported = Transported(8, pooled=True), Transported(8)
                candidates = [*transported, *candidates, KDE(), Histogram(10), Histogram(20)]
        fitted = tuple(one.fit(data) for one in candidates)
        losses = np.stack([-_log_density(one, data.validation) for one in fitted])
        return replace(self, _fitted=_Fitted(fitted, data.blocks, self._best(losses)))

    def _best(self, losses: Float[np.ndarray, "candidate v block"]) -> Int[np.ndarray, " block"]:
        """The first candidate, unless another is clearly better in all blocks together; then, in
        each block, that one unless another is clearly better there."""
        overall = self._clearly_better(losses.mean(axis=2, keepdims=True), np.array([0]))
        return self._clearly_better(losses, np.repeat(overall, losses.shape[2]))

    def _clearly_better(
        self, losses: Float[np.ndarray, "candidate v block"], usual: Int[np.ndarray, " block"]
    ) -> Int[np.ndarray, " block"]:
        """The lowest loss by more than its standard error allows, or the usual candidate."""
        gain = np.take_along_axis(losses, usual[None, None], axis=0) - losses
        error = gain.std(axis=1) / np.sqrt(losses.shape[1] - 1)
        clear = np.where(gain.mean(axis=1) > self.ties * error, gain.mean(axis=1), 0.0)
        return np.where(clear.max(axis=0) > 0, clear.argmax(axis=0), usual)

    def _known(self) -> _Fitted:
        return learnt_by(self, self._fitted)

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:
        known = self._known()
        used = {int(k): known.candidates[k].atoms(x, seed, first_row) for k in set(known.best)}
        most = max(atoms.points.shape[-1] for atoms in used.values())
        points, weights = np.zeros((*x.shape, most)), np.zeros((*x.shape, most))
        for best, block in zip(known.best, known.blocks, strict=True):
            found = used[int(best)]
            count = found.points.shape[-1]
            points[:, block, :count] = found.points[:, block]
            points[:, block, count:] = found.points[:, block, :1]  # at weight 0
            weights[:, block, :count] = found.weights[:, block]
        return Atoms(points, weights)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        known = self._known()
        every = {int(k): _log_density(known.candidates[k], x) for k in set(known.best)}
        return np.stack([every[int(k)][:, j] for j, k in enumerate(known.best)], axis=1)

    def chosen(self, count: int) -> tuple[str, ...]:  # noqa: ARG002
        known = self._known()
        return tuple(known.candidates[k].describe() for k in known.best)

    def rows_per_call(self, d: int) -> int:
        if self._fitted is None:
            return super().rows_per_call(d)
        return min(one.rows_per_call(d) for one in self._fitted.candidates)


def _log_density(candidate: AbstractConditional, x: np.ndarray) -> np.ndarray:
    found = candidate.log_density(x)
    if found is None:
        raise InputError(
            f"{candidate.describe()} has no log_density, which Auto needs to compare it with the "
            "others: give it one, or pass it to KCCSD alone."
        )
    return found
