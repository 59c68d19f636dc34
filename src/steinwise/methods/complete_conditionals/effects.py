"""How far off a coordinate is, and which kind of misfit that is."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise.calibration.batch_plan import BatchPlan
from steinwise.methods.complete_conditionals.terms import LARGEST_NORMAL_SCORE
from steinwise.orbits.places import Places
from steinwise.results.misfit import Effect, Misfit

# Standard errors from which a shift, a spread or tails are named. Only coordinates that are flagged
# already are asked, so this is less than what an error of a mean needs among all coordinates
# (`results.misfit.CLEAR`). At 3.5, the heavy tails of 1500 draws of Student's t with 4 degrees of
# freedom (`examples/plain_data.py`) went without a name.
NAMEABLE = 3.0
FEW = 0.1  # the share of the draws up to which they are outliers rather than the rule
CLIPPED = 0.01  # the share of outliers, whose distance is not known, that makes an effect a bound


class NormalScoreSums(NamedTuple):
    """Sums of powers of the normal scores of u, over the draws of some lines.

    Normal scores are standard normal when the draws fit. Outliers, draws that are each a misfit by
    themselves, are summed apart.
    """

    draws: Float[np.ndarray, " c"]  # how many
    least: Float[np.ndarray, " c"]  # the smallest of u and 1 - u
    inner: Float[np.ndarray, "5 c"]  # sums of powers 0 to 4
    outer: Float[np.ndarray, "5 c"]
    evaluations: Float[np.ndarray, " c"]  # of the log density, for all these draws
    breaks: Float[np.ndarray, " c"]  # draws along whose lines the density ends or jumps, on average

    @classmethod
    def none(cls, lines: int) -> "NormalScoreSums":
        powers = np.zeros((5, lines))
        none = np.zeros(lines)
        return cls(none, np.ones(lines), powers, powers, none, none)

    def with_places(self, places: Places, outlying: float) -> "NormalScoreSums":
        """With more draws; those whose tail is below `outlying` are outliers."""
        u = places.u
        if not len(u):
            return self
        tail = np.minimum(u, 1 - u)
        z = np.clip(places.normal_scores, -LARGEST_NORMAL_SCORE, LARGEST_NORMAL_SCORE)
        total, outside = _power_sums(z), np.zeros((5, z.shape[1]))
        least = tail.min(axis=0)
        if least.min() <= outlying:
            far = tail <= outlying
            outside = _power_sums(np.where(far, z, 0.0))
            outside[0] = far.sum(axis=0)
        return NormalScoreSums(
            self.draws + len(u),
            np.minimum(self.least, least),
            self.inner + total - outside,
            self.outer + outside,
            self.evaluations + places.evaluations / u.shape[1],
            self.breaks + places.breaks / u.shape[1],
        )

    def joined(self, other: "NormalScoreSums") -> "NormalScoreSums":
        return NormalScoreSums(
            self.draws + other.draws,
            np.minimum(self.least, other.least),
            self.inner + other.inner,
            self.outer + other.outer,
            self.evaluations + other.evaluations,
            self.breaks + other.breaks,
        )

    @staticmethod
    def side_by_side(parts: "Sequence[NormalScoreSums]") -> "NormalScoreSums":
        """The lines of several."""
        return NormalScoreSums(
            *(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
        )

    def line(self, j: int) -> "NormalScoreSums":
        return NormalScoreSums(*(array[..., [j]] for array in self))

    @property
    def effects(self) -> list[Effect]:
        """The shift and the spread of every line, in units of the target's conditional."""
        mean, variance = _moments(self.inner + self.outer)
        return [Effect(float(m), float(v) ** 0.5) for m, v in zip(mean, variance, strict=True)]

    def misfit(self, context: str, partners: tuple[str, ...], plan: BatchPlan) -> Misfit:
        """What is wrong with a flagged coordinate, from its `line`."""
        outliers = int(self.outer[0, 0])
        if 0 < outliers <= FEW * self.draws[0] and max(_departures(self.inner, plan)) < NAMEABLE:
            return Misfit("outliers", outliers=outliers)
        if context != "alone":
            return Misfit(context, partners)
        total = self.inner + self.outer
        shift, spread = _departures(total, plan)
        kurtosis = _excess_kurtosis(total)
        if spread >= max(NAMEABLE, shift):
            kind = "spread"
        elif shift >= NAMEABLE:
            kind = "shift"
        elif abs(kurtosis) * np.sqrt(_draws(total, plan) / 24) >= NAMEABLE:
            kind = "tails"
        else:
            kind = "shape"
        lower_bound = outliers > CLIPPED * self.draws[0]
        return Misfit(kind, lower_bound=lower_bound, outliers=outliers, excess_kurtosis=kurtosis)


def _power_sums(z: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "5 c"]:
    """Sums over the rows of powers 0 to 4."""
    square = z * z
    ones = np.full(z.shape[1], float(len(z)))
    third, fourth = (np.einsum("nc,nc->c", square, one) for one in (z, square))
    return np.stack([ones, z.sum(axis=0), square.sum(axis=0), third, fourth])


def _moments(sums: Float[np.ndarray, "5 c"]) -> tuple[np.ndarray, np.ndarray]:
    mean = sums[1] / sums[0]
    return mean, np.maximum(sums[2] / sums[0] - mean**2, 0.0)


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
