"""Targets that know their scores at the draws only, and targets whose scores are noisy."""

import numpy as np
import pytest

import steinwise as sw
from tests.target.cases import X

AT_DRAWS = sw.Target.at_draws(-X)
Y = X[:, :, None]


@pytest.mark.parametrize(
    "evaluate",
    [
        lambda: AT_DRAWS.score(X),
        lambda: AT_DRAWS.line_scores(X, np.arange(4), Y),
        lambda: AT_DRAWS.line_values(X, np.arange(4), Y),
        lambda: AT_DRAWS.direction_values(X, np.eye(4), Y),
        lambda: AT_DRAWS.block_scores(X, np.arange(4), X[:, None]),
    ],
)
def test_it_cannot_be_evaluated_anywhere(evaluate) -> None:
    """Not even at the draws: which these are cannot be told from their values."""
    with pytest.raises(sw.TargetError, match="only the scores at the draws are known"):
        evaluate()


def test_its_precision_is_that_of_the_scores() -> None:
    assert AT_DRAWS.prepare(4) == "float64"
    assert sw.Target.at_draws(X.astype(np.float32)).prepare(4) == "float32"
    assert AT_DRAWS.log_values(X) is None


def test_a_function_is_no_array_of_scores() -> None:
    with pytest.raises(sw.InputError, match=r"sw\.Target\.from_score"):
        sw.Target.at_draws(lambda x: -x)


@pytest.mark.parametrize(
    ("make", "scores"), [(sw.Target.at_draws, -X), (sw.Target.from_score, np.negative)]
)
def test_noisy_is_a_flag(make, scores) -> None:
    with pytest.raises(sw.InputError, match="noisy is 'yes': expected True or False"):
        make(scores, noisy="yes")


def test_exact_targets_are_not_noisy() -> None:
    assert not sw.Gaussian([0.0], [[1.0]]).noisy
    assert not sw.Target(lambda x: -(x**2).sum()).noisy
    assert not AT_DRAWS.noisy
    assert sw.Target.at_draws(-X, noisy=True).noisy


def test_noisy_scores_come_without_values() -> None:
    """A log density to follow lines with would be taken for an exact one."""
    with pytest.raises(sw.InputError, match="noisy=True came with a log density"):
        sw.Target.from_score(np.negative, lambda x: -(x**2).sum(axis=1) / 2, noisy=True)


def test_scores_of_other_draws_are_said_first() -> None:
    """Catches advice on the method, and the same call refused again once it is followed."""
    with pytest.raises(sw.InputError, match=r"the scores have shape .* in the same order"):
        sw.check(X, sw.Target.at_draws(-X[:-1]))
