r"""Functions of a draw's place on its line, times functions of its other coordinates.

Terms are functions of u = F(x_ij): each has mean zero, given the other coordinates, when the draw
comes from p. Features are functions of the other coordinates. Sums of their products over batches
are all that the default check needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from steinwise.lines import MIDPOINTS, QUANTILES, Lines
from steinwise.random import stream
from steinwise.threads import one_blas_thread

STEIN_TERMS, COSINE_TERMS, HERMITE_TERMS = 8, 6, 4
FARTHEST = 5.0  # normal scores are clipped here
MOST_PAIRS, MOST_ALONE = 500, 500  # products, coordinates, that are looked at one by one
# random combinations of products and of coordinates, where there are more of them than these
SKETCHES, LINEAR_SKETCHES = 32, 64

TERMS = 2 * STEIN_TERMS + COSINE_TERMS + HERMITE_TERMS
_STEIN, _STEIN_OTHER = slice(0, STEIN_TERMS), slice(STEIN_TERMS, 2 * STEIN_TERMS)
_COSINE = slice(2 * STEIN_TERMS, 2 * STEIN_TERMS + COSINE_TERMS)
_HERMITE = slice(TERMS - HERMITE_TERMS, TERMS)
BASE_TERMS = {
    "shape": (_STEIN, _STEIN_OTHER),
    "shift": (_COSINE, _COSINE),
    "tails": (_HERMITE, _HERMITE),
}
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
        pairs = np.stack(np.triu_indices(d, 1), axis=1)
        if len(pairs) > MOST_PAIRS:
            chosen = stream(seed, "pairs").choice(len(pairs), MOST_PAIRS, replace=False)
            pairs = pairs[np.sort(chosen)]
        alone = np.arange(d)
        if d > MOST_ALONE:
            alone = np.sort(stream(seed, "alone").choice(d, MOST_ALONE, replace=False))
        return cls(
            d,
            pairs,
            alone,
            _signs(seed, "signs of coordinates", d, LINEAR_SKETCHES)
            if d > LINEAR_SKETCHES
            else None,
            _signs(seed, "sketch", d, SKETCHES) if d * (d - 1) // 2 > SKETCHES else None,
        )

    @property
    def contexts(self) -> dict[str, slice]:
        """Where the features of each context stand."""
        single = self.d if self.signs is None else LINEAR_SKETCHES
        ends = np.cumsum(
            [1, single, single, len(self.pairs) if self.pair_signs is None else SKETCHES]
        )
        starts = [0, *ends[:-1]]
        names = ["alone", "dependence", "dependence on size", "interaction"]
        return {name: slice(int(a), int(b)) for name, a, b in zip(names, starts, ends, strict=True)}

    @property
    def count(self) -> int:
        return self.contexts["interaction"].stop

    def bytes_per_line(self, batch: int, dtype: str) -> int:
        """Of the sums."""
        each = TERMS * self.count + 4 * len(self.alone) + len(self.pairs)
        return np.dtype(dtype).itemsize * batch * each

    def sums(self, batch: int, c: int, dtype: str) -> "Sums":
        """Sums that are all 0."""
        apart = 0 if self.signs is None else len(self.alone)
        return Sums(
            np.zeros((batch, c, TERMS, self.count), dtype),
            np.zeros((batch, c, 2, 2, apart), dtype),
            np.zeros((batch, c, len(self.pairs)), dtype),
        )

    def singles(self, sums: "Sums", context: str) -> Float[np.ndarray, "batch c term f"]:
        """The sums of single terms with single features, or products, of a context."""
        if context == "interaction":
            return sums.of_pairs[:, :, None, :]
        if self.signs is None:
            return sums.of_contexts[:, :, SINGLE_TERMS, self.contexts[context]]
        return sums.of_single[:, :, :, ["dependence", "dependence on size"].index(context)]

    def partners(self, context: str, feature: int) -> Int[np.ndarray, " k"]:
        """The coordinates of one of these features."""
        if context == "interaction":
            return self.pairs[feature % len(self.pairs)]
        return self.alone[[feature % len(self.alone)]]


def _signs(seed: object, purpose: str, d: int, count: int) -> np.ndarray:
    return stream(seed, purpose).choice([-1.0, 1.0], size=(2, d, count))


class Sums(NamedTuple):
    """Sums over batches of terms times features."""

    of_contexts: Float[np.ndarray, "batch c term feature"]  # where `Features.contexts` says
    of_single: Float[np.ndarray, "batch c 2 2 m"]  # SINGLE_TERMS times coordinates and squares,
    # where the contexts have only sketches of them
    of_pairs: Float[np.ndarray, "batch c pair"]  # PLACE times products

    def part(self, batches: slice, lines: slice = slice(None)) -> "Sums":
        """A view of some batches and lines."""
        return Sums(*(array[batches, lines] for array in self))

    def add(self, other: "Sums") -> None:
        for mine, its in zip(self, other, strict=True):
            mine += its


@one_blas_thread
def products(
    sums: Float[np.ndarray, "batch c term feature"], settings: Sequence[tuple[str, slice]]
) -> Float[np.ndarray, "setting c batch batch"]:
    """Inner products between all pairs of batches, per setting: a base, and a span of features."""
    by_line = np.swapaxes(sums, 0, 1)
    lines, batches = by_line.shape[:2]
    out = np.empty((len(settings), lines, batches, batches), sums.dtype)
    for product, (base, span) in zip(out, settings, strict=True):
        left, right = (
            by_line[:, :, terms, span].reshape(lines, batches, -1) for terms in BASE_TERMS[base]
        )
        np.matmul(left, np.swapaxes(right, 1, 2), out=product)
    return out


@one_blas_thread
def batch_products(
    out: Sums,
    lines: Lines,
    at: Float[np.ndarray, "n c"],
    others: Float[np.ndarray, "n d"],
    weight: Float[np.ndarray, "batch longest"],
    own: Int[np.ndarray, " c"],
    features: Features,
) -> None:
    """Add terms times features, summed over the draws of each batch.

    Features are the same for all lines but for the coordinate that belongs to the line itself,
    which is taken out: after the sum where they are linear in it, before it in a sketch of
    products.
    """
    dtype = out.of_contexts.dtype
    terms = _terms(lines, at, dtype)
    terms *= weight.reshape(-1, 1, 1).astype(dtype)
    terms = terms.reshape(*weight.shape, *terms.shape[1:])
    z = others.reshape(*weight.shape, -1).astype(dtype)
    keep = np.arange(features.d) != own[:, None]  # (c, d)
    pairs = features.pairs
    both = z[..., pairs[:, 0]] * z[..., pairs[:, 1]]
    kept = keep[:, pairs[:, 0]] & keep[:, pairs[:, 1]]
    of_pairs = out.of_pairs
    of_pairs += _summed(terms[..., [PLACE]], both)[:, :, 0] * kept
    of_single, of_products = np.split(
        out.of_contexts, [features.contexts["interaction"].start], axis=-1
    )
    if features.signs is None:
        kept_twice = np.concatenate([np.ones_like(keep[:, :1]), keep, keep], axis=1)
        of_single += _summed(terms, _with_squares(z)) * kept_twice[:, None, :]
    else:
        of_single += _sketched_singles(terms, z, own, features.signs.astype(dtype))
        chosen = _with_squares(z[..., features.alone])[..., 1:]
        found = _summed(terms[..., SINGLE_TERMS], chosen)
        alone = out.of_single
        alone += found.reshape(alone.shape) * keep[:, None, None, features.alone]
    if features.pair_signs is None:
        of_products += _summed(terms, both) * kept[:, None, :]
    else:
        sketched = _sketched(z, own, features.pair_signs.astype(dtype))
        of_products += terms.transpose(0, 2, 3, 1) @ sketched.transpose(0, 2, 1, 3)


def _with_squares(z: Float[np.ndarray, "*rows d"]) -> Float[np.ndarray, "*rows f"]:
    """1, the coordinates, and their squares less 1."""
    return np.concatenate([np.ones_like(z[..., :1]), z, z**2 - 1], axis=-1)


def _sketched_singles(
    terms: Float[np.ndarray, "batch longest c term"],
    z: Float[np.ndarray, "batch longest d"],
    own: Int[np.ndarray, " c"],
    signs: Float[np.ndarray, "2 d sketch"],
) -> Float[np.ndarray, "batch c term f"]:
    """Sums of terms times 1, and random signs times coordinates and squares, without a line's own.

    Both are linear in what the signs multiply: the line's own share is subtracted from the sums.
    """
    squares = z**2 - 1
    shared = np.concatenate([np.ones_like(z[..., :1]), z @ signs[0], squares @ signs[1]], axis=-1)
    out = _summed(terms, shared)
    for k, values in enumerate((z, squares)):
        mine = np.einsum("blct,blc->bct", terms, values[..., own], optimize=True)
        span = slice(1 + k * LINEAR_SKETCHES, 1 + (k + 1) * LINEAR_SKETCHES)
        out[..., span] -= mine[..., None] * signs[k, own][:, None, :]
    return out


def _summed(
    terms: Float[np.ndarray, "batch longest c term"],
    features: Float[np.ndarray, "batch longest f"],
) -> Float[np.ndarray, "batch c term f"]:
    batch, longest, *rest = terms.shape
    flat = np.swapaxes(terms.reshape(batch, longest, -1), 1, 2)
    return (flat @ features).reshape(batch, *rest, -1)


def _sketched(
    z: Float[np.ndarray, "batch longest d"],
    own: Int[np.ndarray, " c"],
    signs: Float[np.ndarray, "2 d sketch"],
) -> Float[np.ndarray, "batch longest c sketch"]:
    """Random signs times all products of two different coordinates, without a line's own."""
    mine = z[..., own, None]
    one, other, both = signs[0], signs[1], signs[0] * signs[1]
    products = (z @ one)[..., None, :] - mine * one[own]
    products *= (z @ other)[..., None, :] - mine * other[own]
    products -= (z**2 @ both)[..., None, :]
    products += mine**2 * both[own]
    return products


def _terms(
    lines: Lines, at: Float[np.ndarray, "n c"], dtype: np.dtype
) -> Float[np.ndarray, "n c term"]:
    """Functions of a draw's place on its line, each of mean zero when the draw comes from p."""
    step, here, there = lines.standardised(at, dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # the method looks for it
        # (here there + (here - there) step + 1 - step^2) exp(-step^2 / 2), in place
        stein = here - there
        stein -= step
        stein *= step
        stein += here * there + 1
        step *= step
        step *= -0.5
        stein *= np.exp(step, out=step)
    out = np.empty((*lines.u.shape, TERMS), dtype)
    np.matmul(stein, WAVES.astype(dtype), out=out[..., _STEIN])
    cosines = out[..., _STEIN_OTHER]
    before, now, twice = 1.0, np.cos(np.pi * lines.u), 2 * np.cos(np.pi * lines.u)
    for k in range(STEIN_TERMS):  # cos (k + 1) t = 2 cos t cos k t - cos (k - 1) t
        cosines[..., k] = np.sqrt(2) * now
        before, now = now, twice * now - before
    out[..., _COSINE] = cosines[..., :COSINE_TERMS] / ORDERS[:COSINE_TERMS]
    z = np.clip(ndtri(lines.u), -FARTHEST, FARTHEST)
    hermite = out[..., _HERMITE]
    hermite[..., 0] = z
    hermite[..., 1] = (z**2 - 1) / np.sqrt(2)
    hermite[..., 2] = (z**3 - 3 * z) / np.sqrt(6)
    hermite[..., 3] = (z**4 - 6 * z**2 + 3) / np.sqrt(24)
    return out
