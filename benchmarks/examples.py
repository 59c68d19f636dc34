"""Targets with known conditionals, and small methods that stand for each kind of statistic."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.draws.samples import Samples
from steinwise.methods import AbstractMethod
from steinwise.methods.statistics import FeatureProduct, Mean
from steinwise.target import AbstractTarget

CURVATURE = 0.5
GRID = np.linspace(-5.5, 5.5, 401)


def standard(d: int) -> sw.Gaussian:
    """N(0, I)."""
    return sw.Gaussian(np.zeros(d), np.eye(d))


def correlated(d: int) -> sw.Gaussian:
    """N(0, S) with S_ii = 1 and S_ij = 0.5."""
    return sw.Gaussian(np.zeros(d), 0.5 * np.eye(d) + 0.5)


def correlated_log_density(x):
    """The same as a function; the inverse of S is 2 (I - 11' / (d + 1))."""
    return -jnp.sum(x**2) + jnp.sum(x) ** 2 / (x.size + 1)


def banana_log_density(x):
    """x_0 normal, x_1 given x_0 normal around 0.5 (x_0^2 - 1), the rest normal."""
    bend = CURVATURE * (x[0] ** 2 - 1)
    return -0.5 * (jnp.sum(x**2) - x[1] ** 2 + (x[1] - bend) ** 2)


def banana() -> sw.Target:
    return sw.Target(banana_log_density)


def banana_draws(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Independent draws of the banana."""
    x = rng.normal(size=(n, d))
    x[:, 1] += CURVATURE * (x[:, 0] ** 2 - 1)
    return x


def wider(target: sw.Gaussian, factor: float) -> sw.Gaussian:
    """The target with its first coordinate stretched."""
    scale = np.ones(target.mean.size)
    scale[0] = factor
    return sw.Gaussian(target.mean * scale, target.covariance * np.outer(scale, scale))


def gaussian_conditionals(law: sw.Gaussian, n_atoms: int = 10) -> sw.conditionals.Sampler:
    """Atoms from the complete conditionals of a Gaussian, N(x_j + b_j(x) / P_jj, 1 / P_jj)."""
    curvature = np.diag(law.precision)

    def draw(key: np.ndarray, x: np.ndarray, n_atoms: int) -> np.ndarray:
        noise = np.random.default_rng(key).normal(size=(*x.shape, n_atoms))
        return (x + law.score(x) / curvature)[..., None] + noise / np.sqrt(curvature)[:, None]

    return sw.conditionals.Sampler(draw, n_atoms=n_atoms)


def banana_conditionals(n_atoms: int = 10) -> sw.conditionals.Sampler:
    """Atoms from the banana's complete conditionals; for x_0 by inverting a CDF on a grid."""

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


class SteinMean(AbstractMethod):
    """A mean statistic: b_j(x) f_j(x) + f_j'(x) with fixed f_j = exp(-(x_j - v_j)^2 / 2).

    Unlike KCC-SD with the target's own conditionals, whose contributions have mean zero given
    every other draw, its contributions are as autocorrelated as the chain.
    """

    name: ClassVar[str] = "stein-mean"

    def describe(self) -> str:
        return "mean of Stein's operator on fixed functions"

    def labels(self, samples: Samples) -> tuple[str, ...]:
        return samples.names

    def statistic(self, samples: Samples, target: AbstractTarget, run: RunOptions) -> Mean:
        x = samples.rows
        away = x - np.linspace(-1.0, 1.0, samples.dim)
        bump = np.exp(-(away**2) / 2)
        return Mean(bump * (target.score(x, memory=run.memory) - away))


class SteinFeatures(AbstractMethod):
    """A feature product: Stein features at five random points, with two bandwidths.

    tau_jl(x) = b_j(x) k(x, v_l) + dk/dx_j(x, v_l) has mean zero under the target, so the mean of
    <tau(x_i), tau(x_l)> over pairs is an unbiased squared distance, coordinate by coordinate.
    """

    rows_per_chunk: int = 4096
    name: ClassVar[str] = "stein-features"

    def describe(self) -> str:
        return "product of Stein features at 5 points, 2 bandwidths"

    def labels(self, samples: Samples) -> tuple[str, ...]:
        return samples.names

    def statistic(
        self, samples: Samples, target: AbstractTarget, run: RunOptions
    ) -> FeatureProduct:
        x, d = samples.rows, samples.dim
        points = np.random.default_rng(20).normal(size=(5, d))
        widths = np.sqrt(d) * np.array([1.0, 2.0])

        def features(part: slice) -> tuple[np.ndarray, np.ndarray]:
            away = x[part, :, None] - points.T  # (rows, d, 5)
            score = target.score(x[part], memory=run.memory)[..., None]
            squared = (away**2).sum(axis=1, keepdims=True)
            bumps = [np.exp(-squared / (2 * width**2)) for width in widths]
            sides = [k * (score - away / w**2) for k, w in zip(bumps, widths, strict=True)]
            tau = np.stack(sides, axis=1)
            return tau, tau

        return FeatureProduct(samples.n, features, self.rows_per_chunk)


@dataclass(frozen=True)
class Problem:
    """A target with one method for each kind of statistic."""

    target: AbstractTarget
    conditionals: sw.conditionals.Sampler  # of the law of the draws

    @property
    def methods(self) -> dict[str, AbstractMethod]:
        return {
            "mean (KCC-SD)": sw.methods.KCCSD(self.conditionals),
            "mean (fixed functions)": SteinMean(),
            "features": SteinFeatures(),
            "Gram (KSD)": sw.methods.KSD(),
        }


def gaussian_problem(target: sw.Gaussian, law: sw.Gaussian | None = None) -> Problem:
    return Problem(target, gaussian_conditionals(target if law is None else law))


def banana_problem() -> Problem:
    return Problem(banana(), banana_conditionals())
