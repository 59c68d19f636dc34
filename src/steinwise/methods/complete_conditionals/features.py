"""Functions of the other coordinates, by which the terms of a line are multiplied."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.random import stream

# Products of pairs, and coordinates, that are tested one by one, on all lines together: bootstraps
# take most of the time of a check with many coordinates, and these are most of the bootstraps. All
# products up to 32 coordinates, all coordinates up to 256; of more a sample, so that each line has
# fewer of them the more lines there are.
MOST_TESTED_PAIRS, MOST_TESTED_SINGLES = 2**14, 2**16
# Random combinations of products and of coordinates, where there are more of them than these. More
# would lower the variance of the sum that they estimate, at a cost in proportion.
SKETCHES, LINEAR_SKETCHES = 32, 64
CONTEXTS = ("alone", "dependence", "dependence on size", "interaction")


@dataclass(frozen=True, eq=False)
class Features:
    """The functions of the other coordinates that terms are multiplied with.

    By context: 1; every coordinate; every square less 1; every product of two. Where there are
    many, random combinations take their place, whose products have the same expectation. Some are
    also tested one by one, to name the coordinates that another depends on.
    """

    d: int
    pairs: Int[np.ndarray, "pair 2"]  # whose products are tested one by one
    alone: Int[np.ndarray, " m"]  # coordinates that are tested one by one
    signs: Float[np.ndarray, "2 d sketch"] | None  # for coordinates, for squares
    pair_signs: Float[np.ndarray, "2 d pair_sketch"] | None  # for products

    @classmethod
    def draw(cls, d: int, seed: object, *, one_by_one: bool = True) -> "Features":
        """All of them if they are few, otherwise some that are drawn at random.

        `one_by_one` is whether products are tested one by one where a context has only random
        combinations of them.
        """
        alone, most_alone = np.arange(d), most_per_line(d, MOST_TESTED_SINGLES)
        if d > most_alone:
            alone = np.sort(stream(seed, "alone").choice(d, most_alone, replace=False))
        combined = d * (d - 1) // 2 > SKETCHES
        most_pairs = most_per_line(d, MOST_TESTED_PAIRS) if one_by_one or not combined else 0
        return cls(
            d,
            _pairs(seed, d, most_pairs),
            alone,
            _signs(seed, "signs of coordinates", d, LINEAR_SKETCHES)
            if d > LINEAR_SKETCHES
            else None,
            _signs(seed, "sketch", d, SKETCHES) if combined else None,
        )

    @property
    def counts(self) -> list[int]:
        """How many features each context has."""
        single = self.d if self.signs is None else LINEAR_SKETCHES
        return [1, single, single, len(self.pairs) if self.pair_signs is None else SKETCHES]

    @property
    def count(self) -> int:
        return sum(self.counts)

    @property
    def multiplicities(self) -> list[float]:
        """How often the square of each feature counts in the sum over its context, on average.

        A sketch of products has both orders of each.
        """
        single = 1 if self.signs is None else LINEAR_SKETCHES
        return [1.0, single, single, 1.0 if self.pair_signs is None else 2 * SKETCHES]

    def bytes_per_line(self, terms: int, batch: int, dtype: str) -> int:
        """Of the sums."""
        each = terms * self.count + 4 * len(self.alone) + len(self.pairs)
        return np.dtype(dtype).itemsize * batch * each

    def partners(self, context: str, feature: int) -> Int[np.ndarray, " k"]:
        """The coordinates behind a feature that is tested by itself."""
        if context == "interaction":
            return self.pairs[feature % len(self.pairs)]
        return self.alone[[feature % len(self.alone)]]


def squared_features(
    others: Float[np.ndarray, "d n"], own: Int[np.ndarray, " c"]
) -> Float[np.ndarray, "c context n"]:
    """The sum of the squares of all features of a context, along the line of each coordinate."""
    squares = others**2
    mine = squares[own]
    rest, fourth = squares.sum(axis=0) - mine, (squares**2).sum(axis=0) - mine**2
    on_size = ((squares - 1) ** 2).sum(axis=0) - (mine - 1) ** 2
    return np.stack([np.ones_like(mine), rest, on_size, (rest**2 - fourth) / 2], axis=1)


def most_per_line(d: int, most: int) -> int:
    """How many features each of d lines may have, if all lines together have at most this many.

    >>> [most_per_line(d, 2**14) for d in (32, 105, 10_000)]
    [512, 156, 1]
    """
    return max(1, most // d)


def _pairs(seed: object, d: int, most: int) -> Int[np.ndarray, "pair 2"]:
    """All pairs of coordinates, or this many drawn at random, without making them all."""
    count = d * (d - 1) // 2
    chosen = np.arange(min(count, most))
    if count > most:
        chosen = np.sort(stream(seed, "pairs").choice(count, most, replace=False))
    row = np.arange(d)
    starts = row * (2 * d - row - 1) // 2  # of the pairs whose first coordinate is the row's
    first = np.searchsorted(starts, chosen, side="right") - 1
    return np.stack([first, chosen - starts[first] + first + 1], axis=1)


def _signs(seed: object, purpose: str, d: int, count: int) -> np.ndarray:
    return stream(seed, purpose).choice([-1.0, 1.0], size=(2, d, count))
