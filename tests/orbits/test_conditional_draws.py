"""Quantiles of the target's conditionals along single lines."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.orbits.conditional_draws import steps_to_quantiles

SHARES = np.array([0.001, 0.1, 0.5, 0.9, 0.999])
N, D = 40, 3


def skewed(x):
    return -jnp.sum(jnp.exp(x) - 2 * x) - 0.3 * x[0] * x[1] - x[2] ** 2


def heavy(x):
    return -2 * jnp.sum(jnp.log1p(x**2 / 3)) - 0.1 * (x[0] - x[1]) ** 2


def normal(x):
    return -0.5 * jnp.sum(x**2) - 0.8 * x[0] * x[1]


def integrated(log_density, x: np.ndarray, direction: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """The distribution function along a line at some steps, by brute force."""
    t = np.linspace(-60, 60, 120_001)
    with jax.enable_x64(True):
        values = np.asarray(jax.vmap(lambda s: log_density(x + s * direction))(jnp.asarray(t)))
    p = np.exp(values - values.max())
    below = np.append(0, np.cumsum((p[1:] + p[:-1]) / 2))
    return np.interp(steps, t, below / below[-1])


@pytest.mark.parametrize("log_density", [skewed, heavy, normal])
@pytest.mark.parametrize("direction", [0, np.array([1.0, -0.5, 0.2])], ids=["axis", "oblique"])
def test_steps_lead_to_quantiles(log_density, direction) -> None:
    """Catches a wrong sign, a wrong unit of length, and series that are trusted too far."""
    x = np.random.default_rng(0).normal(size=(N, D))
    target = sw.Target(log_density)
    target.prepare(D)
    shares = np.tile(SHARES, (N, 1))
    steps = steps_to_quantiles(target, x, direction, shares, 2**30, np.arange(N))
    vector = np.eye(D)[direction] if isinstance(direction, int) else direction
    for i in (0, N - 1):
        found = integrated(log_density, x[i], vector, steps[i])
        np.testing.assert_allclose(found, SHARES, atol=5e-4)


def test_quantiles_of_a_known_normal_are_exact() -> None:
    target = sw.Gaussian([1.0, 0.0], np.eye(2))
    x = np.zeros((2, 2))
    steps = steps_to_quantiles(target, x, 0, np.full((2, 1), 0.5), 2**30, np.arange(2))
    np.testing.assert_allclose(steps, 1.0)
