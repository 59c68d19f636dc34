"""Ranks, their p-values and the sequential rule."""

import numpy as np
from scipy import stats

from steinwise.testing.rank_test import STAGES, grouped, look_again, uniform_ranks, uniformity


def test_ranks_are_uniform_even_where_most_values_are_equal():
    """Catches ties that are broken in one direction."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 3, size=(4000, 6)).astype(float)
    ranks = uniform_ranks(values[:, 0], values[:, 1:], rng)
    assert stats.kstest(ranks, "uniform").pvalue > 1e-3
    assert 0 <= ranks.min() < ranks.max() <= 1


def test_values_that_rounding_may_have_parted_are_equal():
    values = np.array([[1.0, 1.0 + 1e-9, 2.0, -np.inf], [np.inf, 3.0, np.inf, 3.0 - 1e-9]])
    groups = grouped(values, 1e-8)
    assert groups.tolist() == [[1, 1, 2, 0], [1, 0, 1, 0]]
    assert grouped(values, 0.0).tolist() == [[1, 2, 3, 0], [2, 1, 2, 0]]
    large = 1e7 + np.arange(8.0)[None]  # a coarse function: its steps are what it has
    assert grouped(large, 1e-3).tolist() == [list(range(8))]


def test_ranks_see_a_shift():
    rng = np.random.default_rng(0)
    ranks = uniform_ranks(rng.normal(size=200) + 1, rng.normal(size=(200, 9)), rng)
    assert uniformity(ranks[:, None])[0] < 1e-6


def test_alarms_are_as_rare_as_stated():
    """Catches thresholds that do not add up: 3000 tests of three uniform p-values at 0.1."""
    rng = np.random.default_rng(0)
    verdicts = [look_again(lambda _: rng.uniform(size=3), 0.1) for _ in range(3000)]
    alarms = sum(verdict.alarm for verdict in verdicts)
    assert stats.binom.cdf(alarms, 3000, 0.1) < 0.999
    assert alarms > 150  # nor is the rule idle
    assert max(verdict.stages for verdict in verdicts) <= STAGES


def test_clear_cases_end_at_once():
    assert look_again(lambda _: np.array([0.9]), 1e-5)[:2] == (False, 1)
    assert look_again(lambda _: np.array([1e-9]), 1e-5)[:2] == (True, 1)
    assert look_again(lambda _: np.array([0.1]), 1e-5)[:2] == (True, STAGES)
