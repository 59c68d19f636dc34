"""Terms of discrete draws: averages over a step, and what right draws lead to expect of them."""

import numpy as np
import pytest
from scipy import integrate
from scipy.special import ndtri

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


def test_sums_know_the_covariance_that_right_draws_have() -> None:
    """Catches the covariance of the draws themselves, which is none where a value is missing."""
    terms = terms_of_outcomes(OUTCOMES, np.array([0.0, 1.0, 4.0]))
    sums = OutcomeSums.of(OUTCOMES, terms, 1e-6)
    expected = np.einsum("nk,ank,bnk->ab", P, terms, terms)
    np.testing.assert_allclose(sums.covariance[0], expected)
    assert sums.covariance.shape == (1, STEP_TERMS.count, STEP_TERMS.count)
    both = sums.joined(sums)
    assert both.shares[0].counts.tolist() == [0.0, 2.0, 2.0]
    np.testing.assert_allclose(both.shares[0].expected, 2 * P.sum(axis=0))
