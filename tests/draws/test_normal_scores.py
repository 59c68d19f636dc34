"""Normal scores of ranks."""

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

from steinwise.draws.normal_scores import NormalScores, rank_rows


def test_scores_have_mean_zero_and_variance_one_and_keep_the_order() -> None:
    """Catches a coordinate that is scored by another's draws."""
    x = np.random.default_rng(0).standard_cauchy(size=(200, 3)) * [1.0, 1e-6, 1e6]
    z = NormalScores.among(x)(x)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(z.std(axis=0), 1, rtol=1e-12)
    np.testing.assert_array_equal(np.argsort(z, axis=0), np.argsort(x, axis=0))


def test_ties_have_one_score() -> None:
    z = NormalScores.among(np.array([[0.0], [1.0], [1.0], [3.0]]))(np.array([[1.0]]))
    assert z[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_scores_are_constant_beyond_the_draws_and_rise_between_them() -> None:
    """Catches an extrapolation, by which one far draw would decide a sum."""
    scores = NormalScores.among(np.arange(10.0)[:, None])
    z = scores(np.array([-1e9, 0.0, 4.25, 4.75, 9.0, 1e9])[:, None])[:, 0]
    assert (z[0], z[5]) == (z[1], z[4])
    assert z[1] < z[2] < z[3] < z[4]


@pytest.mark.parametrize("offset", [0.375, 0.5])
def test_scores_of_ranks_are_those_of_scipy(offset: float) -> None:
    """Catches ties that are ranked in the order of the draws, in some rows or in all."""
    rows = np.random.default_rng(1).normal(size=(3, 40))
    rows[1] = rows[1].round()
    rows[2] = 7.0
    ranks = rankdata(rows, axis=1)
    expected = ndtri((ranks - offset) / (41 - 2 * offset))
    ranked = rank_rows(rows, offset)
    np.testing.assert_allclose(ranked.in_place(), expected, atol=1e-14)
    np.testing.assert_array_equal(ranked.values, np.sort(rows, axis=1))


def test_the_draws_own_scores_are_those_that_they_get_when_they_come_again() -> None:
    x = np.random.default_rng(2).normal(size=(50, 2)).round(1)
    scores, own = NormalScores.with_own(x)
    np.testing.assert_array_equal(own, scores(x).T)
