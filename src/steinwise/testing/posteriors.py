"""Posteriors with exact draws, given data that were simulated from the prior once."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from scipy import optimize, special

from steinwise.testing.exact_target import ExactTarget

# Added to the logarithm of the largest likelihood, which is known to rounding: a bound that is too
# low would cut the top off the density, one that is too high costs nothing noticeable.
ROOM = 1e-6


def logistic_regression(data: int = 20) -> ExactTarget:
    """Intercept and slope with prior N(0, 1) each, by rejection from the prior.

    A draw of the prior is kept with probability likelihood / largest likelihood. Mean and sd are by
    the trapezoidal rule on [-7, 7]^2, whose error vanishes to rounding for such smooth densities.
    """
    rng = np.random.default_rng(28)
    design = np.stack([np.ones(data), rng.normal(size=data)], axis=1)
    signs = np.where(rng.uniform(size=data) < special.expit(design @ rng.normal(size=2)), 1, -1)
    signed = signs[:, None] * design

    def log_likelihood(x: np.ndarray) -> np.ndarray:
        return -np.logaddexp(0, -x @ signed.T).sum(axis=-1)

    found = optimize.minimize(lambda x: -log_likelihood(x), np.zeros(2), tol=1e-12)
    bound = -found.fun + ROOM

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        kept = np.empty((0, 2))
        while len(kept) < n:
            proposed = rng.normal(size=(4 * n, 2))
            accepted = np.log(rng.uniform(size=4 * n)) < log_likelihood(proposed) - bound
            kept = np.concatenate([kept, proposed[accepted]])
        return kept[:n]

    axis = np.linspace(-7, 7, 201)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    weights = special.softmax(log_likelihood(grid) - 0.5 * (grid**2).sum(axis=1))
    mean = weights @ grid
    return ExactTarget(
        "logistic regression",
        ("intercept", "slope"),
        lambda x: -jnp.sum(jax.nn.softplus(-(signed @ x))) - 0.5 * jnp.sum(x**2),
        draw,
        mean,
        np.sqrt(weights @ (grid - mean) ** 2),
    )


def hierarchical_model(groups: int = 4) -> ExactTarget:
    """y_i ~ N(theta_i, 1), theta_i ~ N(mu, tau^2), mu ~ N(0, 4), log tau ~ N(0, 1), centred.

    Given log tau, the data are normal once mu and theta are integrated out: log tau is drawn by
    rejection from its prior. mu given log tau, and theta given both, are normal. Mean and sd are by
    the same formulas and the trapezoidal rule over log tau.
    """
    rng = np.random.default_rng(28)
    tau = np.exp(rng.normal())
    theta = 2 * rng.normal() + tau * rng.normal(size=groups)
    y = theta + rng.normal(size=groups)
    scatter = ((y - y.mean()) ** 2).sum()

    def log_evidence(log_tau: np.ndarray) -> np.ndarray:
        variance = 1 + np.exp(2 * log_tau)  # of y_i given mu
        of_mean = variance / groups + 4
        within = -0.5 * (groups - 1) * np.log(variance) - 0.5 * scatter / variance
        return within - 0.5 * np.log(of_mean) - 0.5 * y.mean() ** 2 / of_mean

    axis = np.linspace(-9, 9, 2001)
    near = axis[log_evidence(axis).argmax()]
    nearby = np.linspace(near - 0.01, near + 0.01, 2001)  # 1e-5 apart: a maximum to 1e-10
    bound = log_evidence(nearby).max() + ROOM

    def of_mu(log_tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of mu given log tau."""
        precision = groups / (1 + np.exp(2 * log_tau))
        return precision * y.mean() / (precision + 0.25), 1 / (precision + 0.25)

    def share_of_data(log_tau: np.ndarray) -> np.ndarray:
        """theta_i given mu and log tau: share y_i + (1 - share) mu, with the share as variance."""
        return special.expit(2 * log_tau)

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        log_tau = np.empty(0)
        while len(log_tau) < n:
            proposed = rng.normal(size=4 * n)
            accepted = np.log(rng.uniform(size=4 * n)) < log_evidence(proposed) - bound
            log_tau = np.concatenate([log_tau, proposed[accepted]])
        log_tau = log_tau[:n]
        mean, variance = of_mu(log_tau)
        mu = mean + np.sqrt(variance) * rng.normal(size=n)
        share = share_of_data(log_tau)[:, None]
        theta = (
            share * y + (1 - share) * mu[:, None] + np.sqrt(share) * rng.normal(size=(n, groups))
        )
        return np.column_stack([mu, log_tau, theta])

    def log_density(x: jax.Array) -> jax.Array:
        mu, log_tau, theta = x[0], x[1], x[2:]
        prior = -(mu**2) / 8 - 0.5 * log_tau**2
        within = -0.5 * jnp.sum((theta - mu) ** 2) * jnp.exp(-2 * log_tau) - groups * log_tau
        return prior + within - 0.5 * jnp.sum((y - theta) ** 2)

    weights = special.softmax(log_evidence(axis) - 0.5 * axis**2)
    mean, variance = of_mu(axis)
    share = share_of_data(axis)[:, None]
    theta_mean = share * y + (1 - share) * mean[:, None]
    theta_variance = np.repeat(share + (1 - share) ** 2 * variance[:, None], groups, axis=1)
    means = np.column_stack([mean, axis, theta_mean])
    variances = np.column_stack([variance, np.zeros_like(axis), theta_variance])
    return ExactTarget(
        "hierarchical model",
        ("mu", "log_tau", *(f"theta[{i}]" for i in range(groups))),
        log_density,
        draw,
        weights @ means,
        _sd_over(weights, means, variances),
    )


def _sd_over(
    weights: Float[np.ndarray, " m"], means: Float[np.ndarray, "m d"], variances: np.ndarray
) -> Float[np.ndarray, " d"]:
    """The sd of a mixture, from means and variances given its component."""
    return np.sqrt(weights @ (variances + means**2) - (weights @ means) ** 2)
