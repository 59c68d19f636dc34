"""Targets, draws and plain computations that tests of thinning, points and fits share."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

import steinwise as sw

MEAN, COVARIANCE = np.array([0.2, 3.0, -1.0]), np.diag([1.0, 3.0, 30.0])


def wide_draws() -> np.ndarray:
    """300 draws near `gaussian()`, on three scales; two of them are equal."""
    x = np.random.default_rng(12).normal(size=(300, 3)) * [1, 2, 5] + [0, 3, -1]
    x[7] = x[3]
    return x


def gaussian() -> sw.Gaussian:
    return sw.Gaussian(MEAN, COVARIANCE)


def two_modes(weight: float, distance: float) -> sw.Target:
    """Two normal modes in the plane, at -distance and (with this weight) +distance on an axis."""

    def log_density(x):
        both = jnp.stack([x.at[0].add(distance), x.at[0].add(-distance)])
        weights = jnp.array([1 - weight, weight])
        return logsumexp(jnp.log(weights) - 0.5 * jnp.sum(both**2, axis=1))

    return sw.Target(log_density)


def draws_of_two_modes(weight: float, distance: float, n: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(n, 2))
    x[:, 0] += np.where(rng.uniform(size=n) < weight, distance, -distance)
    return x


def stein_kernel(x, y, bx, by, matrix) -> jax.Array:
    """k_0 of one pair, from derivatives of the kernel as autodiff has them."""

    def kernel(x, y):
        return (1 + (x - y) @ matrix @ (x - y)) ** -0.5

    mixed = jax.jacfwd(jax.grad(kernel, 1), 0)(x, y)
    first = bx @ jax.grad(kernel, 1)(x, y) + by @ jax.grad(kernel, 0)(x, y)
    return bx @ by * kernel(x, y) + first + jnp.trace(mixed)


def stein_gram(x: np.ndarray, b: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """k_0 of all pairs."""
    over = jax.vmap(jax.vmap(stein_kernel, (None, 0, None, 0, None)), (0, None, 0, None, None))
    with jax.enable_x64(True):
        return np.asarray(jax.jit(over)(x, x, b, b, matrix))
