r"""Functions of a draw's place on its line, times functions of its other coordinates.

Terms are functions of u = F(x_ij): each has mean zero, given the other coordinates, when the draw
comes from p. Features are functions of the other coordinates. Sums of their products over batches
are all that the default check needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from steinwise._internal.random import stream
from steinwise._internal.threads import one_blas_thread
from steinwise.orbits.lines import MIDPOINTS, QUANTILES, Lines, NormalLines

STEIN_TERMS, COSINE_TERMS, HERMITE_TERMS = 8, 6, 4
FARTHEST = 5.0  # normal scores are clipped here
MOST_PAIRS, MOST_ALONE = 500, 500  # products, coordinates, that are looked at one by one
# random combinations of products and of coordinates, where there are more of them than these
SKETCHES, LINEAR_SKETCHES = 32, 64
CONTEXTS = ("alone", "dependence", "dependence on size", "interaction")

TERMS = 2 * STEIN_TERMS + COSINE_TERMS + HERMITE_TERMS
_STEIN, _STEIN_OTHER = slice(0, STEIN_TERMS), slice(STEIN_TERMS, 2 * STEIN_TERMS)
_COSINE = slice(2 * STEIN_TERMS, 2 * STEIN_TERMS + COSINE_TERMS)
_HERMITE = slice(TERMS - HERMITE_TERMS, TERMS)
BASE_TERMS = {
    "shape": (_STEIN, _STEIN_OTHER),
    "shift": (_COSINE, _COSINE),
    "tails": (_HERMITE, _HERMITE),
}
# the mean square of <m(u), o(u')> of two right draws, for bases whose terms are skewed
SKEWED = {"tails": HERMITE_TERMS}
ORDERS = np.arange(1, STEIN_TERMS + 1)
# the integral over v of a function on the quantiles, times a cosine of v
WAVES = np.sqrt(2) * np.cos(np.pi * MIDPOINTS[:, None] * ORDERS) / QUANTILES
PLACE = _COSINE.start  # the lowest cosine of u
SINGLE_TERMS = slice(PLACE, PLACE + 2)  # the place and the spread of u


@dataclass(frozen=True, eq=False)
class Features:
    """The functions of the other coordinates that terms are multiplied with.

    By context: 1; every coordinate; every square less 1; every product of two. Where there are
    many, random signs stand for them, whose products have the same expectation. Beside these, some
    are looked at one by one, to name the coordinates that another depends on.
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

    def sums(self, batch: int, c: int, dtype: str) -> "Sums":
        """Sums that are all 0."""
        apart = 0 if self.signs is None else len(self.alone)
        alone, dependence, on_size, interaction = (
            np.zeros((batch, c, TERMS, count), dtype) for count in self.counts
        )
        return Sums(
            alone,
            dependence,
            on_size,
            interaction,
            np.zeros((batch, c, 2, 2, apart), dtype),
            np.zeros((batch, c, len(self.pairs)), dtype),
        )

    def singles(self, sums: "Sums", context: str) -> Float[np.ndarray, "batch c term f"]:
        """The sums of single terms with single features, or products, of a context."""
        if context == "interaction":
            return sums.of_pairs[:, :, None, :]
        if self.signs is None:
            return sums.of(context)[:, :, SINGLE_TERMS]
        return sums.of_single[:, :, :, CONTEXTS.index(context) - 1]

    def partners(self, context: str, feature: int) -> Int[np.ndarray, " k"]:
        """The coordinates of one of these features."""
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


class Sums(NamedTuple):
    """Sums over batches of terms times features."""

    alone: Float[np.ndarray, "batch c term 1"]
    dependence: Float[np.ndarray, "batch c term f"]
    dependence_on_size: Float[np.ndarray, "batch c term f"]
    interaction: Float[np.ndarray, "batch c term g"]
    of_single: Float[np.ndarray, "batch c 2 2 m"]  # SINGLE_TERMS times coordinates and squares,
    # where the contexts have only sketches of them
    of_pairs: Float[np.ndarray, "batch c pair"]  # PLACE times products

    def of(self, context: str) -> Float[np.ndarray, "batch c term f"]:
        return self[CONTEXTS.index(context)]

    def part(self, batches: slice, lines: slice = slice(None)) -> "Sums":
        """A view of some batches and lines."""
        return Sums(*(array[batches, lines] for array in self))

    def add(self, other: "Sums") -> None:
        for mine, its in zip(self, other, strict=True):
            mine += its


@one_blas_thread
def products(
    sums: Sums, settings: Sequence[tuple[str, str]]
) -> Float[np.ndarray, "setting c batch batch"]:
    """Inner products between all pairs of batches, per setting: a base and a context."""
    batches, lines = sums.alone.shape[:2]
    out = np.empty((len(settings), lines, batches, batches), sums.alone.dtype)
    for product, (base, context) in zip(out, settings, strict=True):
        by_line = np.swapaxes(sums.of(context), 0, 1)
        left, right = (
            by_line[:, :, terms].reshape(lines, batches, -1) for terms in BASE_TERMS[base]
        )
        np.matmul(left, np.swapaxes(right, 1, 2), out=product)
    return out


@one_blas_thread
def batch_products(
    out: Sums,
    lines: Lines | NormalLines,
    at: Float[np.ndarray, "n c"],
    others: Float[np.ndarray, "n d"],
    weight: Float[np.ndarray, "batch longest"],
    own: Int[np.ndarray, " c"],
    features: Features,
) -> None:
    """Add terms times features, summed over the draws of each batch.

    Features are computed once for all lines; what a line's own coordinate adds to them is taken out
    of the sums.
    """
    dtype = out.alone.dtype
    z = np.ascontiguousarray(others.T, dtype)
    seen = _Seen(terms_of(lines, at, dtype), z, own, weight.astype(dtype))
    alone, dependence, on_size, interaction = _of_contexts(seen, features)
    of_single, of_pairs = _of_single(seen, features), _of_pairs(seen, features)
    out.add(Sums(alone, dependence, on_size, interaction, of_single, of_pairs))


class _Seen(NamedTuple):
    """What is known of some draws, which come last in all arrays, batch after batch."""

    terms: Float[np.ndarray, "term c n"]
    z: Float[np.ndarray, "d n"]
    own: Int[np.ndarray, " c"]
    weight: Float[np.ndarray, "batch longest"]

    @property
    def counted(self) -> Float[np.ndarray, " n"]:
        return self.weight.ravel()

    def without(self, coordinates: Int[np.ndarray, " f"]) -> Bool[np.ndarray, "c f"]:
        """Whether these are others than a line's own."""
        return coordinates != self.own[:, None]

    def summed(
        self, terms: Float[np.ndarray, "t c n"], features: Float[np.ndarray, "f n"]
    ) -> Float[np.ndarray, "batch c t f"]:
        """Products of terms and weighted features, summed over the draws of each batch."""
        left, right = (
            one.reshape(-1, *self.weight.shape).transpose(1, 0, 2) for one in (terms, features)
        )
        found = left @ np.swapaxes(right, 1, 2)
        return np.swapaxes(found.reshape(len(found), *terms.shape[:2], len(features)), 1, 2)

    def summed_each(
        self, terms: Float[np.ndarray, "t c n"], feature: Float[np.ndarray, "c n"]
    ) -> Float[np.ndarray, "batch c t 1"]:
        """The same with a single feature, another one for every line."""
        left = terms.reshape(*terms.shape[:2], *self.weight.shape).transpose(2, 1, 0, 3)
        right = feature.reshape(-1, *self.weight.shape).transpose(1, 0, 2)
        return left @ right[..., None]


def _of_single(seen: _Seen, features: Features) -> Float[np.ndarray, "batch c 2 2 m"]:
    alone = features.alone if features.signs is not None else features.alone[:0]
    z = seen.z[alone]
    weighted = np.concatenate([z, z**2 - 1]) * seen.counted
    found = seen.summed(seen.terms[SINGLE_TERMS], weighted)
    return found.reshape(*found.shape[:3], 2, len(alone)) * seen.without(alone)[:, None, None]


def _of_pairs(seen: _Seen, features: Features) -> Float[np.ndarray, "batch c pair"]:
    one, other = features.pairs.T
    weighted = (seen.z * seen.counted)[one] * seen.z[other]
    found = seen.summed(seen.terms[PLACE : PLACE + 1], weighted)[:, :, 0]
    return found * (seen.without(one) & seen.without(other))


def _of_contexts(seen: _Seen, features: Features) -> list[np.ndarray]:
    """All terms with the features of every context, each (batch, c, term, feature)."""
    z, squares, dtype = seen.z, seen.z**2 - 1, seen.z.dtype
    shared = [np.ones_like(z[:1]), z, squares]
    if features.signs is not None:
        one, other = features.signs.astype(dtype)
        shared[1:] = one.T @ z, other.T @ squares
    along = None
    if features.pair_signs is None:
        one, other = features.pairs.T
        shared.append(z[one] * z[other])
    else:
        one, other = features.pair_signs.astype(dtype)
        along = np.concatenate([one.T @ z, other.T @ z])
        shared.append(along[:SKETCHES] * along[SKETCHES:] - (one * other).T @ z**2)
    summed = seen.summed(seen.terms, np.concatenate(shared) * seen.counted)
    found = np.split(summed, np.cumsum(features.counts)[:-1], axis=-1)
    if features.signs is None:
        for single in found[1:3]:
            single[:, np.arange(len(seen.own)), :, seen.own] = 0.0
    if along is None:
        found[3] *= (seen.without(one) & seen.without(other))[:, None]
    else:
        _correct_sketches(found, seen, along, features)
    return found


def _correct_sketches(
    found: list[np.ndarray],
    seen: _Seen,
    along: Float[np.ndarray, "sketches n"],
    features: Features,
) -> None:
    """Take a line's own coordinate m out of the sums of sketches.

    With signs s and t it has added m s, or (m^2 - 1) t, to a sketch of single coordinates or
    squares, and m s b + m t a - 2 m^2 s t to a b - c, a sketch of products: a and b, `along`, are
    sums of the coordinates with either signs, c is that of their squares with both.
    """
    alone, dependence, on_size, interaction = found
    assert features.pair_signs is not None
    one, other = features.pair_signs.astype(seen.z.dtype)
    mine = seen.z[seen.own]
    terms = seen.terms * mine
    by_one, by_other = np.split(seen.summed(terms, along * seen.counted), 2, axis=-1)
    twice = seen.summed_each(terms, mine * seen.counted)
    s, t = one[seen.own][:, None], other[seen.own][:, None]
    interaction -= s * by_other
    interaction -= t * by_one
    interaction += 2 * s * t * twice
    if features.signs is not None:
        s, t = features.signs[:, seen.own, None].astype(seen.z.dtype)
        dependence -= s * seen.summed_each(seen.terms, mine * seen.counted)
        on_size -= t * (twice - alone)


def terms_of(
    lines: Lines | NormalLines, at: Float[np.ndarray, "n c"], dtype: np.dtype
) -> Float[np.ndarray, "term c n"]:
    """Functions of a draw's place on its line, each of mean zero when the draw comes from p."""
    n, c = at.shape
    out = np.empty((TERMS, c, n), dtype)
    by_line = out.reshape(TERMS, -1)
    by_line[_STEIN] = lines.stein_kernel(at, WAVES, dtype)
    cosines = by_line[_STEIN_OTHER]
    twice = 2 * np.cos((np.pi * lines.u.T.ravel()).astype(dtype))
    before = np.sqrt(2).astype(dtype)
    np.multiply(twice, before / 2, out=cosines[0])
    for now, after in pairwise(cosines):  # cos (k + 1) t = 2 cos t cos k t - cos (k - 1) t
        np.multiply(twice, now, out=after)
        after -= before
        before = now
    orders = ORDERS[:COSINE_TERMS, None].astype(dtype)
    np.divide(cosines[:COSINE_TERMS], orders, out=by_line[_COSINE])
    z = np.clip(lines.normal_scores.T.ravel().astype(dtype), -FARTHEST, FARTHEST)
    square = z**2
    hermite = by_line[_HERMITE]
    hermite[0] = z
    hermite[1] = (square - 1) / np.sqrt(2)
    hermite[2] = (square - 3) * z / np.sqrt(6)
    hermite[3] = ((square - 6) * square + 3) / np.sqrt(24)
    return out
