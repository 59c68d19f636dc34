"""Log densities of ordinary posteriors, with data made from a seed."""

from collections.abc import Callable
from typing import Any

import numpy as np

LogDensity = Callable[[Any], Any]


def logistic_data(data: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    design = rng.normal(size=(data, d))
    weights = 2 * rng.normal(size=d) / np.sqrt(d)
    y = (rng.uniform(size=data) < 1 / (1 + np.exp(-design @ weights))).astype(float)
    return design, y


def logistic(data: int, d: int) -> tuple[LogDensity, int]:
    """A logistic regression with normal coefficients."""
    import jax.numpy as jnp

    design, y = logistic_data(data, d)

    def log_density(w):
        logits = design @ w
        return jnp.sum(y * logits - jnp.logaddexp(0.0, logits)) - w @ w / 8

    return log_density, d


def hierarchical_data(
    groups: int = 50, data: int = 2000
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    group, x = rng.integers(0, groups, data), rng.normal(size=data)
    intercepts, slopes = 1 + 0.5 * rng.normal(size=groups), -0.5 + 0.8 * rng.normal(size=groups)
    return group, x, intercepts[group] + slopes[group] * x + rng.normal(size=data)


def hierarchical(groups: int = 50, data: int = 2000) -> tuple[LogDensity, int]:
    """A regression whose intercepts and slopes vary by group, with unknown scales."""
    import jax.numpy as jnp

    group, x, y = hierarchical_data(groups, data)

    def normal(value, mean, log_sd):
        return jnp.sum(-0.5 * ((value - mean) * jnp.exp(-log_sd)) ** 2 - log_sd)

    def log_density(w):
        a, b, shared = w[:groups], w[groups : 2 * groups], w[2 * groups :]
        prior = normal(a, shared[0], shared[2]) + normal(b, shared[1], shared[3])
        likelihood = normal(y, a[group] + b[group] * x, shared[4])
        return prior + likelihood - shared @ shared / 8

    return log_density, 2 * groups + 5


def volatility(length: int = 500) -> tuple[LogDensity, int]:
    """Stochastic volatility: a latent autoregression of log variances."""
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    level = np.zeros(length)
    for t in range(1, length):
        level[t] = 0.95 * level[t - 1] + 0.25 * rng.normal()
    y = np.exp((level - 1) / 2) * rng.normal(size=length)

    def log_density(w):
        h, mean, phi, log_sd = w[:length], w[length], jnp.tanh(w[length + 1]), w[length + 2]
        steps = (h[1:] - mean - phi * (h[:-1] - mean)) * jnp.exp(-log_sd)
        first = (h[0] - mean) ** 2 * (1 - phi**2) * jnp.exp(-2 * log_sd)
        walk = -0.5 * steps @ steps - length * log_sd + 0.5 * jnp.log1p(-(phi**2)) - 0.5 * first
        returns = jnp.sum(-0.5 * h - 0.5 * y**2 * jnp.exp(-h))
        prior = -(mean**2) / 8 - 2 * (w[length + 1] - 1.8) ** 2 - 2 * (log_sd + 1.5) ** 2
        return walk + returns + prior

    return log_density, length + 3


def gaussian_process(data: int = 98) -> tuple[LogDensity, int]:
    """Classification by a latent Gaussian process, whitened, with unknown length and size.

    Their priors keep the length between the distances of the data and their range: with priors of
    sd 1 on its logarithm the slowest mean of NUTS has an autocorrelation time of 100 draws, and
    4000 draws are too few for a verdict.
    """
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 4, size=data))
    y = (rng.uniform(size=data) < 1 / (1 + np.exp(-2 * np.sin(2 * x)))).astype(float)
    distances = (x[:, None] - x) ** 2

    def log_density(w):
        log_size, log_length = 0.5 + 0.5 * w[0], -0.3 + 0.3 * w[1]
        kernel = jnp.exp(2 * log_size - 0.5 * distances * jnp.exp(-2 * log_length))
        root = jnp.linalg.cholesky(kernel + 1e-4 * jnp.eye(data))
        logits = root @ w[2:]
        return jnp.sum(y * logits - jnp.logaddexp(0.0, logits)) - 0.5 * w @ w

    return log_density, data + 2


def eight_schools() -> tuple[LogDensity, int]:
    """The eight schools, non-centred."""
    import jax.numpy as jnp

    effects = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
    errors = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])

    def log_density(w):
        mean, log_tau, z = w[0], w[1], w[2:]
        residuals = (effects - mean - jnp.exp(log_tau) * z) / errors
        prior = -(mean**2) / 50 - jnp.log1p(jnp.exp(2 * log_tau) / 25) + log_tau
        return -0.5 * residuals @ residuals - 0.5 * z @ z + prior

    return log_density, 10


POSTERIORS: dict[str, Callable[[], tuple[LogDensity, int]]] = {
    "logistic, 1000 x 30": lambda: logistic(1000, 30),
    "logistic, 5000 x 30": lambda: logistic(5000, 30),
    "logistic, 10,000 x 50": lambda: logistic(10_000, 50),
    "hierarchical, 50 groups": hierarchical,
    "volatility, 500 steps": volatility,
    "Gaussian process, 98 data": gaussian_process,
    "eight schools": eight_schools,
}
