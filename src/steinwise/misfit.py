"""What is wrong with a coordinate, in numbers that a person can read and in words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from steinwise.batches import BatchPlan
from steinwise.results import Effect
from steinwise.transport import FARTHEST

FEW = 0.1  # the share of the draws up to which they are outliers rather than the rule
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


def words(tally: Tally, context: str, partners: tuple[str, ...], plan: BatchPlan) -> str:
    """The kind of misfit of a flagged coordinate, from its `Tally.line`."""
    outlying = int(tally.outer[0, 0])
    if 0 < outlying <= FEW * tally.draws[0] and max(_departures(tally.inner, plan)) < CLEAR:
        them = "draw lies" if outlying == 1 else "draws lie"
        return f"{outlying} {them} where the target's conditional has next to no mass"
    if context == "interaction" and partners:
        both = " and ".join(partners)
        return f"depends on {both} together in a way that the target does not"
    if context == "dependence on size" and partners:
        return f"varies with the size of {partners[0]} in a way that the target does not"
    if context == "dependence" and partners:
        return f"depends on {partners[0]} in a way that the target does not"
    if context != "alone":
        return "depends on the other coordinates in a way that the target does not"
    every = tally.inner + tally.outer
    shift, spread = _departures(every, plan)
    effect = tally.effects[0]
    if spread >= max(CLEAR, shift):
        kind = "narrow" if effect.spread < 1 else "wide"
        return f"draws are too {kind} (sd {effect.spread:.2g} of the target's conditional)"
    if shift >= CLEAR:
        return f"draws are shifted by {effect.shift:+.2g} of the target's conditional sd"
    kurtosis = _excess_kurtosis(every)
    if abs(kurtosis) * np.sqrt(_draws(every, plan) / 24) >= CLEAR:
        return f"draws have {'heavier' if kurtosis > 0 else 'lighter'} tails than the target"
    return "draws have another shape than the target"


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


def detectable(threshold: float, plan: BatchPlan) -> Effect:
    r"""The shift and the spread of one coordinate that would be found with power 0.8.

    A shift by a adds a^2, a spread by s adds (s^2 - 1)^2 / 2, to the statistic of the Hermite
    polynomials, whose null has standard deviation sqrt(8) / n; its noise grows to
    sqrt(8 / n^2 + 4 a^2 / n). The threshold is that of the largest coordinate, in standard
    deviations.
    """
    n = plan.effective_draws
    scale = np.sqrt(8.0) / n
    needed = threshold * scale
    for _ in range(50):
        needed = threshold * scale + 0.842 * np.sqrt(scale**2 + 4 * needed / n)
    return Effect(float(np.sqrt(needed)), float(np.sqrt(1 + np.sqrt(2 * needed))))
