"""Functions of a draw's place on its line, each of mean zero when the draw comes from p."""

from itertools import pairwise

import numpy as np
from jaxtyping import Float

from steinwise.orbits.lines import MIDPOINTS, QUANTILES, Lines, NormalLines

# How many terms each base has. A review of 27 alternatives at n = 30 to 400 took ten cosines with
# weights 1/b^2 and the Hermite polynomials 1 to 4; cosines beyond the sixth weigh below 1/36.
STEIN_TERMS, COSINE_TERMS, HERMITE_TERMS = 8, 6, 4
LARGEST_NORMAL_SCORE = 5.0  # normal scores are clipped here, beyond which u has lost its digits

TERMS = 2 * STEIN_TERMS + COSINE_TERMS + HERMITE_TERMS
_STEIN, _STEIN_OTHER = slice(0, STEIN_TERMS), slice(STEIN_TERMS, 2 * STEIN_TERMS)
_COSINE = slice(2 * STEIN_TERMS, 2 * STEIN_TERMS + COSINE_TERMS)
_HERMITE = slice(TERMS - HERMITE_TERMS, TERMS)
# the terms of the two draws of a pair, by base
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
    z = np.clip(
        lines.normal_scores.T.ravel().astype(dtype), -LARGEST_NORMAL_SCORE, LARGEST_NORMAL_SCORE
    )
    square = z**2
    hermite = by_line[_HERMITE]
    hermite[0] = z
    hermite[1] = (square - 1) / np.sqrt(2)
    hermite[2] = (square - 3) * z / np.sqrt(6)
    hermite[3] = ((square - 6) * square + 3) / np.sqrt(24)
    return out
