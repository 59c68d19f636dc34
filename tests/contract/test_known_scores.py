"""Methods that need only the scores at the draws take them from there; the others say why not."""

import warnings

import numpy as np
import pytest

import steinwise as sw
from steinwise.methods import NAMES, by_name
from steinwise.methods.base import AbstractMethod
from tests.contract.methods import INDEPENDENT_ONLY, METHODS, draws, method, normal

D = 3
TAKES = {name for name in METHODS if not method(name, D).elsewhere}


def check(name: str, x: np.ndarray, target: object) -> sw.CheckResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.SteinwiseWarning)
        return sw.check(x, target, method=method(name, D), n_bootstrap=99, independent=x.ndim == 2)


@pytest.mark.parametrize("name", sorted(TAKES))
def test_known_scores_give_the_numbers_of_the_target(name: str) -> None:
    """Catches scores that lose their draws where these are split, held out or cut into batches.

    The scores of chains in another order would give other numbers, and so would a method that
    evaluates the target all the same, which raises.
    """
    x = draws(5, 240)
    if name not in INDEPENDENT_ONLY:
        x = x.reshape(2, 120, D)
    target = normal(D)
    scores = target.score(x.reshape(-1, D)).reshape(x.shape)
    known, evaluated = check(name, x, sw.Target.at_draws(scores)), check(name, x, target)
    assert (known.statistic, known.pvalue) == (evaluated.statistic, evaluated.pvalue)


@pytest.mark.parametrize("name", sorted(METHODS.keys() - TAKES))
def test_a_method_that_needs_more_refuses_at_the_border(name: str) -> None:
    """Catches a method that fails inside, after a computation, or with another target's scores."""
    x = draws(5)
    asked = method(name, D)
    with pytest.raises(
        sw.InputError, match=f"the method '{asked.name}' .* scores at the draws only"
    ):
        check(name, x, sw.Target.at_draws(x))


def test_every_method_says_what_it_needs() -> None:
    """Catches a method that takes no known scores only because nobody thought of them."""
    silent = AbstractMethod.elsewhere
    assert [name for name in NAMES if by_name(name).elsewhere is silent] == []
    named = {"scores", "fssd", "ksd", "ksdagg", "lambda_psd", "nystrom", "psd", "rfsd", "sksd"}
    assert named <= {name for name in NAMES if not by_name(name)().elsewhere}


@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_method_that_noise_breaks_refuses_noisy_scores(name: str) -> None:
    """Catches KSD's diagonal, and lines, being fed with scores that differ from call to call."""
    asked, rng = method(name, D), np.random.default_rng(0)
    if asked.takes_noisy_scores:
        return
    noisy = sw.Target.from_score(lambda x: -x + rng.normal(size=x.shape), noisy=True)
    with pytest.raises(sw.InputError, match=f"the method '{asked.name}' needs exact scores"):
        check(name, draws(5), noisy)
