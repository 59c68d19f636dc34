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


def test_a_summary_asks_about_the_sign_too() -> None:
    with pytest.warns(sw.SteinwiseWarning) as warned:
        sw.summary(X, potential)
    assert said(warned, "grows without bound along x[0], x[1]", "is its sign right")


def test_a_potential_energy_whose_sums_overflow() -> None:
    """A hierarchical model: catches advice about enormous draws in place of that on the sign."""
    rng = np.random.default_rng(1)
    mu, log_tau = rng.normal(size=(1000, 1)), 2.0 * rng.normal(size=(1000, 1))
    theta = mu + np.exp(log_tau) * rng.normal(size=(1000, 9))

    def energy(x: Any) -> Any:
        of_theta = jnp.sum((x[2:] - x[0]) ** 2) / 2 * jnp.exp(-2 * x[1]) + 9 * x[1]
        return x[0] ** 2 / 2 + x[1] ** 2 / 8 + of_theta

    with pytest.raises(sw.InputError, match=r"overflow in float64\. .* is its sign right\?"):
        sw.check(np.hstack([mu, log_tau, theta]), energy)


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
    told = 'pass support={"rate": sw.support.positive} to sw.Target, or check its logarithm'
    assert said(warned, "all draws of rate are positive", "is it a positive parameter?", told)


def test_positive_draws_far_from_0_are_not_named() -> None:
    """Catches a note on mean .74, sd .05, next to a parameter that does begin at 0."""
    rng = np.random.default_rng(1)
    draws = np.stack([rng.normal(0.74, 0.05, size=400), rng.exponential(size=400)], axis=1)
    with pytest.warns(sw.SteinwiseWarning) as warned:
        sw.check(draws, lambda x: -jnp.sum((x - 5.0) ** 2), names=["beta", "sigma"])
    assert said(warned, "all draws of sigma are positive", "support=")
    assert not said(warned, "beta")


@pytest.mark.parametrize("support", [sw.support.real, [sw.support.real] * 2])
def test_declared_supports_are_believed(support: Any) -> None:
    """Warnings are errors here: catches advice to declare what was declared."""
    positive = np.stack([np.random.default_rng(1).exponential(size=300), X[:, 0]], axis=1)
    target = sw.Target(lambda x: -jnp.sum((x - 5.0) ** 2), support=support)
    assert sw.check(positive, target).rejected


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
    with pytest.raises(sw.InputError, match=r"did you mean np.moveaxis\(draws, 0, 2\)\?"):
        sw.check(np.random.default_rng(0).normal(size=(2, 4, 300)), density)


def test_transposed_draws_that_the_density_takes_too() -> None:
    """50 coordinates and 1000 draws: catches a verdict on 50 draws without a word."""
    turned = np.random.default_rng(0).normal(size=(1000, 50)).T
    some = {"coordinates": 1, "effort": "quick"}
    with pytest.warns(sw.SteinwiseWarning, match=r"50 draws of 1000 coordinates: .*draws\.T\?"):
        sw.check(turned, lambda x: -potential(x), **some)
    # warnings are errors here
    sw.check(turned, lambda x: -potential(x), names=[f"a{j}" for j in range(1000)], **some)
    sw.check(turned, sw.Gaussian(np.zeros(1000), np.eye(1000)), **some)


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


def test_draws_so_far_out_that_slopes_overflow() -> None:
    """Catches a warning of NumPy in place of the answer that sums overflow."""
    draws = np.random.default_rng(0).normal(size=(40, 2)) * [1e-55, 1e-42]
    draws[3, 1] = -1e99
    with pytest.raises(sw.InputError, match="Some draws or scores are enormous"):
        sw.check(draws, sw.Gaussian(np.zeros(2), 1e-110 * np.eye(2)), method="ksd")
