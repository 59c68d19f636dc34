"""Targets with known draws and known complete conditionals."""

import jax.numpy as jnp
import numpy as np

import steinwise as sw

CURVATURE = 0.5
GRID = np.linspace(-5.5, 5.5, 401)  # of x_0; beyond it a standard normal has 4e-8 of its mass


def standard(d: int) -> sw.Gaussian:
    """N(0, I)."""
    return sw.Gaussian(np.zeros(d), np.eye(d))


def correlated(d: int) -> sw.Gaussian:
    """N(0, S) with S_ii = 1 and S_ij = 0.5."""
    return sw.Gaussian(np.zeros(d), 0.5 * np.eye(d) + 0.5)


def correlated_log_density(x):
    """The log density of `correlated`; the inverse of S is 2 (I - 11' / (d + 1))."""
    return -jnp.sum(x**2) + jnp.sum(x) ** 2 / (x.size + 1)


def banana_log_density(x):
    """x_0 is normal, x_1 given x_0 is normal around 0.5 (x_0^2 - 1), the rest are normal."""
    bend = CURVATURE * (x[0] ** 2 - 1)
    return -0.5 * (jnp.sum(x**2) - x[1] ** 2 + (x[1] - bend) ** 2)


def banana() -> sw.Target:
    return sw.Target(banana_log_density)


def banana_draws(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Independent draws from the banana."""
    x = rng.normal(size=(n, d))
    x[:, 1] += CURVATURE * (x[:, 0] ** 2 - 1)
    return x


def wider(target: sw.Gaussian, factor: float) -> sw.Gaussian:
    """The target with its first coordinate stretched."""
    scale = np.ones(target.mean.size)
    scale[0] = factor
    return sw.Gaussian(target.mean * scale, target.covariance * np.outer(scale, scale))


def gaussian_conditionals(gaussian: sw.Gaussian, n_atoms: int = 10) -> sw.conditionals.Sampler:
    """Atoms from the complete conditionals of a Gaussian, N(x_j + b_j(x) / P_jj, 1 / P_jj)."""
    curvature = np.diag(gaussian.precision)

    def draw(key: np.ndarray, x: np.ndarray, n_atoms: int) -> np.ndarray:
        noise = np.random.default_rng(key).normal(size=(*x.shape, n_atoms))
        mean = x + gaussian.score(x) / curvature
        return mean[..., None] + noise / np.sqrt(curvature)[:, None]

    return sw.conditionals.Sampler(draw, n_atoms=n_atoms)


def banana_conditionals(n_atoms: int = 10) -> sw.conditionals.Sampler:
    """Atoms from the banana's complete conditionals; that of x_0 by inverting a CDF on a grid."""

    def draw(key: np.ndarray, x: np.ndarray, n_atoms: int) -> np.ndarray:
        rng = np.random.default_rng(key)
        out = rng.normal(size=(*x.shape, n_atoms))
        out[:, 1] += CURVATURE * (x[:, [0]] ** 2 - 1)
        misfit = x[:, [1]] - CURVATURE * (GRID**2 - 1)
        density = np.exp(-0.5 * (GRID**2 + misfit**2))
        cdf = np.cumsum((density[:, 1:] + density[:, :-1]) / 2, axis=1)
        cdf = np.concatenate([np.zeros((len(x), 1)), cdf / cdf[:, -1:]], axis=1)
        uniform = rng.uniform(size=(len(x), n_atoms))
        for row in range(len(x)):
            out[row, 0] = np.interp(uniform[row], cdf[row], GRID)
        return out

    return sw.conditionals.Sampler(draw, n_atoms=n_atoms)
