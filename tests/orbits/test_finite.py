"""Outcomes of discrete coordinates, against the probabilities of scipy."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.special import gammaln
from scipy import stats

import steinwise as sw
from steinwise.orbits.finite import Outcomes, find_outcomes
from steinwise.target import AbstractTarget
from steinwise.target.support import AbstractSupport

COUNTS = sw.support.integers(0, None)


def outcomes_of(target: AbstractTarget, x: np.ndarray, support: AbstractSupport) -> Outcomes:
    return find_outcomes(target, x, 0, support, 2**30, np.arange(len(x)))


@pytest.mark.parametrize("rate", [0.3, 30.0, 2000.0])
def test_a_window_grows_until_it_holds_all(rate: float) -> None:
    """Catches a window that ends where the draws end, and one that begins at 0 for any rate."""
    target = sw.Target(lambda x: x[0] * jnp.log(rate) - gammaln(x[0] + 1))
    x = stats.poisson(rate).rvs(size=(20, 1), random_state=np.random.default_rng(0)) * 1.0
    found = outcomes_of(target, x, COUNTS)
    exact = stats.poisson(rate)
    np.testing.assert_allclose(found.at_draws(found.below), exact.cdf(x[:, 0] - 1), atol=1e-11)
    np.testing.assert_allclose(found.at_draws(found.above), exact.sf(x[:, 0]), atol=1e-11)
    assert len(found.values) < 100 + 40 * np.sqrt(rate)


def test_it_does_not_matter_where_a_window_begins() -> None:
    """Catches probabilities that depend on the draw: the level would be lost."""
    target = sw.Target.from_log_density(lambda x: -np.abs(x[:, 0] - 100) / 20)
    support = sw.support.integers(None, None)
    near, far = (outcomes_of(target, np.array([[at]]), support) for at in (100.0, -150.0))
    for k in (90.0, 100.0, 130.0):
        one, other = (o.probabilities[0, o.values == k] for o in (near, far))
        np.testing.assert_allclose(one, other, atol=1e-11)


def test_a_density_that_does_not_fall_off_is_refused() -> None:
    """Catches a window that grows for ever."""
    target = sw.Target.from_log_density(lambda x: 0.0 * x[:, 0])
    with pytest.raises(sw.TargetError, match="does not fall off"):
        outcomes_of(target, np.zeros((2, 1)), COUNTS)


def test_a_draw_without_probability_is_refused() -> None:
    """Catches log 0 at a draw that is taken for a small number."""
    target = sw.Target.from_log_density(lambda x: np.where(x[:, 0] > 0, -np.inf, 0.0))
    with pytest.raises(sw.TargetError, match="the log density is -inf at draw 1"):
        outcomes_of(target, np.array([[0.0], [1.0]]), sw.support.integers(0, 1))


def test_tails_are_the_probabilities_of_what_is_no_likelier() -> None:
    """Catches an outlier in the middle that a distribution function cannot see."""
    probabilities = np.array([[0.5, 1e-9, 0.5 - 1e-9]] * 3)
    found = Outcomes(np.arange(3.0), probabilities, np.arange(3))
    assert found.tails[1] == pytest.approx(0.5e-9)
    assert found.tails[0] == pytest.approx(0.5)


def test_conditionals_take_the_place_of_the_density() -> None:
    """Catches values in another order, and a number of them that is not that of the support."""
    coupling = np.array([[0.0, 0.7], [0.7, 0.0]])
    support = sw.support.values([-1, 1])

    def log_density(x):
        return 0.5 * x @ coupling @ x

    def conditionals(x, j):
        field = jnp.asarray(coupling)[j] @ x
        return jnp.stack([-field, field])

    def host_conditionals(x, j):
        field = x @ coupling[j]
        return np.stack([-field, field], axis=1)

    x = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    expected = outcomes_of(sw.Target(log_density), x, support).probabilities
    for target in (
        sw.Target(log_density, conditionals=conditionals),
        sw.Target.from_log_density(lambda x: x[:, 0], conditionals=host_conditionals),
    ):
        np.testing.assert_allclose(outcomes_of(target, x, support).probabilities, expected)
    three = sw.support.values([-1, 0, 1])
    target = sw.Target(log_density, conditionals=conditionals)
    with pytest.raises(sw.TargetError, match=r"gave 2 log probabilities.*has 3 values"):
        outcomes_of(target, x, three)


@pytest.mark.parametrize("high", [100, None])
def test_conditionals_give_the_whole_support(high: int | None) -> None:
    """Catches a window that depends on the draws, for which the user's answer is too long."""
    grid = np.arange(101.0)

    def log_density(x):
        return -0.5 * ((x[0] - 50) / 7) ** 2

    target = sw.Target(
        log_density, conditionals=lambda _x, _j: jnp.asarray(-0.5 * ((grid - 50) / 7) ** 2)
    )
    host = sw.Target.from_log_density(
        lambda x: -0.5 * ((x[:, 0] - 50) / 7) ** 2,
        conditionals=lambda x, _: np.tile(-0.5 * ((grid - 50) / 7) ** 2, (len(x), 1)),
    )
    x = np.array([[45.0], [50.0], [56.0]])
    support = sw.support.integers(0, high)
    expected = outcomes_of(sw.Target(log_density), x, support)
    for given in (target, host):
        found = outcomes_of(given, x, support)
        assert (len(found.values) == 101) == (high == 100)
        np.testing.assert_allclose(
            found.at_draws(found.below), expected.at_draws(expected.below), atol=1e-9
        )


def test_heavy_tails_are_told_from_no_tails() -> None:
    """Catches a density that is said not to fall off although it does."""
    target = sw.Target.from_log_density(lambda x: -3 * np.log(x[:, 0]))
    with pytest.raises(sw.TargetError, match=r"tail is too heavy for a window of 65,536 values"):
        outcomes_of(target, np.array([[1.0], [3.0]]), sw.support.integers(1, None))


def test_a_first_window_is_no_larger_than_others() -> None:
    """Catches minutes of evaluations without a word."""

    def never(x: np.ndarray) -> np.ndarray:
        raise AssertionError("evaluated")

    x = stats.poisson(1e8).rvs(size=(50, 1), random_state=np.random.default_rng(0)) * 1.0
    with pytest.raises(sw.TargetError, match=r"window .* has \d+,\d+ values, and at most 65,536"):
        outcomes_of(sw.Target.from_log_density(never), x, COUNTS)


def test_a_support_of_too_many_values_is_no_tail() -> None:
    """Catches a flat density between two ends whose tail is said to be too heavy."""
    target = sw.Target.from_log_density(lambda x: 0.0 * x[:, 0])
    with pytest.raises(sw.TargetError, match="can be checked as a real one"):
        outcomes_of(target, np.zeros((2, 1)), sw.support.integers(0, 100_000))
