"""One Gaussian by every way of making a target, and points at which they are compared."""

import jax.numpy as jnp
import numpy as np

import steinwise as sw

D = 4
MEAN = np.array([0.5, -1.0, 0.0, 2.0])
FACTOR = np.tril(np.random.default_rng(7).normal(size=(D, D))) + 2 * np.eye(D)
COVARIANCE = FACTOR @ FACTOR.T
PRECISION = np.linalg.inv(COVARIANCE)
BLOCK = np.array([2, 0])
COORDINATES = np.array([3, 1])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(37, D))
LINE_POINTS = RNG.normal(size=(37, 2, 5))
BLOCK_POINTS = RNG.normal(size=(37, 6, 2))
ALL_LINE_POINTS = RNG.normal(size=(37, D, 3))


def log_density(x):
    return -0.5 * (x - MEAN) @ PRECISION @ (x - MEAN)


def host_score(x):
    return (MEAN - x) @ PRECISION


def jax_lines(x, j, y):
    """The conditional score, for a coordinate or a block."""
    return ((MEAN - x.at[j].set(y)) @ jnp.asarray(PRECISION))[j]


def host_lines(x, j, y):
    moved = np.repeat(x[:, None], y.shape[1], axis=1)
    moved[..., j] = y
    return host_score(moved)[..., j]


TARGETS = {
    "log density": sw.Target(log_density),
    "log density with lines": sw.Target(log_density, lines=jax_lines),
    "host score": sw.Target.from_score(host_score),
    "host score with lines": sw.Target.from_score(host_score, lines=host_lines),
    "gaussian": sw.Gaussian(MEAN, COVARIANCE),
}
