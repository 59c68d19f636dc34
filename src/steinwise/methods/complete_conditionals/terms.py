"""Functions of a draw's place on its line, each of mean zero when the draw comes from p."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from steinwise._internal.memory import chunks
from steinwise.orbits.places import Places
from steinwise.orbits.quantiles import MIDPOINTS, NORMAL_QUANTILES, QUANTILES


@dataclass(frozen=True)
class TermLayout:
    """Which of a draw's terms belong to which base."""

    count: int
    bases: Mapping[str, tuple[slice, slice]]  # the terms of the two draws of a pair
    # the terms for place and spread, which are also multiplied with single features; with products
    # of two coordinates only the first
    single: slice
    # of a base's terms, on both sides; 1 where it has none. Bases share terms, and so their sums.
    weights: Mapping[str, Float[np.ndarray, " term"]]

    @property
    def place(self) -> int:
        return self.single.start

    def sides(
        self, base: str, terms: Float[np.ndarray, "*before term f"]
    ) -> tuple[Float[np.ndarray, "*before left f"], Float[np.ndarray, "*before right f"]]:
        """The terms of the two draws of a pair, from all terms on the axis but one.

        The weights of both sides are on the first: only products of the two are used.
        """
        left, right = (terms[..., side, :] for side in self.bases[base])
        if base not in self.weights:
            return left, right
        weights = self.weights[base][:, None].astype(terms.dtype)
        return left * weights**2, right


# How many terms each base has. A review of 27 alternatives at n = 30 to 400 took ten cosines with
# weights 1/b^2 and the Hermite polynomials 1 to 4; cosines beyond the sixth weigh below 1/36.
STEIN_TERMS, COSINE_TERMS, HERMITE_TERMS = 8, 6, 4
LARGEST_NORMAL_SCORE = 5.0  # normal scores are clipped here, beyond which u has lost its digits

TERMS = 2 * STEIN_TERMS + HERMITE_TERMS
_STEIN, _STEIN_OTHER = slice(0, STEIN_TERMS), slice(STEIN_TERMS, 2 * STEIN_TERMS)
_COSINE = slice(STEIN_TERMS, STEIN_TERMS + COSINE_TERMS)  # the first of the cosines
_HERMITE = slice(TERMS - HERMITE_TERMS, TERMS)
# the terms of the two draws of a pair, by base
BASE_TERMS = {
    "shape": (_STEIN, _STEIN_OTHER),
    "shift": (_COSINE, _COSINE),
    "tails": (_HERMITE, _HERMITE),
}
ORDERS = np.arange(1, STEIN_TERMS + 1)
PLACE_TERMS = TermLayout(
    TERMS,
    BASE_TERMS,
    slice(_COSINE.start, _COSINE.start + 2),
    {"shift": 1 / ORDERS[:COSINE_TERMS]},
)
# the mean square of <m(u), o(u')> of two correct draws, for bases whose terms are skewed
SKEWED = {"tails": HERMITE_TERMS}
# the integral over v of a function on the quantiles, times a cosine of v
WAVES = np.sqrt(2) * np.cos(np.pi * MIDPOINTS[:, None] * ORDERS) / QUANTILES


# Entries of one array in the loop over the quantiles, 256 kB in float64: a few such arrays fit into
# a processor's second-level cache. Changes the time only.
ENTRIES_AT_ONCE = 2**15


def terms_of(places: Places, dtype: np.dtype) -> Float[np.ndarray, "term c n"]:
    """Functions of a draw's place on its line, each of mean zero when the draw comes from p.

    All are functions of u alone. So an error of u is all that can bias them: a Stein kernel with
    the line's own quantiles, which are found from nodes or a series around the draw, had up to 50
    times that error in its mean.
    """
    n, c = places.u.shape
    out = np.empty((TERMS, c, n), dtype)
    by_line = out.reshape(TERMS, -1)
    z = places.normal_scores.T.ravel().astype(dtype)
    by_line[_STEIN] = stein_kernel_of_normal(z, WAVES)
    cosines = by_line[_STEIN_OTHER]
    twice = 2 * np.cos((np.pi * places.u.T.ravel()).astype(dtype))
    before = np.sqrt(2).astype(dtype)
    np.multiply(twice, before / 2, out=cosines[0])
    for now, after in pairwise(cosines):  # cos (k + 1) t = 2 cos t cos k t - cos (k - 1) t
        np.multiply(twice, now, out=after)
        after -= before
        before = now
    z = np.clip(z, -LARGEST_NORMAL_SCORE, LARGEST_NORMAL_SCORE)
    square = z**2
    hermite = by_line[_HERMITE]
    hermite[0] = z
    hermite[1] = (square - 1) / np.sqrt(2)
    hermite[2] = (square - 3) * z / np.sqrt(6)
    hermite[3] = ((square - 6) * square + 3) / np.sqrt(24)
    return out


def stein_kernel_of_normal(
    z: Float[np.ndarray, " m"], weights: Float[np.ndarray, "k w"]
) -> Float[np.ndarray, "w m"]:
    """Weighted sums over the quantiles of N(0, 1) of a Stein kernel between z and a quantile.

    The base kernel is RBF with bandwidth 1. Between z and a quantile q the Stein kernel is
    (1 - 2 q^2 + 5 q z - 2 z^2) exp(-q^2 / 2 + q z - z^2 / 2).
    """
    q, dtype = NORMAL_QUANTILES[:, None], z.dtype
    exponents = np.concatenate([-(q**2) / 2, q, np.full_like(q, -0.5)], axis=1).astype(dtype)
    factors = np.concatenate([(1 - 2 * q**2) * weights, 5 * q * weights, -2 * weights], axis=1)
    factors = factors.T.astype(dtype)
    out = np.empty((weights.shape[1], len(z)), dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # the method checks its statistic
        powers = np.stack([np.ones_like(z), z, z**2])
        for columns in chunks(len(z), ENTRIES_AT_ONCE // QUANTILES):
            kernel = exponents @ powers[:, columns]
            np.exp(kernel, out=kernel)
            by_power = (factors @ kernel).reshape(3, -1, kernel.shape[1])
            by_power *= powers[:, None, columns]
            np.sum(by_power, axis=0, out=out[:, columns])
    return out
