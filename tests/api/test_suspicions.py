"""Mistakes that newcomers make get a message with their likely cause."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw

X = np.random.default_rng(0).normal(size=(300, 2))


def potential(x: Any) -> Any:
    return jnp.sum(x**2) / 2


def said(warned: pytest.WarningsRecorder, *words: str) -> bool:
    """Whether one of the warnings has all of these words."""
    return any(all(word in str(warning.message) for word in words) for warning in warned)


def test_a_potential_energy_is_recognised() -> None:
    """Catches a sign that is wrong, which looks like draws that are far too wide."""
    with pytest.warns(sw.SteinwiseWarning) as warned:
        result = sw.check(X, potential)
    assert said(warned, "grows without bound along", "is its sign right")
    assert any("potential energy" in note for note in result.notes)


def test_a_density_without_its_logarithm_is_recognised() -> None:
    """Catches numbers for the means and sds of what has none, next to a verdict against them."""
    with pytest.warns(sw.SteinwiseWarning) as warned:
        result = sw.check(X, lambda x: jnp.exp(-potential(x)), names=["a", "b"], tolerance=0.1)
    assert said(warned, "levels off along", "did you forget the logarithm")
    assert all(c.marginal is None for c in result.coordinates)
    assert result.tolerance is not None
    assert result.tolerance.answer == "unknown"


@pytest.mark.parametrize(
    "log_density",
    [
        lambda x: -jnp.sum(jnp.log1p(x**2)),  # Cauchy
        lambda x: jnp.maximum(-jnp.sum(x**2) / 2, -1e4),  # cut off, to stay finite
    ],
)
def test_heavy_tails_and_a_floor_do_not_level_off(log_density: Any) -> None:
    result = sw.check(X + 3.0, log_density)
    assert result.rejected
    assert not any("levels off" in note for note in result.notes)


def test_a_coordinate_that_the_density_ignores_is_recognised() -> None:
    """Catches a missing prior, which looks like draws that are far too narrow."""
    with pytest.warns(sw.SteinwiseWarning) as warned:
        sw.check(X, lambda x: -(x[0] ** 2) / 2, names=["mu", "nu"])
    assert said(warned, "does not depend on nu", "a prior")
    assert not said(warned, "grows without bound")


def test_positive_draws_are_recognised() -> None:
    """An exponential density, as a function on all of R, grows without bound below 0."""
    positive = np.stack([np.random.default_rng(1).exponential(size=300), X[:, 0]], axis=1)
    with pytest.warns(sw.SteinwiseWarning) as warned:
        sw.check(positive, lambda x: -x[0] - x[1] ** 2 / 2, names=["rate", "mu"])
    assert said(warned, "all draws of rate are positive", "support=")


def test_all_positive_draws_are_named() -> None:
    """Catches a note on the one of two positive coordinates whose draws come nearer to 0."""
    rng = np.random.default_rng(1)
    positive = np.stack([rng.gamma(6.0, 0.5, size=400), rng.exponential(size=400)], axis=1)
    with pytest.warns(sw.SteinwiseWarning) as warned:
        sw.check(positive, lambda u: jnp.sum(3 * u - 2 * jnp.exp(u)), names=["tau", "sigma"])
    assert said(warned, "all draws of", "tau", "sigma", "are positive", "support=")


def test_draws_of_another_scale_are_recognised() -> None:
    """A residual sd around 0.5, for a density of its logarithm: positive, and far from 0."""
    sigma = np.exp(-0.7 + 0.05 * np.random.default_rng(1).normal(size=300))

    def of_logarithm(x: Any) -> Any:
        return -0.5 * ((x[0] + 0.7) / 0.05) ** 2 - x[1] ** 2 / 2

    draws = np.stack([sigma, X[:, 0]], axis=1)
    with pytest.warns(sw.SteinwiseWarning) as warned:
        sw.check(draws, of_logarithm, names=["sigma", "mu"])
    assert said(warned, "all draws of sigma are positive", "logarithm")


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_a_density_that_falls_is_not_suspected(shift: float) -> None:
    """Warnings are errors here: catches a note on a misfit of another kind."""
    assert sw.check(X + shift, lambda x: -potential(x), seed=1).notes == ()


@pytest.mark.parametrize("target", [sw.Gaussian(np.zeros(2), np.eye(2)), "function"])
def test_transposed_draws(target: Any) -> None:
    density = (lambda x: -jnp.sum(x.reshape(2) ** 2)) if target == "function" else target
    with pytest.raises(sw.InputError, match=r"shape \(2, 300\).*did you mean draws.T\?"):
        sw.check(X.T, density)
    chains = np.stack([X.T, X.T + 1, X.T - 1])[:2]
    with pytest.raises(sw.InputError, match=r"did you mean np.swapaxes\(draws, 1, 2\)\?"):
        sw.check(chains, density)


def test_coordinates_in_place_of_chains() -> None:
    """Catches "3 chains of 4 draws; about 35 draws would do" for draws (d, chain, draw)."""
    turned = np.random.default_rng(0).normal(size=(3, 4, 500))
    with pytest.raises(sw.TooFewDraws, match=r"500 coordinates: is the order \(chain, draw, d\)\?"):
        sw.check(turned, lambda x: -jnp.sum(x**2))


def test_an_array_in_place_of_a_number_is_described() -> None:
    with pytest.raises(sw.TargetError, match=r"returned an array of shape \(2,\) for one draw"):
        sw.check(X, lambda x: -(x**2))


def test_names_of_transposed_draws() -> None:
    with pytest.raises(sw.InputError, match=r"did you mean draws.T\?"):
        sw.check(X.T, potential, names=["a", "b"])


def test_values_and_draws_are_counted_apart() -> None:
    draws = np.abs(X)
    draws[3] = -1.0
    target = sw.Target(lambda x: -jnp.sum(x), support=sw.support.positive)
    with pytest.raises(sw.InputError, match="2 values, in 1 of 300 draws, are outside"):
        sw.check(draws, target)
