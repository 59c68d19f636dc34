"""Log densities as users write them, with data small enough for nested derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm

RNG = np.random.default_rng(0)
DESIGN = RNG.normal(size=(40, 5))
OUTCOMES = (RNG.uniform(size=40) < 0.5).astype(float)
GROUP = RNG.integers(0, 6, 40)
RETURNS = RNG.normal(size=10)
TIMES = np.linspace(0, 3, 6)
COUNTS = RNG.poisson(2, 40).astype(float)


def logistic(w):
    logits = DESIGN @ w
    return jnp.sum(OUTCOMES * (DESIGN @ w) - jnp.logaddexp(0.0, logits)) - jnp.sum(w**2) / 8


def dummies(w):
    """A regression on indicators: zeros in the design keep coordinates apart."""
    indicators = np.eye(4)[GROUP % 4]
    return jnp.sum(COUNTS * (indicators @ w) - jnp.exp(indicators @ w)) - w @ w


def hierarchical(w):
    """Random intercepts and slopes, and log scales."""
    intercept, slope, (mean, log_scale, log_noise) = w[:6], w[6:12], w[12:]
    expected = intercept[GROUP] + slope[GROUP] * DESIGN[:, 0]
    return (
        norm.logpdf(intercept, mean, jnp.exp(log_scale)).sum()
        + norm.logpdf(slope).sum()
        + norm.logpdf(DESIGN[:, 1], expected, jnp.exp(log_noise)).sum()
        - jnp.sum(w[12:] ** 2)
    )


def volatility(w):
    states, mean, persistence, log_scale = w[:10], w[10], jnp.tanh(w[11]), w[12]
    steps = states[1:] - mean - persistence * (states[:-1] - mean)
    return (
        jnp.sum(-0.5 * (steps * jnp.exp(-log_scale)) ** 2 - log_scale)
        - 0.5 * jnp.sum(states + RETURNS**2 * jnp.exp(-states))
        - jnp.sum(w[10:] ** 2)
    )


def volatility_scan(w):
    states, persistence, log_scale = w[:10], jnp.tanh(w[10]), w[11]

    def one(previous, state):
        step = (state - persistence * previous) * jnp.exp(-log_scale)
        return state, -0.5 * step**2 - log_scale

    _, steps = jax.lax.scan(one, 0.0, states)
    return steps.sum() - 0.5 * jnp.sum(states + RETURNS**2 * jnp.exp(-states)) - w[11] ** 2


def gaussian_process(w):
    distances = (TIMES[:, None] - TIMES) ** 2
    kernel = jnp.exp(2 * w[0] - 0.5 * distances * jnp.exp(-2 * w[1])) + 0.01 * np.eye(6)
    latent = jnp.linalg.cholesky(kernel) @ w[2:]
    return jnp.sum(OUTCOMES[:6] * latent - jax.nn.softplus(latent)) - jnp.sum(w**2) / 2


def negative_binomial(w):
    mean, size = jnp.exp(DESIGN[:, :2] @ w[:2]), jnp.exp(w[2])
    return jnp.sum(
        jax.scipy.special.gammaln(COUNTS + size)
        - jax.scipy.special.gammaln(size)
        + size * jnp.log(size / (size + mean))
        + COUNTS * jnp.log(mean / (size + mean))
    ) - jnp.sum(w**2)


def mixture(w):
    """Means in order by cumulative sums, weights by softmax, one component per datum summed out."""
    means, weights = jnp.cumsum(jnp.exp(w[:3])), jax.nn.log_softmax(w[3:6])
    each = weights + norm.logpdf(DESIGN[:, :1], means, 1.0)
    return jax.nn.logsumexp(each, axis=1).sum() - jnp.sum(w**2) / 2


def schools(w):
    mean, log_scale, effects = w[0], w[1], w[2:]
    return (
        norm.logpdf(effects, mean, jnp.exp(log_scale)).sum()
        + norm.logpdf(RETURNS[:8], effects, 1.0 + np.arange(8) / 8).sum()
        - mean**2
        - log_scale**2
    )


MODELS = {
    "logistic": (logistic, 5),
    "dummies": (dummies, 4),
    "hierarchical": (hierarchical, 15),
    "volatility": (volatility, 13),
    "volatility by scan": (volatility_scan, 12),
    "gaussian process": (gaussian_process, 8),
    "negative binomial": (negative_binomial, 3),
    "mixture": (mixture, 6),
    "schools": (schools, 10),
}
