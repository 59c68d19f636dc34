"""Targets of the power table, draws from them, and draws from laws that differ."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtr, ndtri

import steinwise as sw
from benchmarks import examples, simulate
from steinwise.target import AbstractTarget

Generator = np.random.Generator
Draw = Callable[[Generator, int], np.ndarray]


class Law(NamedTuple):
    """A target with its own draws."""

    target: AbstractTarget
    d: int
    draw: Draw


def gaussian(covariance: np.ndarray) -> Law:
    target = sw.Gaussian(np.zeros(len(covariance)), covariance)
    return Law(target, len(covariance), lambda rng, n: simulate.independent(rng, covariance, n))


def equal(d: int, variance: float, covariance: float) -> np.ndarray:
    """A covariance matrix with one variance and one covariance."""
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
    """N(centre, I) with this weight, N(-centre, I) otherwise."""
    side = np.where(rng.uniform(size=(n, 1)) < weight, 1.0, -1.0)
    return side * centre + rng.normal(size=(n, len(centre)))


def t3_log_density(x):
    """Independent Student t with 3 degrees of freedom."""
    return -2 * jnp.sum(jnp.log1p(x**2 / 3))


def banana_law() -> Law:
    return Law(examples.banana(), 10, lambda rng, n: examples.banana_draws(rng, n, 10))


def modes_law(log_density: Callable, centre: np.ndarray) -> Law:
    return Law(sw.Target(log_density), 4, lambda rng, n: two_modes(rng, n, centre, 0.5))


def t3_law() -> Law:
    return Law(sw.Target(t3_log_density), 5, lambda rng, n: rng.standard_t(3, size=(n, 5)))


LAWS: dict[str, Law] = {
    "modes-axis": modes_law(axis_log_density, AXIS),
    "modes-diagonal": modes_law(diagonal_log_density, DIAGONAL),
    "normal-5": gaussian(np.eye(5)),
    "t3": t3_law(),
    "near-singular": gaussian(equal(10, 1.0, 0.999)),
    "banana": banana_law(),
    "normal-20": gaussian(np.eye(20)),
    "correlated-20": gaussian(equal(20, 2.0, 0.5)),
    "normal-30": gaussian(np.eye(30)),
    "correlated-30": gaussian(equal(30, 2.0, 0.5)),
    "normal-50": gaussian(np.eye(50)),
    "normal-100": gaussian(np.eye(100)),
}
"""Every target of the table; few coordinates, that is cheap ones, come first."""


def laplace(rng: Generator, n: int, d: int) -> np.ndarray:
    """Independent Laplace noise of variance 1."""
    return rng.laplace(scale=np.sqrt(0.5), size=(n, d))


def correlated_with_noise(d: int) -> Draw:
    """Covariances as the target's, but half of the variance is Laplace noise."""
    covariance = equal(d, 1.0, 0.5)
    return lambda rng, n: simulate.independent(rng, covariance, n) + laplace(rng, n, d)


def neighbours_correlated(d: int, rho: float) -> Draw:
    index = np.arange(d)
    covariance = rho ** np.abs(index[:, None] - index)
    return lambda rng, n: simulate.independent(rng, covariance, n)


def sign_of_the_one_before(rng: Generator, n: int) -> np.ndarray:
    x = rng.normal(size=(n, 30))
    x[:, 1::2] = np.abs(x[:, 1::2]) * np.sign(x[:, ::2])
    return x


def scale_by_size(rng: Generator, n: int) -> np.ndarray:
    """The variance of x_0 is 1.6 or 0.4, as |x_1| is above or below its median."""
    x = rng.normal(size=(n, 30))
    x[:, 0] *= np.where(np.abs(x[:, 1]) > ndtri(0.75), np.sqrt(1.6), np.sqrt(0.4))
    return x


def sizes_together(rng: Generator, n: int) -> np.ndarray:
    """|x_0| and |x_1| have a normal copula with correlation 0.5; all marginals are right."""
    x = rng.normal(size=(n, 30))
    both = simulate.independent(rng, equal(2, 1.0, 0.5), n)
    x[:, :2] = np.sign(x[:, :2]) * ndtri((1 + ndtr(both)) / 2)
    return x


def sign_of_a_product(rng: Generator, n: int) -> np.ndarray:
    """x_2 has the sign of x_0 x_1: all pairs are independent."""
    x = rng.normal(size=(n, 30))
    x[:, 2] = np.abs(x[:, 2]) * np.sign(x[:, 0] * x[:, 1])
    return x


def one_shifted(d: int, shift: float) -> Draw:
    return lambda rng, n: rng.normal(size=(n, d)) + shift * (np.arange(d) == 0)


def banana_with_laplace(rng: Generator, n: int) -> np.ndarray:
    x = laplace(rng, n, 10)
    x[:, 1] += examples.CURVATURE * (x[:, 0] ** 2 - 1)
    return x


def far_out(rng: Generator, n: int) -> np.ndarray:
    """One draw in twenty is moved by 30 in a direction of its own."""
    x, step = rng.normal(size=(n, 5)), rng.normal(size=(n, 5))
    step *= 30 / np.linalg.norm(step, axis=1, keepdims=True)
    return x + step * (rng.uniform(size=(n, 1)) < 0.05)
