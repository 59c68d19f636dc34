"""How often draws take each value of a discrete coordinate, and how often they should."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

LEAST_ERROR = 1.0  # draws


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

    def most_likely(self, count: int) -> "OutcomeShares":
        """At most this many of the values, with the most draws or the largest probabilities."""
        chosen = np.sort(np.argsort(-np.maximum(self.counts, self.expected))[:count])
        return OutcomeShares(
            *(array[chosen] for array in (self.values, self.counts, self.expected, self.variances))
        )

    @property
    def worst(self) -> tuple[int, float]:
        """The value that departs most, and by how many standard errors.

        A standard error is at least `LEAST_ERROR`: of values with next to no probability a single
        draw, as many of which come up among many values, would be any number of them.
        """
        z = (self.counts - self.expected) / np.maximum(np.sqrt(self.variances), LEAST_ERROR)
        k = int(np.argmax(np.abs(z) + 1e-6 * (z > 0)))  # of two values, the one taken too often
        return k, float(z[k])

    def outcome(self, k: int) -> Outcome:
        total = max(float(self.counts.sum()), 1.0)
        return Outcome(
            float(self.values[k]), float(self.counts[k]) / total, float(self.expected[k]) / total
        )
