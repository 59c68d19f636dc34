"""What is wrong with a coordinate, in numbers that a person can read and in words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from steinwise.calibration.batches import BatchPlan
from steinwise.methods.transported.terms import FARTHEST
from steinwise.results.check import Effect

FEW = 0.1  # the share of the draws up to which they are outliers rather than the rule
CLIPPED = 0.01  # the share of outliers, whose distance is not known, from which it is missed
CLEAR = 3.0  # standard errors from which a mean or a spread is named as the fault


class Tally(NamedTuple):
    """What is kept of the conditional transforms of some lines: sums of powers of normal scores.

    Normal scores are standard normal when the draws fit. Outliers, each of which is one for
    itself, are summed apart.
    """

    draws: Float[np.ndarray, " c"]  # how many
    least: Float[np.ndarray, " c"]  # the smallest of u and 1 - u
    inner: Float[np.ndarray, "5 c"]  # sums of powers 0 to 4
    outer: Float[np.ndarray, "5 c"]

    @classmethod
    def none(cls, lines: int) -> "Tally":
        return cls(np.zeros(lines), np.ones(lines), np.zeros((5, lines)), np.zeros((5, lines)))

    def with_draws(
        self, u: Float[np.ndarray, "n c"], tested: Float[np.ndarray, " n"], outlying: float
    ) -> "Tally":
        """With more draws; those whose tail is below `outlying` are outliers."""
        u = u[tested > 0]
        if not len(u):
            return self
        tail = np.minimum(u, 1 - u)
        z = np.clip(ndtri(u), -FARTHEST, FARTHEST)
        every, outside = _power_sums(z), np.zeros((5, z.shape[1]))
        least = tail.min(axis=0)
        if least.min() <= outlying:
            far = tail <= outlying
            outside = _power_sums(np.where(far, z, 0.0))
            outside[0] = far.sum(axis=0)
        return Tally(
            self.draws + len(u),
            np.minimum(self.least, least),
            self.inner + every - outside,
            self.outer + outside,
        )

    def joined(self, other: "Tally") -> "Tally":
        return Tally(
            self.draws + other.draws,
            np.minimum(self.least, other.least),
            self.inner + other.inner,
            self.outer + other.outer,
        )

    @staticmethod
    def side_by_side(parts: "Sequence[Tally]") -> "Tally":
        """The lines of several."""
        return Tally(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))

    def line(self, j: int) -> "Tally":
        return Tally(*(array[..., [j]] for array in self))

    @property
    def effects(self) -> list[Effect]:
        """The shift and the spread of every line, in units of the target's conditional."""
        mean, variance = _moments(self.inner + self.outer)
        return [Effect(float(m), float(v) ** 0.5) for m, v in zip(mean, variance, strict=True)]


def _power_sums(z: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "5 c"]:
    """Sums over the rows of powers 0 to 4."""
    square = z * z
    ones = np.full(z.shape[1], float(len(z)))
    third, fourth = (np.einsum("nc,nc->c", square, one) for one in (z, square))
    return np.stack([ones, z.sum(axis=0), square.sum(axis=0), third, fourth])


def _moments(sums: Float[np.ndarray, "5 c"]) -> tuple[np.ndarray, np.ndarray]:
    mean = sums[1] / sums[0]
    return mean, np.maximum(sums[2] / sums[0] - mean**2, 0.0)


def named(
    tally: Tally, context: str, partners: tuple[str, ...], plan: BatchPlan
) -> tuple[str, tuple[str, ...], str]:
    """The kind of misfit of a flagged coordinate, from its `Tally.line`, with whom, in words."""
    outlying = int(tally.outer[0, 0])
    if 0 < outlying <= FEW * tally.draws[0] and max(_departures(tally.inner, plan)) < CLEAR:
        them = "draw lies" if outlying == 1 else "draws lie"
        where = "where the target's conditional has next to no mass"
        return "outliers", (), f"{outlying} {them} {where}"
    if context != "alone":
        return context, partners, _depends(context, partners) + " in a way that the target does not"
    every = tally.inner + tally.outer
    shift, spread = _departures(every, plan)
    effect = tally.effects[0]
    least = "at least " if outlying > CLIPPED * tally.draws[0] else ""
    if spread >= max(CLEAR, shift):
        kind = "narrow" if effect.spread < 1 else "wide"
        size = f"sd {least}{effect.spread:.2g} of the target's conditional"
        return "spread", (), f"draws are too {kind} ({size})"
    if shift >= CLEAR:
        size = f"{least}{effect.shift:+.2g} of the target's conditional sd"
        return "shift", (), f"draws are shifted by {size}"
    kurtosis = _excess_kurtosis(every)
    if abs(kurtosis) * np.sqrt(_draws(every, plan) / 24) >= CLEAR:
        than = "heavier" if kurtosis > 0 else "lighter"
        return "tails", (), f"draws have {than} tails than the target"
    return "shape", (), "draws have another shape than the target"


def _depends(context: str, partners: tuple[str, ...]) -> str:
    if not partners:
        return "depends on the other coordinates"
    return {
        "dependence": f"depends on {partners[0]}",
        "dependence on size": f"varies with the size of {partners[0]}",
        "interaction": f"depends on {' and '.join(partners)} together",
    }[context]


def _excess_kurtosis(sums: Float[np.ndarray, "5 1"]) -> float:
    (mean,), (variance,) = _moments(sums)
    one, two, three, four = (sums[1:, 0] / sums[0, 0]).tolist()
    fourth = four - 4 * mean * three + 6 * mean**2 * two - 4 * mean**3 * one + mean**4
    return float(fourth / max(variance, 1e-12) ** 2) - 3


def _departures(sums: Float[np.ndarray, "5 1"], plan: BatchPlan) -> tuple[float, float]:
    """How far the mean is from 0, and the spread from 1, in standard errors."""
    (mean,), (variance,) = _moments(sums)
    draws, spread = _draws(sums, plan), float(np.sqrt(variance))
    shift = abs(float(mean)) * np.sqrt(draws) / max(spread, 1e-12)
    return shift, abs(spread - 1) * np.sqrt(2 * draws)


def _draws(sums: Float[np.ndarray, "5 1"], plan: BatchPlan) -> float:
    return min(plan.effective_draws, float(sums[0, 0]))
