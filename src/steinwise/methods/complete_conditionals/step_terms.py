r"""Functions of a discrete draw's place, each of mean zero when the draw comes from p.

A discrete draw has no single place u but a step of the distribution function, from F(x-) to F(x).
A function of u averaged over that step,

.. math:: \varphi(x) = \frac{1}{p(x)} \int_{F(x-)}^{F(x)} \varphi_b(u) \, du,

has mean zero exactly. A place drawn at random within the step would do so too, but its noise hides
most faults: of draws from Bernoulli(0.04) for Bernoulli(0.02), 1000 of them, it finds 0.16 where
averages find 0.90.

The same times h, the mean of the coordinate given the others, has mean zero as well: h depends on
the others alone. It shows whether the coordinate follows the others as strongly as it should, in
one function where the others one by one are many: of an Ising model of 25 spins whose coupling is a
tenth too strong, 1000 draws, it finds 0.95 where they find 0.20. What h is centred and scaled by
must depend on the others alone too: `standardising` sees to that when all draws have been seen.
"""

import math

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from steinwise.methods.complete_conditionals.terms import (
    COSINE_TERMS,
    HERMITE_TERMS,
    LARGEST_NORMAL_SCORE,
    TermLayout,
)

_COSINE, _HERMITE = slice(0, COSINE_TERMS), slice(COSINE_TERMS, COSINE_TERMS + HERMITE_TERMS)
_STRENGTH = slice(_HERMITE.stop, _HERMITE.stop + COSINE_TERMS)
STEP_TERMS = TermLayout(
    _STRENGTH.stop,
    {
        "strength": (_STRENGTH, _STRENGTH),
        "shift": (_COSINE, _COSINE),
        "tails": (_HERMITE, _HERMITE),
    },
    slice(0, 2),
    {},
)
SMALLEST_STEP = 1e-8  # below it the average over a step is the value at its middle


def step_terms(
    below: Float[np.ndarray, "n k"],
    p: Float[np.ndarray, "n k"],
    above: Float[np.ndarray, "n k"],
    h: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "term n k"]:
    """The terms of values with probability p, with `below` and `above` of it on either side."""
    out = np.empty((STEP_TERMS.count, *p.shape))
    middle = below + p / 2
    for b in range(1, COSINE_TERMS + 1):
        # sin pi b F(x) - sin pi b F(x-), without the loss of digits; weighted by 1/b
        average = np.cos(np.pi * b * middle) * np.sinc(b * p / 2)
        out[b - 1] = np.sqrt(2) * average / b
    low, high = _normal_score(below, p + above), _normal_score(below + p, above)
    small = p < SMALLEST_STEP
    step = np.where(small, 1.0, p)
    at_middle = np.clip(
        _normal_score(middle, p / 2 + above), -LARGEST_NORMAL_SCORE, LARGEST_NORMAL_SCORE
    )
    ends = (_hermite(low, weighted=True), _hermite(high, weighted=True))
    values = _hermite(at_middle, weighted=False)
    for b in range(1, HERMITE_TERMS + 1):
        average = np.where(small, values[b], (ends[0][b - 1] - ends[1][b - 1]) / step)
        out[COSINE_TERMS + b - 1] = average / math.sqrt(math.factorial(b))
    out[_STRENGTH] = out[_COSINE] * h[:, None]
    return out


def standardising(
    centre: Float[np.ndarray, " c"], unit: Float[np.ndarray, " c"]
) -> Float[np.ndarray, "c term term"]:
    """What takes terms with h to those with (h - centre) / unit; the others stay as they are."""
    matrix = np.tile(np.eye(STEP_TERMS.count), (len(centre), 1, 1))
    matrix[:, _STRENGTH, _STRENGTH] /= unit[:, None, None]
    matrix[:, _STRENGTH, _COSINE] = -(centre / unit)[:, None, None] * np.eye(COSINE_TERMS)
    return matrix


VARIANCES = 4  # that `term_variances` gives


def term_variances(
    terms: Float[np.ndarray, "term n k"],
    p: Float[np.ndarray, "n k"],
    h: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "4 n"]:
    """The variances of the terms of each draw, summed over a base: of cosines, of these times h and
    times h^2, of Hermite polynomials.
    """
    cosine, hermite = (
        np.einsum("tnk,tnk,nk->n", terms[base], terms[base], p) for base in (_COSINE, _HERMITE)
    )
    return np.stack([cosine, cosine * h, cosine * h**2, hermite])


def _normal_score(below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """The normal quantile of `below`, from the smaller of the two sides."""
    return np.where(below <= above, ndtri(np.clip(below, 0, 1)), -ndtri(np.clip(above, 0, 1)))


def _hermite(z: np.ndarray, *, weighted: bool) -> list[np.ndarray]:
    """He_0 to He_4; or, weighted, each times the normal density, which is 0 at infinity."""
    finite = np.where(np.isfinite(z), z, 0.0)
    weight = np.where(np.isfinite(z), np.exp(-(finite**2) / 2) / np.sqrt(2 * np.pi), 0.0)
    polynomials = [np.ones_like(finite), finite]
    for b in range(1, HERMITE_TERMS):
        polynomials.append(finite * polynomials[b] - b * polynomials[b - 1])
    return [he * weight for he in polynomials] if weighted else polynomials
