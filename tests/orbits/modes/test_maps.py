"""Orbits under maps between modes, and masses from them."""

import numpy as np

from steinwise.orbits.modes.maps import ModeMaps
from steinwise.orbits.modes.masses import mode_masses
from tests.mixtures import NormalMixture, two_apart

MEMORY = 2**28


def exact_maps(mixture: NormalMixture) -> ModeMaps:
    d = mixture.means.shape[1]
    return ModeMaps.of(mixture.means, mixture.sds[:, None, None] * np.eye(d))


def skewed_maps(mixture: NormalMixture) -> ModeMaps:
    """Maps that miss centres and shapes."""
    rng = np.random.default_rng(9)
    k, d = mixture.means.shape
    factors = np.tril(0.3 * rng.normal(size=(k, d, d))) + np.eye(d)
    return ModeMaps.of(mixture.means + 0.5 * rng.normal(size=(k, d)), factors)


def test_probabilities_are_the_weights_where_maps_are_exact() -> None:
    mixture = two_apart(5, (0.7, 0.3), (1.0, 2.0))
    x = mixture.draws(np.random.default_rng(0), 200)
    orbits = exact_maps(mixture).orbits(mixture.target, x, MEMORY)
    whole = np.isfinite(orbits.weights).all(axis=1)
    assert whole.mean() > 0.9
    # p is the sum of both components, so that the weights hold up to the other one's tail
    np.testing.assert_allclose(
        np.median(orbits.probabilities[whole], axis=0), [0.7, 0.3], atol=1e-3
    )


def test_every_point_of_an_orbit_has_the_same_orbit() -> None:
    """What makes orbits a partition, and residuals of mean zero, whatever the maps are."""
    mixture = NormalMixture([0.5, 0.2, 0.3], [[0, 0], [6, 1], [1, 7]], [1.0, 2.0, 0.5])
    maps = skewed_maps(mixture)
    x = mixture.draws(np.random.default_rng(1), 300)
    orbits = maps.orbits(mixture.target, x, MEMORY)
    for k in range(3):
        moved = maps.centres[k] + orbits.place @ maps.factors[k].T
        there = np.isfinite(orbits.weights[:, k])
        again = maps.orbits(mixture.target, moved[there], MEMORY)
        assert (again.own == k).all()
        np.testing.assert_allclose(again.place, orbits.place[there], atol=1e-8)
        np.testing.assert_allclose(again.weights, orbits.weights[there], atol=1e-8)


def test_residuals_have_mean_zero_given_the_orbit() -> None:
    """Catches a missing |L_k|, or points that are on no orbit of theirs: 5 standard errors."""
    mixture = NormalMixture([0.5, 0.2, 0.3], [[0, 0], [6, 1], [1, 7]], [1.0, 2.0, 0.5])
    x = mixture.draws(np.random.default_rng(2), 40_000)
    orbits = skewed_maps(mixture).orbits(mixture.target, x, MEMORY)
    residual = (orbits.own[:, None] == np.arange(3)) - orbits.probabilities
    feature = np.stack([np.ones(len(x)), orbits.place[:, 0], np.tanh(orbits.log_sum)], axis=1)
    for column in feature.T:
        product = residual * column[:, None]
        z = product.mean(axis=0) / (product.std(axis=0) / np.sqrt(len(x)))
        assert np.abs(z).max() < 4


def test_masses_of_modes_of_any_width() -> None:
    mixture = two_apart(8, (0.7, 0.3), (1.0, 2.0))
    masses = mode_masses(mixture.target, skewed_maps(mixture), np.arange(2), 0, MEMORY)
    assert masses.low[0] <= 0.7 <= masses.high[0]
    assert masses.high[0] - masses.low[0] < 0.35
    exact = mode_masses(mixture.target, exact_maps(mixture), np.arange(2), 0, MEMORY)
    np.testing.assert_allclose(exact.mass, [0.7, 0.3], atol=0.01)
