"""How often draws take each value of a discrete coordinate, and how often they should."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import gammainc, ndtri_exp

LEAST_ERROR = 1.0  # draws
SMALLEST_LOG = -700.0  # of a probability that floats hold
LEAST_SHARE = 1e-3  # of the draws beyond the groups that are shown


class Outcome(NamedTuple):
    """A value, the share of the draws that have it, and the share that the target gives it."""

    value: float
    observed: float
    expected: float


@dataclass(frozen=True, eq=False)
class OutcomeShares:
    """Counts of every value of a discrete coordinate."""

    values: Float[np.ndarray, " k"]
    counts: Float[np.ndarray, " k"]  # of the draws
    expected: Float[np.ndarray, " k"]  # the sum of the conditional probabilities
    variances: Float[np.ndarray, " k"]  # of the counts, if the draws are right and independent

    @classmethod
    def none(cls) -> "OutcomeShares":
        return cls(*(np.zeros(0),) * 4)

    def joined(self, other: "OutcomeShares") -> "OutcomeShares":
        """With more draws, which may have come with other values."""
        values = np.union1d(self.values, other.values)
        sums = np.zeros((3, len(values)))
        for part in (self, other):
            place = np.searchsorted(values, part.values)
            sums[:, place] += np.stack([part.counts, part.expected, part.variances])
        return OutcomeShares(values, *sums)

    @property
    def worst(self) -> int:
        """The value that departs by most standard errors.

        A standard error is at least `LEAST_ERROR`: of values with next to no probability a single
        draw, as many of which come up among many values, would be any number of them.
        """
        z = (self.counts - self.expected) / np.maximum(np.sqrt(self.variances), LEAST_ERROR)
        return int(np.argmax(np.abs(z) + 1e-6 * (z > 0)))  # of two, the one taken too often

    def surprise(self, k: int, effective: float) -> float:
        """How surprising a value's departure is, as a number of standard deviations.

        Of a normal number, with the probability of the departure times the number of values: of a
        thousand values, one departs by what is one in a thousand. Counts of rare values are skewed,
        so the probability is that of a Poisson number. Draws count as so many `effective` ones.
        """
        share = effective / max(float(self.counts.sum()), 1.0)
        departure = share * abs(float(self.counts[k] - self.expected[k]))
        variance = share * max(float(self.variances[k]), np.finfo(float).tiny)
        with np.errstate(divide="ignore"):
            log_tail = max(float(np.log(gammainc(variance + departure, variance))), SMALLEST_LOG)
        return float(-ndtri_exp(min(log_tail + np.log(len(self.values)), 0.0) - np.log(2)))

    def in_groups(self, most: int) -> "OutcomeShares":
        """Neighbouring values together, at most so many groups of the same number of values.

        A group is given by its first value. What lies further out is left out, where it is less
        than a share of `LEAST_SHARE` of the draws and of the probability on either side.
        """
        weight = self.counts + self.expected
        before, behind = np.cumsum(weight) - weight, np.cumsum(weight[::-1])[::-1] - weight
        least = LEAST_SHARE * weight.sum()
        inside = np.flatnonzero((before + weight > least) & (behind + weight > least))
        first, last = int(inside[0]), int(inside[-1]) + 1
        size = -(-(last - first) // most)
        starts = np.arange(0, last - first, size)
        counts, expected, variances = (
            np.add.reduceat(array[first:last], starts)
            for array in (self.counts, self.expected, self.variances)
        )
        if size > 1:  # at most, whatever the probabilities of the single draws
            bound = expected * (1 - expected / max(float(self.expected.sum()), 1.0))
            variances = np.minimum(variances, bound)
        return OutcomeShares(self.values[first:last][starts], counts, expected, variances)

    def outcome(self, k: int) -> Outcome:
        total = max(float(self.counts.sum()), 1.0)
        return Outcome(
            float(self.values[k]), float(self.counts[k]) / total, float(self.expected[k]) / total
        )
