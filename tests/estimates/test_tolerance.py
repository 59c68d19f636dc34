"""Whether errors are beyond a tolerance: the answers, and how often they are wrong at its edge."""

import re

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise.calibration.batches import even_batches
from steinwise.estimates.moments import moment_errors
from steinwise.estimates.tolerance import judge_tolerance, largest_t

TARGET = sw.Gaussian([1.0, -2.0], [[1.0, 0.7], [0.7, 1.0]])


def judged(draws: np.ndarray, target: object = TARGET, **options: object) -> sw.CheckResult:
    options = {"tolerance": 0.1, "method": "scores", "n_bootstrap": 99} | options
    return sw.check(draws, target, names=["a", "b"], **options)  # type: ignore[arg-type]


def right(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).multivariate_normal(TARGET.mean, TARGET.covariance, n)


def test_draws_that_are_rejected_may_be_good_enough() -> None:
    """Catches a tolerance that only repeats the verdict."""
    draws = right(40_000) + np.array([0.04, 0.0])
    found = judged(draws)
    assert found.rejected
    assert found.acceptable
    assert found.tolerance is not None
    assert found.tolerance.answer == "within"
    assert (found.tolerance.coordinate, found.tolerance.quantity) == ("a", "mean")
    assert "Within the tolerance of 0.1" in str(found)
    assert judged(right(4000) * 1.0, tolerance=None).tolerance is None


def test_the_worst_error_is_named() -> None:
    draws = TARGET.mean + (right(4000) - TARGET.mean) * [1.0, 0.71]
    found = judged(draws)
    assert found.tolerance is not None
    assert not found.acceptable
    assert (found.tolerance.coordinate, found.tolerance.quantity) == ("b", "sd")
    assert found.tolerance.low < -0.29 < found.tolerance.high
    assert re.search(r"the sd of b is off by -(28|29|30) %", str(found))
    assert found.to_dict()["tolerance"]["answer"] == "beyond"
    with pytest.raises(AssertionError, match=r"Beyond the tolerance of 0\.1: the sd of b"):
        sw.assert_fits(draws, TARGET, names=["a", "b"], tolerance=0.1)


def test_few_draws_cannot_tell() -> None:
    """Catches "within" for want of evidence."""
    found = judged(right(100))
    assert found.tolerance is not None
    assert found.tolerance.answer == "too few draws"
    assert found.acceptable
    assert "Too few draws" in str(found)


def test_what_scores_do_not_explain_is_not_judged() -> None:
    """Catches a number for a target whose moments no second-order Stein function reaches."""

    def two_modes(x: jnp.ndarray) -> jnp.ndarray:
        return jnp.sum(jnp.logaddexp(-((x - 4) ** 2) / 2, -((x + 4) ** 2) / 2))

    rng = np.random.default_rng(0)
    draws = rng.normal(size=(2000, 2)) + rng.choice([-4.0, 4.0], size=(2000, 2))
    found = judged(draws, two_modes)
    assert found.tolerance is not None
    assert found.tolerance.answer == "unknown"
    assert found.tolerance.unknown == ("a", "b")
    assert "cannot be told" in str(found)
    assert found.acceptable
    wrong = judged(draws * 1.2, two_modes)
    assert wrong.tolerance is not None
    assert wrong.tolerance.answer == "unknown"
    assert not wrong.acceptable  # what cannot be told is no excuse for a misfit
    with pytest.raises(AssertionError, match=r"do not fit(.|\n)*cannot be told"):
        sw.assert_fits(draws * 1.2, two_modes, tolerance=0.1)
    assert np.isnan(found.to_dataframe()["mean_error"]).all()
    noisy = judged(right(2000), sw.Target.from_score(TARGET.score, noisy=True))
    assert noisy.tolerance is not None
    assert noisy.tolerance.answer == "unknown"


def test_any_method_takes_it() -> None:
    found = judged(right(2000) + np.array([0.5, 0.0]), method="ksd")
    assert found.tolerance is not None
    assert found.tolerance.answer == "beyond"


def test_the_largest_t_of_one_is_a_t_quantile() -> None:
    """And of many independent ones that of their largest."""
    without = np.random.default_rng(0).normal(size=(40, 1))
    assert largest_t(without, 0.05, 0) == pytest.approx(stats.t.ppf(0.975, 39), abs=0.15)
    many = np.random.default_rng(0).normal(size=(40, 50))
    expected = stats.t.ppf(1 - (1 - 0.95 ** (1 / 50)) / 2, 39)
    assert largest_t(many, 0.05, 0) == pytest.approx(expected, abs=0.25)


@pytest.mark.parametrize("fault", ["mean", "sd"])
def test_at_the_edge_neither_answer_is_given_too_often(fault: str) -> None:
    """Catches intervals about 0, which say "beyond" at the edge in most runs; 200 repetitions."""
    answers = []
    batches = even_batches(1, 1000, 50, independent=True)
    for seed in range(200):
        z = (right(1000, seed) - TARGET.mean) * ([1.1, 1.0] if fault == "sd" else [1.0, 1.0])
        draws = TARGET.mean + z + ([0.1, 0.0] if fault == "mean" else [0.0, 0.0])
        errors = moment_errors(draws, TARGET.score(draws), batches)
        answers.append(judge_tolerance(errors, ("a", "b"), 0.1, 0.05, seed).answer)
    most = int(stats.binom.ppf(0.999, 200, 0.05))
    assert answers.count("beyond") <= most
    assert answers.count("within") <= most
