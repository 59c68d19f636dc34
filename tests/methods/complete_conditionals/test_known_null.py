"""Correct draws of a single coordinate are simulated: the level, the statistics, what is found."""

import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise.calibration.batches import even_batches
from steinwise.methods.complete_conditionals import statistic
from steinwise.methods.complete_conditionals.features import CONTEXTS
from steinwise.methods.complete_conditionals.known_null import (
    _OutcomeTerms,
    _over_pairs,
    simulated_calibration,
)
from steinwise.methods.complete_conditionals.outcome_sums import OutcomeSums, terms_of_outcomes
from steinwise.methods.complete_conditionals.step_terms import STEP_TERMS
from steinwise.methods.complete_conditionals.terms import PLACE_TERMS, terms_of
from steinwise.orbits.finite import Outcomes
from steinwise.orbits.places import Places

BASES = ("shape", "shift", "tails")
RARE = 0.02


def sums_of(outcomes: Outcomes, scale: np.ndarray, terms: np.ndarray) -> OutcomeSums:
    """Of a coordinate without others."""
    features = np.ones((len(CONTEXTS), len(outcomes.drawn)))
    return OutcomeSums.of(outcomes, scale, terms, 0.0, features)


def test_the_sum_over_pairs():
    """All pairs of batches one by one."""
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(2, 1, 7, 3))
    batches = even_batches(1, 14, 7, independent=True)
    matrix = left[0] @ right[0].T
    assert _over_pairs(left, right)[0] == pytest.approx(matrix[batches.allowed].sum())


def _pvalue(sums, layout, bases, batches, outcomes, seed):
    found = simulated_calibration(sums, layout, bases, batches, outcomes, "alone", 99, seed)
    return found.pvalue


def test_the_level_is_exact_with_twenty_draws():
    """P(p <= 0.1) = 0.1 and P(p <= 0.5) = 0.5: 300 repetitions, four standard errors of both.

    Catches terms that are scaled by the draws, and simulations that are not those of the draws.
    """
    batches = even_batches(1, 20, 20, independent=True)
    rng, pvalues = np.random.default_rng(1), []
    for seed in range(300):
        places = Places.of_normal_scores(rng.normal(size=(20, 1)))
        sums = terms_of(places, np.dtype(float))[:, 0].T
        pvalues.append(_pvalue(sums, PLACE_TERMS, BASES, batches, None, seed))
    for level in (0.1, 0.5):
        error = np.sqrt(level * (1 - level) / 300)
        assert abs(np.mean(np.array(pvalues) <= level) - level) < 4 * error


def _rare(draws):
    p = np.tile([1 - RARE, RARE], (len(draws), 1))
    return Outcomes(np.array([0.0, 1.0]), p, draws)


def test_the_terms_of_outcomes_are_those_of_the_draws():
    """A discrete coordinate's table of terms, from sums over draws, and the shares of its draws."""
    outcomes = _rare(np.array([0, 1, 0, 0]))
    terms = terms_of_outcomes(outcomes, np.array([0.0, 1.0]))
    made = _OutcomeTerms(sums_of(outcomes, np.array([0.0, 1.0]), terms))
    chosen = slice(STEP_TERMS.bases["tails"][0].stop)  # without what follows others: there are none
    np.testing.assert_allclose(made.terms[chosen], terms[chosen, 0], rtol=1e-12)
    drawn = made(np.random.default_rng(0), 500, 40)
    assert abs(np.mean(drawn[0] == made.terms[0, 1]) - RARE) < 4 * np.sqrt(RARE / 20_000)


def test_the_level_with_a_rare_outcome():
    """Bernoulli(0.02), 200 draws: some 4 of them are 1, and few statistics are possible.

    300 repetitions. Catches simulations of other probabilities than those of the draws.
    """
    batches = even_batches(1, 200, 50, independent=True)
    rng, hits = np.random.default_rng(2), []
    for seed in range(300):
        draws = rng.binomial(1, RARE, size=200)
        outcomes = _rare(draws)
        terms = terms_of_outcomes(outcomes, np.array([0.0, 1.0]))
        of_draws = terms[:, 0, draws]
        sums = np.add.reduceat(of_draws, batches.bounds[:-1], axis=1).T
        summary = sums_of(outcomes, np.array([0.0, 1.0]), terms)
        hits.append(_pvalue(sums, STEP_TERMS, ("shift", "tails"), batches, summary, seed) <= 0.1)
    low, high = stats.binom(300, 0.1).ppf([1e-4, 1 - 1e-4]) / 300
    assert low / 2 < np.mean(hits) < high


def test_draws_far_out_do_not_widen_their_own_null():
    """Three of a hundred at 4 standard deviations, which random signs mostly miss."""
    found = []
    for seed in range(8):
        draws = np.random.default_rng(seed).normal(size=(100, 1))
        draws[:3] = 4.0
        found.append(sw.check(draws, sw.Gaussian([0.0], [[1.0]]), seed=seed).rejected)
    assert sum(found) >= 7


@pytest.mark.parametrize("kind", ["shift", "spread"])
def test_what_is_detectable_is_detected_about_that_often(kind):
    """Catches a promise that is off by a factor: power 0.8 is 0.6 and more here."""
    target = sw.Gaussian([0.0], [[1.0]])
    promised = sw.check(np.random.default_rng(3).normal(size=(300, 1)), target).findings.detectable

    def detected(share):
        """Of 20, with a share of the promised effect."""
        shift = share * promised.conditional_shift if kind == "shift" else 0.0
        spread = 1 + share * (promised.conditional_spread - 1) if kind == "spread" else 1.0
        draws = [np.random.default_rng([4, seed]).normal(size=(300, 1)) for seed in range(20)]
        checks = (sw.check(spread * z + shift, target, seed=s) for s, z in enumerate(draws))
        return sum(check.rejected for check in checks)

    assert detected(1.0) >= 12
    assert detected(0.5) <= 10


@pytest.mark.parametrize("p", [0.5, 0.02])
def test_terms_that_are_zero_but_for_rounding_say_nothing(p):
    """Even polynomials of a fair coin: their rounding errors would be judged as a statistic.

    With and without a tiny error of the probabilities, the p-values of all counts are the same.
    """
    batches = even_batches(1, 60, 60, independent=True)
    for ones in (0, 1, 25, 30, 36):
        draws = np.repeat([1, 0], [ones, 60 - ones])
        found = []
        for error in (0.0, 1e-13):
            outcomes = Outcomes(
                np.array([0.0, 1.0]), np.tile([1 - p - error, p + error], (60, 1)), draws
            )
            scale = np.array([0.0, 1.0])
            terms = terms_of_outcomes(outcomes, scale)
            summary = sums_of(outcomes, scale, terms)
            bases = ("strength", "shift", "tails")
            sums = terms[:, 0, draws].T
            found.append(_pvalue(sums, STEP_TERMS, bases, batches, summary, 0))
        assert found[0] == found[1]


@pytest.mark.parametrize(
    ("shape", "simulated"), [((100, 1), True), ((100, 2), False), ((1, 400, 1), False)]
)
def test_where_the_null_is_known(monkeypatch, shape, simulated):
    """Places of several coordinates depend on each other, and so do those of a chain."""
    calls = []

    def counted(*args):
        calls.append(args)
        return simulated_calibration(*args)

    monkeypatch.setattr(statistic, "simulated_calibration", counted)
    d = shape[-1]
    draws = np.random.default_rng(3).normal(size=shape)
    sw.check(draws, sw.Gaussian(np.zeros(d), np.eye(d)))
    assert len(calls) == simulated
