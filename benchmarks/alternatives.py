"""Targets of the power table, draws from them, and draws from distributions that differ."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtr, ndtri

import steinwise as sw
from benchmarks import simulate, targets
from steinwise.target import AbstractTarget

Generator = np.random.Generator
Draw = Callable[[Generator, int], np.ndarray]


class SampledTarget(NamedTuple):
    """A target together with a function that draws from it exactly."""

    target: AbstractTarget
    dim: int
    draw: Draw


def gaussian(covariance: np.ndarray) -> SampledTarget:
    d = len(covariance)
    target = sw.Gaussian(np.zeros(d), covariance)
    return SampledTarget(target, d, lambda rng, n: simulate.independent(rng, covariance, n))


def equicorrelated(d: int, variance: float, covariance: float) -> np.ndarray:
    """A covariance matrix whose variances are all equal, and whose covariances are too."""
    return (variance - covariance) * np.eye(d) + covariance


AXIS = np.array([4.0, 0.0, 0.0, 0.0])
DIAGONAL = np.array([2.0, 2.0, 2.0, 2.0])


def modes_log_density(x, centre):
    """Equal weights on N(centre, I) and N(-centre, I)."""
    heights = jnp.stack([jnp.sum((x - centre) ** 2), jnp.sum((x + centre) ** 2)])
    return jax.nn.logsumexp(-heights / 2)


def axis_log_density(x):
    return modes_log_density(x, AXIS)


def diagonal_log_density(x):
    return modes_log_density(x, DIAGONAL)


def two_modes(rng: Generator, n: int, centre: np.ndarray, weight: float) -> np.ndarray:
    """Draws from N(centre, I) with probability `weight`, and from N(-centre, I) otherwise."""
    side = np.where(rng.uniform(size=(n, 1)) < weight, 1.0, -1.0)
    return side * centre + rng.normal(size=(n, len(centre)))


def t3_log_density(x):
    """Independent Student t coordinates with 3 degrees of freedom."""
    return -2 * jnp.sum(jnp.log1p(x**2 / 3))


def banana() -> SampledTarget:
    return SampledTarget(targets.banana(), 10, lambda rng, n: targets.banana_draws(rng, n, 10))


def equal_modes(log_density: Callable, centre: np.ndarray) -> SampledTarget:
    return SampledTarget(
        sw.Target(log_density), 4, lambda rng, n: two_modes(rng, n, centre, weight=0.5)
    )


def t3() -> SampledTarget:
    return SampledTarget(
        sw.Target(t3_log_density), 5, lambda rng, n: rng.standard_t(3, size=(n, 5))
    )


def log_gamma(shape: float, d: int = 10) -> SampledTarget:
    """Logs of independent Gamma variables: their scores, shape - exp(x), are skewed."""

    def log_density(x):
        return jnp.sum(shape * x - jnp.exp(x))

    def draw(rng: Generator, n: int) -> np.ndarray:
        # log Gamma(a) is log Gamma(a + 1) + log(U) / a, which does not underflow for small a
        return np.log(rng.gamma(shape + 1, size=(n, d))) - rng.exponential(size=(n, d)) / shape

    return SampledTarget(sw.Target(log_density), d, draw)


TARGETS: dict[str, SampledTarget] = {
    "modes-axis": equal_modes(axis_log_density, AXIS),
    "modes-diagonal": equal_modes(diagonal_log_density, DIAGONAL),
    "normal-5": gaussian(np.eye(5)),
    "t3": t3(),
    "log-gamma-0.5": log_gamma(0.5),
    "log-gamma-3": log_gamma(3.0),
    "near-singular": gaussian(equicorrelated(10, 1.0, 0.999)),
    "banana": banana(),
    "normal-20": gaussian(np.eye(20)),
    "correlated-20": gaussian(equicorrelated(20, 2.0, 0.5)),
    "normal-30": gaussian(np.eye(30)),
    "correlated-30": gaussian(equicorrelated(30, 2.0, 0.5)),
    "normal-50": gaussian(np.eye(50)),
    "normal-100": gaussian(np.eye(100)),
}
"""Every target of the table, roughly from the cheapest to the most expensive."""


def laplace(rng: Generator, n: int, d: int) -> np.ndarray:
    """Independent Laplace noise of variance 1."""
    return rng.laplace(scale=np.sqrt(0.5), size=(n, d))


def correlated_with_noise(d: int) -> Draw:
    """The target's covariances, but half of every variance is Laplace noise."""
    covariance = equicorrelated(d, 1.0, 0.5)
    return lambda rng, n: simulate.independent(rng, covariance, n) + laplace(rng, n, d)


def neighbours_correlated(d: int, rho: float) -> Draw:
    """Correlations rho^|i - j|."""
    index = np.arange(d)
    covariance = rho ** np.abs(index[:, None] - index)
    return lambda rng, n: simulate.independent(rng, covariance, n)


def sign_of_previous(rng: Generator, n: int) -> np.ndarray:
    """Every odd coordinate takes the sign of the coordinate before it."""
    x = rng.normal(size=(n, 30))
    x[:, 1::2] = np.abs(x[:, 1::2]) * np.sign(x[:, ::2])
    return x


def scale_by_size(rng: Generator, n: int) -> np.ndarray:
    """The variance of x_0 is 1.6 if |x_1| is above its median, and 0.4 otherwise."""
    x = rng.normal(size=(n, 30))
    x[:, 0] *= np.where(np.abs(x[:, 1]) > ndtri(0.75), np.sqrt(1.6), np.sqrt(0.4))
    return x


def sizes_together(rng: Generator, n: int) -> np.ndarray:
    """|x_0| and |x_1| have a normal copula with correlation 0.5; all marginals are right."""
    x = rng.normal(size=(n, 30))
    pair = simulate.independent(rng, equicorrelated(2, 1.0, 0.5), n)
    x[:, :2] = np.sign(x[:, :2]) * ndtri((1 + ndtr(pair)) / 2)
    return x


def sign_of_a_product(rng: Generator, n: int) -> np.ndarray:
    """x_2 has the sign of x_0 x_1; any two coordinates are independent."""
    x = rng.normal(size=(n, 30))
    x[:, 2] = np.abs(x[:, 2]) * np.sign(x[:, 0] * x[:, 1])
    return x


def first_shifted(d: int, shift: float) -> Draw:
    """N(0, I) with its first coordinate shifted."""
    return lambda rng, n: rng.normal(size=(n, d)) + shift * (np.arange(d) == 0)


def first_wide(d: int, variance: float) -> Draw:
    """N(0, I) with the variance of its first coordinate changed."""
    scale = np.where(np.arange(d) == 0, np.sqrt(variance), 1.0)
    return lambda rng, n: scale * rng.normal(size=(n, d))


def banana_with_laplace(rng: Generator, n: int) -> np.ndarray:
    """The banana with Laplace noise in place of normal noise."""
    x = laplace(rng, n, 10)
    x[:, 1] += targets.CURVATURE * (x[:, 0] ** 2 - 1)
    return x


def far_out(rng: Generator, n: int) -> np.ndarray:
    """One draw in twenty, on average, is moved by 30 in a random direction."""
    x, step = rng.normal(size=(n, 5)), rng.normal(size=(n, 5))
    step *= 30 / np.linalg.norm(step, axis=1, keepdims=True)
    return x + step * (rng.uniform(size=(n, 1)) < 0.05)
