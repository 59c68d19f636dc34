r"""Functions of a draw's score, each of mean zero when the draw comes from p.

For any smooth function g of a coordinate, s g + g' has mean zero given all other coordinates
(Stein). With z the coordinate on a scale where its draws look normal (`NormalMap`), s the score on
that scale and

.. math:: g_b(z) = \sqrt 2 \, \frac{\sin \pi b \Phi(z)}{\pi b \, \varphi(z)}, \qquad
    a_b = s g_b + g_b' = \sqrt 2 \cos \pi b \Phi(z) + (s + z) g_b(z).

Where the coordinate is normal and independent of the others s is -z, and the term is the cosine of
u that the lines would give. g_b falls off like 1 / z, so far draws do not decide: where scores are
skewed or heavy-tailed, s times a function that does not fall off rejects right draws (0.23 instead
of 0.05 for logs of Gamma(0.5) with 50 draws), and polynomials do so even for a correlated normal.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import erfcx, ndtr

from steinwise.methods.complete_conditionals.terms import TermLayout

# The orders b of the terms, each of which is put on variance 1. Odd orders see a shift, even ones a
# spread; "shape" has all four with equal weights.
ORDERS = np.array([1, 3, 4, 2])
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
    above, distance = z > 0, np.abs(z)
    tail = ndtr(-distance)
    # (1 - Phi) / phi, at any distance, times sin(pi tail) / (pi tail)
    mills = np.sqrt(np.pi / 2) * erfcx(distance / np.sqrt(2)) * np.sinc(tail)
    cosine = np.cos(np.pi * tail)
    # of b pi tail the cosine is T_b of it, and the sine over that of pi tail U_{b-1} (Chebyshev)
    square = cosine**2
    first = {1: cosine, 2: 2 * square - 1, 3: (4 * square - 3) * cosine}
    first[4] = 2 * first[2] ** 2 - 1
    second = {1: 1.0, 2: 2 * cosine, 3: 4 * square - 1, 4: 4 * cosine * first[2]}
    by_departure = departure * mills
    out = np.empty((len(ORDERS), *z.shape))
    for k, b in enumerate(ORDERS.tolist()):
        # above 0, cos and sin of pi b Phi follow from those of pi b (1 - Phi)
        term = first[b] if b % 2 == 0 else np.where(above, -first[b], first[b])
        of_sine = np.sqrt(2) / b * second[b] * by_departure
        term = np.sqrt(2) * term
        out[k] = term + (np.where(above, -of_sine, of_sine) if b % 2 == 0 else of_sine)
    return out
