"""Whether errors are beyond a tolerance: the answers, and how often they are wrong at its edge."""

import re
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise.calibration.batches import even_batches
from steinwise.estimates.moments import MomentErrors, moment_errors
from steinwise.estimates.tolerance import judge_tolerance, largest_t
from steinwise.results.wording import tolerance_sentence

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


def test_what_is_unknown_besides_the_worst_is_named() -> None:
    """Catches a worst error that is none: those that are not known may be larger."""

    def first_has_two_modes(x: jnp.ndarray) -> jnp.ndarray:
        return jnp.logaddexp(-((x[0] - 4) ** 2) / 2, -((x[0] + 4) ** 2) / 2) - x[1] ** 2 / 2

    rng = np.random.default_rng(0)
    draws = rng.normal(size=(2000, 2)) * [1.0, 0.7]
    draws[:, 0] += rng.choice([-4.0, 4.0], size=2000)
    found = judged(draws, first_has_two_modes)
    assert found.tolerance is not None
    assert found.tolerance.answer == "beyond"
    assert (found.tolerance.coordinate, found.tolerance.unknown) == ("b", ("a",))
    for text in (str(found), found.to_html()):
        said = " ".join(text.split())
        assert "The errors of 1 other are not known, and may be larger: a." in said


def test_the_worst_is_the_largest_and_not_the_one_known_best() -> None:
    """Catches an error of 0.4 that is named where another of 0.6 is clear too."""
    doubt = np.array([0.0, 0.3])  # the first is known better
    errors = example_errors(mean_error=np.array([0.4, 0.6]), mean_doubt=doubt)
    answer = judge_tolerance(errors, ("a", "b"), 0.1, 0.05, 0)
    assert (answer.answer, answer.coordinate) == ("beyond", "b")
    assert 0.1 < answer.low < 0.3


def test_few_draws_cannot_tell() -> None:
    """Catches "within" for want of evidence."""
    found = judged(right(100))
    assert found.tolerance is not None
    assert found.tolerance.answer == "too few draws"
    assert found.acceptable
    assert "Too few draws" in str(found)


def example_errors(**fields: np.ndarray) -> MomentErrors:
    """Of two coordinates without errors, which 1000 draws tell to 0.03 or so, but for some."""
    draws, batches = right(1000), even_batches(1, 1000, 50, independent=True)
    known = {"mean_error": np.zeros(2), "sd_ratio": np.ones(2)}
    known |= {"mean_doubt": np.zeros(2), "sd_doubt": np.zeros(2)}
    return replace(moment_errors(draws, TARGET.score(draws), batches), **(known | fields))


@pytest.mark.parametrize("of_b", [0.0, 0.09])
def test_more_draws_are_not_asked_for_where_they_need_not_help(of_b: float) -> None:
    """Catches "too few draws" at any number of draws, where the error of a is never known."""
    unexplained = np.array([0.9, 0.0])
    errors = example_errors(mean_error=np.array([0.0, of_b]), mean_unexplained=unexplained)
    answer = judge_tolerance(errors, ("a", "b"), 0.1, 0.05, 0)
    assert (answer.answer, answer.unknown, answer.coordinate) == ("unknown", ("a",), "b")
    said = tolerance_sentence(answer)
    assert "the errors of a cannot be estimated from these draws, and more draws may not" in said
    assert "sw.summary may be able to estimate them. Of the others, the " in said
    known = example_errors(mean_error=np.array([0.0, of_b]))
    expected = "too few draws" if of_b else "within"
    assert judge_tolerance(known, ("a", "b"), 0.1, 0.05, 0).answer == expected


def test_nor_where_it_is_not_chance_that_makes_an_interval_long() -> None:
    """Catches "too few draws" of an error that the regressions leave in doubt."""
    means = np.array([0.11, 0.05])  # draws tell whether the first is beyond, not the second
    errors = example_errors(mean_error=means, mean_doubt=np.array([0.0, 0.2]))
    answer = judge_tolerance(errors, ("a", "b"), 0.1, 0.05, 0)
    assert (answer.answer, answer.unknown, answer.coordinate) == ("unknown", (), "b")
    assert tolerance_sentence(answer).startswith(
        "Whether the mean of b is within the tolerance of 0.1 is not known: it may be off by "
    )


def test_nobody_is_sent_to_a_summary_that_gives_no_number() -> None:
    """Catches "sw.summary may tell them" of draws that miss a mode, of which it tells nothing."""

    def two_modes(x: jnp.ndarray) -> jnp.ndarray:
        return jnp.logaddexp(-jnp.sum((x - 3) ** 2) / 2, -jnp.sum((x + 3) ** 2) / 2)

    one, both = (
        np.random.default_rng(0).normal(size=(1000, 2)) + 3 * side
        for side in (1.0, np.random.default_rng(1).choice([-1.0, 1.0], size=(1000, 1)))
    )
    for draws, may_tell in ((one, False), (both, True)):
        found = judged(draws, two_modes, method="transported")
        for text in (str(found), found.to_html()):
            said = " ".join(text.split())
            assert "within the tolerance of 0.1 is not known" in said
            assert ("sw.summary may" in said) == may_tell


def test_an_error_that_may_be_none_is_not_told_as_one() -> None:
    """Catches "the sd is off by -11 %" of few and correct draws."""
    draws = np.random.default_rng(0).normal(size=(100, 2))
    found = judged(draws, sw.Gaussian([0, 0], np.eye(2)))
    assert found.tolerance is not None
    assert found.tolerance.answer == "too few draws"
    said = " ".join(str(found).split())
    assert re.search(r"of (a|b) may be off by -\S+ (%|sd) to \+\S+ (%|sd) \(estimated: ", said)


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
    assert "cannot be estimated" in str(found)
    assert found.acceptable
    wrong = judged(draws * 1.2, two_modes)
    assert wrong.tolerance is not None
    assert wrong.tolerance.answer == "unknown"
    assert not wrong.acceptable  # what is not known is no excuse for a misfit
    with pytest.raises(AssertionError, match=r"do not fit(.|\n)*cannot be estimated"):
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
