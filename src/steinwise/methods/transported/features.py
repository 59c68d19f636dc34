"""Functions of the other coordinates, by which the terms of a line are multiplied."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.random import stream
from steinwise.methods.transported.terms import TERMS

# Products, and coordinates, that are looked at one by one: memory and bootstraps grow with them.
MOST_PAIRS, MOST_ALONE = 500, 500
# Random combinations of products and of coordinates, where there are more of them than these. More
# would lower the variance of the sum that they estimate, at a cost in proportion.
SKETCHES, LINEAR_SKETCHES = 32, 64
CONTEXTS = ("alone", "dependence", "dependence on size", "interaction")


@dataclass(frozen=True, eq=False)
class Features:
    """The functions of the other coordinates that terms are multiplied with.

    By context: 1; every coordinate; every square less 1; every product of two. Where there are
    many, random combinations take their place, whose products have the same expectation. Some are
    also looked at one by one, to name the coordinates that another depends on.
    """

    d: int
    pairs: Int[np.ndarray, "pair 2"]  # whose products are looked at one by one
    alone: Int[np.ndarray, " m"]  # coordinates that are looked at one by one
    signs: Float[np.ndarray, "2 d sketch"] | None  # for coordinates, for squares
    pair_signs: Float[np.ndarray, "2 d pair_sketch"] | None  # for products

    @classmethod
    def draw(cls, d: int, seed: object) -> "Features":
        """All of them if they are few, otherwise some that are drawn at random."""
        alone = np.arange(d)
        if d > MOST_ALONE:
            alone = np.sort(stream(seed, "alone").choice(d, MOST_ALONE, replace=False))
        return cls(
            d,
            _pairs(seed, d),
            alone,
            _signs(seed, "signs of coordinates", d, LINEAR_SKETCHES)
            if d > LINEAR_SKETCHES
            else None,
            _signs(seed, "sketch", d, SKETCHES) if d * (d - 1) // 2 > SKETCHES else None,
        )

    @property
    def counts(self) -> list[int]:
        """How many features each context has."""
        single = self.d if self.signs is None else LINEAR_SKETCHES
        return [1, single, single, len(self.pairs) if self.pair_signs is None else SKETCHES]

    @property
    def count(self) -> int:
        return sum(self.counts)

    def bytes_per_line(self, batch: int, dtype: str) -> int:
        """Of the sums."""
        each = TERMS * self.count + 4 * len(self.alone) + len(self.pairs)
        return np.dtype(dtype).itemsize * batch * each

    def partners(self, context: str, feature: int) -> Int[np.ndarray, " k"]:
        """The coordinates behind a feature that is looked at by itself."""
        if context == "interaction":
            return self.pairs[feature % len(self.pairs)]
        return self.alone[[feature % len(self.alone)]]


def _pairs(seed: object, d: int) -> Int[np.ndarray, "pair 2"]:
    """All pairs of coordinates, or as many of them as are looked at, without making them all."""
    count = d * (d - 1) // 2
    chosen = np.arange(min(count, MOST_PAIRS))
    if count > MOST_PAIRS:
        chosen = np.sort(stream(seed, "pairs").choice(count, MOST_PAIRS, replace=False))
    row = np.arange(d)
    starts = row * (2 * d - row - 1) // 2  # of the pairs whose first coordinate is the row's
    first = np.searchsorted(starts, chosen, side="right") - 1
    return np.stack([first, chosen - starts[first] + first + 1], axis=1)


def _signs(seed: object, purpose: str, d: int, count: int) -> np.ndarray:
    return stream(seed, purpose).choice([-1.0, 1.0], size=(2, d, count))
