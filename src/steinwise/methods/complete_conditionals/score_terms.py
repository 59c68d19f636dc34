r"""Functions of a draw's score, each of mean zero when the draw comes from p.

For any smooth function g of a coordinate, s g + g' has mean zero given all other coordinates
(Stein). With z the coordinate on a scale where its draws look normal (`NormalMap`), s the score on
that scale and

.. math:: g_b(z) = \sqrt 2 \, \frac{\sin \pi b \Phi(z)}{\pi b \, \varphi(z)}, \qquad
    a_b = s g_b + g_b' = \sqrt 2 \cos \pi b \Phi(z) + (s + z) g_b(z).

Where the coordinate is normal and independent of the others s is -z, and the term is the cosine of
u that the lines would give. g_b falls off like 1 / z, so far draws do not decide: where scores are
skewed or heavy-tailed, s times a function that does not fall off rejects correct draws (0.23
instead of 0.05 for logs of Gamma(0.5) with 50 draws), and polynomials do so even for a correlated
normal.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import erfcx, ndtr

from steinwise.methods.complete_conditionals.terms import TermLayout

# The orders b of the terms, each of which is put on variance 1. Odd orders see a shift, even ones a
# spread; "shape" has all four with equal weights.
ORDERS = np.array([1, 3, 4, 2])
FAR = 30.0  # beyond, sin(pi Phi) is pi (1 - Phi) to all digits, and both soon are 0
SCORE_TERMS = TermLayout(
    len(ORDERS),
    {
        "shift": (slice(0, 2), slice(0, 2)),
        "spread": (slice(2, 4), slice(2, 4)),
        "shape": (slice(0, 4), slice(0, 4)),
    },
    slice(0, 4, 3),
    {"shift": np.array([1.0, 1 / 3]), "spread": np.array([1 / 2, 1.0])},
)


def score_terms(
    z: Float[np.ndarray, "n c"], score: Float[np.ndarray, "n c"]
) -> Float[np.ndarray, "term c n"]:
    """The terms of draws at z with these scores, both on the scale of z; not yet of variance 1."""
    z, departure = z.T, (score + z).T
    distance = np.abs(z)
    half = np.sin(np.pi / 2 * ndtr(-distance))  # of half the angle: the whole one's follow from it
    cosine, sine = 1 - 2 * half**2, 2 * half * np.sqrt(1 - half**2)
    cosine = np.where(z > 0, -cosine, cosine)  # of pi Phi
    wave = np.sqrt(2 / np.pi) * sine * np.exp(0.5 * np.minimum(distance, FAR) ** 2)
    far = distance > FAR
    wave[far] = np.sqrt(np.pi / 2) * erfcx(distance[far] / np.sqrt(2))
    by_departure = departure * wave
    # of b pi Phi the cosine is T_b of that of pi Phi, and the sine U_{b-1} times (Chebyshev)
    square = cosine**2
    first = {1: cosine, 2: 2 * square - 1, 3: (4 * square - 3) * cosine}
    first[4] = 2 * first[2] ** 2 - 1
    second = {1: 1.0, 2: 2 * cosine, 3: 4 * square - 1, 4: 4 * cosine * first[2]}
    out = np.empty((len(ORDERS), *z.shape))
    for k, b in enumerate(ORDERS.tolist()):
        np.multiply(second[b], by_departure, out=out[k])
        out[k] *= 1 / b
        out[k] += first[b]
    out *= np.sqrt(2)
    return out
