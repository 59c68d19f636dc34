"""Densities that read outside an array, where JAX answers with the nearest entry."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw

X = np.random.default_rng(0).normal(size=(60, 2))
GROUP = np.array([0, 1, 2])
TABLE = jnp.arange(100.0, 103.0)


@pytest.mark.parametrize(
    "log_density",
    [
        lambda x: -0.5 * (x[0] ** 2 + x[1] ** 2 + x[2] ** 2),
        lambda x: -0.5 * jnp.sum(x[GROUP] ** 2),
        lambda x: -0.5 * jax.jit(lambda y: y[2] ** 2)(x),
        lambda x: -0.5 * jax.lax.fori_loop(0, 3, lambda i, total: total + x[i] ** 2, x[0]),
    ],
    ids=["an index", "an array of indices", "jitted", "a loop"],
)
def test_a_density_of_more_coordinates_than_the_draws(log_density):
    """x[2] of two coordinates is x[1], and correct draws were rejected."""
    with pytest.raises(sw.TargetError, match=r"draw of shape \(2,\).*shape \(2,\): index 2"):
        sw.ksd(X, log_density)


def test_a_model_of_more_coordinates_than_the_draws():
    with pytest.raises(sw.TargetError, match=r"draw of shape \(2,\).*index 2"):
        sw.fit_parameters(lambda theta, x: -0.5 * (x[2] - theta) ** 2, X, 0.0)


@pytest.mark.parametrize(
    "log_density",
    [
        lambda x: -0.5 * jnp.sum(x.at[GROUP].get(mode="fill", fill_value=0.0) ** 2),
        lambda x: -0.5 * jnp.sum(x[np.array([0, 1, 1])] ** 2),
        lambda x: -0.5 * jnp.sum(x**2) * TABLE[2 + jnp.int32(jnp.sign(x[0]) * 0)] / 102,
        lambda x: -0.5 * jnp.sum(x**2 + 0 * jnp.zeros(2).at[GROUP].add(1.0, mode="drop")),
    ],
    ids=["filled on purpose", "inside", "a table", "dropped on purpose"],
)
def test_indices_that_are_meant_are_left_alone(log_density):
    assert np.isfinite(sw.ksd(X, log_density).value)


def test_a_density_that_cannot_be_transformed_is_not_checked():
    """A callback under a custom derivative: nothing but the check of its indices fails."""

    @jax.custom_vjp
    def density(x):
        return -0.5 * jnp.sum(x[GROUP[:2]] ** 2)

    density.defvjp(lambda x: (density(x), x), lambda x, g: (-g * x,))
    np.testing.assert_allclose(sw.ksd(X, density).value, sw.ksd(X, _normal).value, rtol=1e-9)


def _normal(x):
    return -0.5 * jnp.sum(x**2)
