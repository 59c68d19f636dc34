"""Terms of discrete draws: averages over a step, and what correct draws lead to expect of them."""

import numpy as np
import pytest
from scipy import integrate
from scipy.special import ndtri

from steinwise.methods.complete_conditionals.features import CONTEXTS
from steinwise.methods.complete_conditionals.outcome_sums import OutcomeSums, terms_of_outcomes
from steinwise.methods.complete_conditionals.step_terms import STEP_TERMS, step_terms
from steinwise.orbits.finite import Outcomes

P = np.array([[0.1, 0.2, 0.7], [1e-3, 0.999 - 1e-10, 1e-10]])
OUTCOMES = Outcomes(np.array([0.0, 1.0, 4.0]), P, np.array([2, 1]))


def test_terms_are_averages_over_the_step() -> None:
    """Catches a cosine or polynomial of another order, sign or weight."""
    terms = step_terms(OUTCOMES.below, P, OUTCOMES.above, np.zeros(2))
    polynomials = [
        lambda z: z,
        lambda z: (z**2 - 1) / np.sqrt(2),
        lambda z: (z**3 - 3 * z) / np.sqrt(6),
        lambda z: (z**4 - 6 * z**2 + 3) / np.sqrt(24),
    ]
    functions = [lambda u, b=b: np.sqrt(2) * np.cos(np.pi * b * u) / b for b in range(1, 7)]
    functions += [lambda u, he=he: he(ndtri(u)) for he in polynomials]
    edges = np.array([0.0, 0.1, 0.3, 1.0])
    for function, term in zip(functions, terms[:, 0], strict=False):
        for k in range(3):
            average = integrate.quad(function, edges[k], edges[k + 1], limit=200)[0] / P[0, k]
            assert term[k] == pytest.approx(average, abs=2e-6)


def test_their_mean_is_zero_however_rare_an_outcome_is() -> None:
    """Catches a mean of the terms, by which every right sample would be rejected."""
    terms = terms_of_outcomes(OUTCOMES, np.array([0.0, 1.0, 4.0]))
    np.testing.assert_allclose((terms * P).sum(axis=2), 0.0, atol=1e-6)


def test_sums_know_how_large_correct_draws_make_them() -> None:
    """Catches squares of the draws themselves, which are next to none where a value is missing."""
    draws = np.array([0.0, 1.0, 4.0])
    terms = terms_of_outcomes(OUTCOMES, draws)
    features = np.random.default_rng(0).random((len(CONTEXTS), len(P)))
    sums = OutcomeSums.of(OUTCOMES, draws, terms, 1e-6, features)
    standardised = np.einsum("st,tnk->snk", sums.standardising[0], terms)
    for base, (side, _) in STEP_TERMS.bases.items():
        for context, weight in enumerate(features):
            expected = np.einsum("nk,tnk,n->", P, standardised[side] ** 2, weight)
            np.testing.assert_allclose(sums.known_sizes(base, context), expected)
    both = sums.joined(sums)
    assert both.shares[0].counts.tolist() == [0.0, 2.0, 2.0]
    np.testing.assert_allclose(both.shares[0].expected, 2 * P.sum(axis=0))
    np.testing.assert_allclose(both.known_sizes("tails", 1), 2 * sums.known_sizes("tails", 1))


def test_strength_is_none_where_nothing_is_followed() -> None:
    """Means that differ by rounding alone are one mean: their differences are no feature."""
    p = np.tile(P[:1], (len(P), 1)) * (1 + 1e-15 * np.arange(len(P)))[:, None]
    alike = Outcomes(OUTCOMES.values, p, OUTCOMES.drawn)
    draws = np.array([0.0, 1.0, 4.0])
    terms = terms_of_outcomes(alike, draws)
    sums = OutcomeSums.of(alike, draws, terms, 1e-6, np.ones((len(CONTEXTS), len(P))))
    side = STEP_TERMS.bases["strength"][0]
    assert not np.einsum("st,tnk->snk", sums.standardising[0], terms)[side].any()
    assert sums.known_sizes("strength", 0) == 0


def test_strength_depends_on_the_others_alone() -> None:
    """Catches a scale from the coordinate itself: 50 correct draws were rejected at a rate of 0.25.

    Whatever draws the terms were scaled by, they are those of means given the others, less their
    own mean, in units of the standard deviation that correct draws have.
    """
    made = []
    for draws in (np.array([0.0, 1.0, 4.0]), np.array([0.0, 0.0, 1.0])):
        terms = terms_of_outcomes(OUTCOMES, draws)
        sums = OutcomeSums.of(OUTCOMES, draws, terms, 1e-6, np.ones((len(CONTEXTS), len(P))))
        made.append(np.einsum("st,tnk->snk", sums.standardising[0], terms))
    np.testing.assert_allclose(made[0], made[1], atol=1e-12)
    means = P @ OUTCOMES.values
    unit = np.sqrt((P @ OUTCOMES.values**2).mean() - means.mean() ** 2)
    cosines, strength = (STEP_TERMS.bases[base][0] for base in ("shift", "strength"))
    expected = made[0][cosines] * ((means - means.mean()) / unit)[:, None]
    np.testing.assert_allclose(made[0][strength], expected, atol=1e-12)
    np.testing.assert_allclose(made[0][: strength.start], terms[: strength.start])
