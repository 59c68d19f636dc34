"""`sw.refresh`: exact steps, honest about where they do not lead."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise.draws.samples import ConstrainedScale

COVARIANCE = np.full((3, 3), 0.9) + 0.1 * np.eye(3)
NORMAL = sw.Gaussian(np.zeros(3), COVARIANCE)
MEAN_FIELD = np.random.default_rng(0).normal(size=(600, 3)) / np.sqrt(
    np.diag(np.linalg.inv(COVARIANCE))
)


def test_mean_field_draws_are_repaired() -> None:
    refreshed = sw.refresh(MEAN_FIELD, NORMAL, sweeps=2, seed=1)
    assert refreshed.settled
    assert refreshed.means.shape == refreshed.sds.shape == (3, 3)
    np.testing.assert_allclose(refreshed.sds[0], MEAN_FIELD.std(axis=0))
    np.testing.assert_allclose(np.cov(refreshed.samples.rows.T), COVARIANCE, atol=0.15)
    assert "Settled" in str(refreshed)
    frame = refreshed.to_dataframe()
    assert (frame["refreshed_sd"].to_numpy() > 2 * frame["sd"].to_numpy()).all()
    assert refreshed.to_dict()["sweeps"] == 2


def test_same_seed_same_numbers_in_the_same_shape() -> None:
    chains = MEAN_FIELD.reshape(3, 200, 3)
    one, again, other = (
        sw.refresh(chains, NORMAL, sweeps=1, seed=seed, names=list("abc")).samples
        for seed in (1, 1, 2)
    )
    assert one.values.shape == chains.shape
    assert one.names == ("a", "b", "c")
    assert not one.independent
    np.testing.assert_array_equal(one.values, again.values)
    assert (one.values != other.values).all()


def test_right_draws_stay_right() -> None:
    """Invariance on a density without a closed form: catches steps that are not exact.

    A Kolmogorov-Smirnov test of one marginal, log of a Gamma(3), after a sweep of correct draws.
    """
    x = np.log(np.random.default_rng(1).gamma(3.0, size=(1000, 2)))
    moved = sw.refresh(x, lambda x: jnp.sum(3 * x - jnp.exp(x)), sweeps=1).samples.rows
    for j in range(2):
        assert stats.kstest(np.exp(moved[:, j]), stats.gamma(3.0).cdf).pvalue > 0.001


def test_it_says_when_it_does_not_get_there() -> None:
    """A banana with a thin crescent: one sweep moves draws along it a little."""
    x = 0.3 * np.random.default_rng(2).normal(size=(500, 2))
    refreshed = sw.refresh(
        x, lambda x: -0.5 * x[0] ** 2 - 50 * (x[1] - x[0] ** 2) ** 2, sweeps=1, seed=3
    )
    assert not refreshed.settled
    assert set(refreshed.states) <= {"moving", "remembers its start", "settled"}
    assert "Not settled" in str(refreshed)


def test_slow_chains_are_refreshed_with_a_warning() -> None:
    walk = np.cumsum(np.random.default_rng(3).normal(size=(2, 60, 3)), axis=1)
    with pytest.warns(sw.SteinwiseWarning, match="too slow"):
        refreshed = sw.refresh(walk, NORMAL, sweeps=1)
    assert refreshed.notes


def test_refreshed_draws_are_not_checked_along_lines() -> None:
    """The coordinate that was moved last fits whatever the draws were."""
    refreshed = sw.refresh(MEAN_FIELD, NORMAL, sweeps=1)
    with pytest.raises(sw.InputError, match=r"its draws are refreshed\.samples"):
        sw.check(refreshed, NORMAL)
    with pytest.raises(sw.InputError, match=r"moved by sw\.refresh.*'ksd'"):
        sw.check(refreshed.samples, NORMAL)
    for method in ("ksd", "scores"):
        with pytest.warns(sw.SteinwiseWarning, match=r"x\[2\] last: it fits .* by construction"):
            assert sw.check(refreshed.samples, NORMAL, method=method).pvalue > 0


def test_rows_are_called_what_they_are() -> None:
    """A model's tau is followed as its logarithm."""
    scale = ConstrainedScale(("tau",), lambda x: np.exp(x[:, 2:]))
    samples = sw.Samples.of(MEAN_FIELD, names=["a", "b", "tau"])
    refreshed = sw.refresh(replace(samples, constrained=scale), NORMAL, sweeps=1)
    assert refreshed.samples.names == ("a", "b", "tau")
    assert list(refreshed.to_dataframe().index) == ["a", "b", "log(tau)"]
    assert "log(tau)" in str(refreshed)
    assert "refreshed sd" in str(refreshed)


def test_scores_at_the_draws_are_not_enough() -> None:
    with pytest.raises(sw.InputError, match="follows the density along lines"):
        sw.refresh(MEAN_FIELD, sw.Target.at_draws(-MEAN_FIELD))
