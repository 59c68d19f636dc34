"""Densities with several modes, and exact draws from them or from some of their modes."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

import steinwise as sw

APART = 12.0  # standard deviations between two modes, along the diagonal
BEND = 0.3  # of the banana-shaped modes
DATA = np.random.default_rng(27).normal(np.repeat([-1.5, 1.5], 20))  # of two equal components
GRID = np.linspace(-4, 4, 1601)  # of the two means, in steps of a fiftieth of their sd


@dataclass(frozen=True)
class Modes:
    """A density, the weights of its parts, and exact draws of the parts with given numbers."""

    target: sw.Target
    weights: tuple[float, ...]
    draws_of: Callable[[np.random.Generator, np.ndarray], np.ndarray]

    def draws(
        self, rng: np.random.Generator, n: int, weights: tuple[float, ...] | None = None
    ) -> np.ndarray:
        """Draws with the right weights of the parts, or with other ones."""
        chosen = np.asarray(weights or self.weights)
        return self.draws_of(rng, rng.choice(len(chosen), size=n, p=chosen / chosen.sum()))


def normals(weights: tuple[float, ...], means: np.ndarray, sds: tuple[float, ...]) -> Modes:
    """A mixture of normal densities; means (k, d)."""
    log_weights, widths, d = np.log(weights), np.array(sds), means.shape[1]

    def log_density(x: jax.Array) -> jax.Array:
        squares = ((x - means) ** 2).sum(axis=1) / widths**2
        return logsumexp(log_weights - d * jnp.log(widths) - squares / 2)

    def draws_of(rng: np.random.Generator, parts: np.ndarray) -> np.ndarray:
        return means[parts] + widths[parts, None] * rng.normal(size=(len(parts), d))

    return Modes(sw.Target(log_density), weights, draws_of)


def two_apart(
    d: int, weights: tuple[float, ...] = (0.5, 0.5), sds: tuple[float, ...] = (1.0, 1.0)
) -> Modes:
    return normals(weights, np.stack([np.zeros(d), np.full(d, APART / np.sqrt(d))]), sds)


def ten() -> Modes:
    """Ten equal modes at random places of ten dimensions, about 22 standard deviations apart."""
    means = 5 * np.random.default_rng(5).normal(size=(10, 10))
    return normals((0.1,) * 10, means, (1.0,) * 10)


def bananas() -> Modes:
    """Two banana-shaped modes that face each other."""

    def log_density(x: jax.Array) -> jax.Array:
        up, down = x[1] - BEND * x[0] ** 2, x[1] - 10 + BEND * x[0] ** 2
        return jnp.logaddexp(-0.5 * up**2, -0.5 * down**2) - x[0] ** 2 / 8

    def draws_of(rng: np.random.Generator, parts: np.ndarray) -> np.ndarray:
        first, noise = 2 * rng.normal(size=len(parts)), rng.normal(size=len(parts))
        up = BEND * first**2
        return np.stack([first, np.where(parts == 0, up, 10 - up) + noise], axis=1)

    return Modes(sw.Target(log_density), (0.5, 0.5), draws_of)


def label_switching() -> Modes:
    """The means of two equal components, given data of both: the labels can be exchanged.

    Its parts are the halves of the plane in which one mean is less than the other. Draws come from
    a fine grid, moved within its cells.
    """

    def log_density(x: jax.Array) -> jax.Array:
        parts = -0.5 * (DATA[:, None] - x) ** 2
        return logsumexp(parts, axis=1).sum() - 0.5 * (x**2).sum() / 9

    first, second = np.meshgrid(GRID, GRID, indexing="ij")
    likelihood = sum(np.logaddexp(-0.5 * (y - first) ** 2, -0.5 * (y - second) ** 2) for y in DATA)
    logs = likelihood - (first**2 + second**2) / 18
    chance = np.where(first < second, np.exp(logs - logs.max()), 0.0).ravel()
    chance /= chance.sum()

    def draws_of(rng: np.random.Generator, parts: np.ndarray) -> np.ndarray:
        cells = rng.choice(len(chance), size=len(parts), p=chance)
        step = GRID[1] - GRID[0]
        points = np.stack([first.ravel()[cells], second.ravel()[cells]], axis=1)
        points += step * rng.uniform(-0.5, 0.5, size=points.shape)
        return np.where(parts[:, None] == 0, points, points[:, ::-1])

    return Modes(sw.Target(log_density), (0.5, 0.5), draws_of)
