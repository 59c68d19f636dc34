"""Lambda-PSD: against its formulas written out draw by draw."""

import numpy as np
import pytest
from scipy.stats import norm

import steinwise as sw
from steinwise.methods.lambda_psd import LambdaPSD, best_weights

TARGET = sw.Gaussian(np.zeros(2), np.array([[1.0, 0.4], [0.4, 2.0]]))


def draws(n: int) -> np.ndarray:
    return np.random.default_rng(7).normal(0.1, 1.2, size=(n, 2))


def z_by_hand(x: np.ndarray, powers: int) -> float:
    """15 % of the draws for the matrices, 15 % for the weights, and the rest for z."""
    s, n = TARGET.score(x), len(x)
    first, second, tested = np.split(np.arange(n), [round(0.15 * n), round(0.3 * n)])

    def operator(i: int, k: int) -> np.ndarray:
        return np.outer(s[i], x[i] ** k) + k * np.diag(x[i] ** (k - 1))

    means = [np.mean([operator(i, k) for i in first], axis=0) for k in range(1, powers + 1)]
    constant = s[first].mean(axis=0)
    length = np.sqrt(sum((m**2).sum() for m in means) + (constant**2).sum())

    def terms(i: int) -> list[float]:
        by_power = [(operator(i, k) * m).sum() for k, m in enumerate(means, 1)]
        return [s[i] @ constant / length, *(term / length for term in by_power)]

    learned = np.array([terms(i) for i in second])
    covariance = np.atleast_2d(np.cov(learned.T))
    weights = np.linalg.solve(covariance, learned.mean(axis=0))
    u = np.array([terms(i) for i in tested]) @ weights
    return float(np.sqrt(len(u)) * u.mean() / u.std(ddof=1))


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_the_published_test(degree: int) -> None:
    """Catches an operator without its derivative, draws used twice, and a one-sided p-value."""
    x = draws(200)
    found = sw.check(x, TARGET, method=LambdaPSD(degree, standardise=False))
    z = z_by_hand(x, powers=degree - 1)
    assert found.statistic == pytest.approx(abs(z))
    assert found.pvalue == pytest.approx(2 * norm.sf(abs(z)))
    assert found.draws.held_out == 60


def test_weights_have_the_largest_signal_against_noise() -> None:
    """Catches an inverse of the wrong matrix, and terms of unlike sizes that lose their digits."""
    rng = np.random.default_rng(1)
    terms = (rng.normal(size=(100, 3)) @ rng.normal(size=(3, 3)) + 0.3) * [1.0, 1e8, 1e-8]

    def ratio(weights: np.ndarray) -> float:
        u = terms @ weights
        return float(u.mean() ** 2 / u.var())

    best = best_weights(terms)
    others = rng.normal(size=(500, 3)) / [1.0, 1e8, 1e-8]
    assert ratio(best) >= max(ratio(weights) for weights in others)
    assert np.linalg.norm(best) == pytest.approx(1.0)


def test_a_very_wrong_sample_has_a_positive_pvalue() -> None:
    """Catches a tail that underflows: a p-value of 0 is never right."""
    result = sw.check(draws(3000) + 50.0, TARGET, method="lambda_psd", independent=True)
    assert 0 < result.pvalue < 1e-300


def test_terms_that_do_not_move_are_refused() -> None:
    """Catches p = 1 from a flat density, of which the test sees nothing."""
    flat = sw.Target.from_score(np.zeros_like)
    with pytest.raises(sw.InputError, match="sees nothing of these draws"):
        sw.check(draws(100), flat, method=LambdaPSD(1))


def test_too_few_draws_are_said() -> None:
    with pytest.raises(sw.TooFewDraws, match="degree=9 needs at least 11 of each"):
        sw.check(draws(50), TARGET, method=LambdaPSD(9))


def test_the_least_p_value_can_be_printed() -> None:
    """Catches a NumPy number among the p-values, whose comparisons are no Python bools."""
    draws = 5 + np.random.default_rng(0).normal(size=(500, 2))
    result = sw.check(draws, sw.Gaussian(np.zeros(2), np.eye(2)), method="lambda_psd")
    assert type(result.pvalue) is float
    assert type(result.rejected) is bool
    assert "steinwise check" in str(result)
