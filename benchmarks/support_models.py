"""Densities with bounded, discrete and mixed coordinates, and exact draws from them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import gammaln
from scipy.special import expit

import steinwise as sw

BINARY, COUNTS = sw.support.integers(0, 1), sw.support.integers(0, None)
SIDE = 5  # of the grid of an Ising model
WEIGHTS = np.array([[1.0, -0.5], [0.5, 0.8], [-0.7, 0.3]])  # visible by hidden
HIDDEN_BIAS = np.array([-0.5, 0.2])
DATA = np.array([-2.3, -1.9, -1.4, -0.8, -0.2, 0.4, 1.1, 1.7, 2.0, 2.6])  # of the mixture
PRIOR = np.array([-1.0, 1.0])  # the means of the priors of its means, both of sd 1
SWEEPS = 60
FORGOTTEN = 3  # the datum, at -0.8, whose assignment a faulty sampler does not update


def gamma(shape: float, rate: float = 1.0) -> sw.Target:
    return sw.Target(
        lambda x: (shape - 1) * jnp.log(x[0]) - rate * x[0], support=sw.support.positive
    )


def normal() -> sw.Target:
    return sw.Target(lambda x: -0.5 * x[0] ** 2)


def beta(shape: float) -> sw.Target:
    return sw.Target(
        lambda x: (shape - 1) * (jnp.log(x[0]) + jnp.log1p(-x[0])),
        support=sw.support.interval(0, 1),
    )


def normal_between(low: float, high: float) -> sw.Target:
    return sw.Target(lambda x: -0.5 * x[0] ** 2, support=sw.support.interval(low, high))


def poisson(rate: float) -> sw.Target:
    return sw.Target(lambda x: x[0] * jnp.log(rate) - gammaln(x[0] + 1), support=COUNTS)


def bernoulli(p: float) -> sw.Target:
    return sw.Target(lambda x: x[0] * jnp.log(p / (1 - p)), support=BINARY)


RARE_EVENT = 0.02


def rare_events() -> sw.Target:
    """Independent events, of which no two coincide in most samples."""
    return sw.Target(lambda x: jnp.sum(x) * jnp.log(RARE_EVENT / (1 - RARE_EVENT)), support=BINARY)


def ising(coupling: float) -> sw.Target:
    """Spins of -1 and 1 on a grid, each coupled to its neighbours."""

    def log_density(x: jax.Array) -> jax.Array:
        grid = x.reshape(SIDE, SIDE)
        return coupling * (jnp.sum(grid[1:] * grid[:-1]) + jnp.sum(grid[:, 1:] * grid[:, :-1]))

    return sw.Target(log_density, support=sw.support.values([-1, 1]))


def ising_draws(rng: np.random.Generator, coupling: float, n: int) -> np.ndarray:
    """Exact: row by row, each given the last, with what all later rows sum to."""
    rows = 2.0 * ((np.arange(2**SIDE)[:, None] >> np.arange(SIDE)) & 1) - 1
    own = np.exp(coupling * (rows[:, 1:] * rows[:, :-1]).sum(axis=1))
    across = np.exp(coupling * rows @ rows.T)
    later = [np.ones(len(rows))]
    for _ in range(SIDE - 1):
        later.append(across @ (own * later[-1]))
    chosen = rng.choice(len(rows), n, p=_normalised(own * later[-1]))
    grid = [rows[chosen]]
    for beyond in later[-2::-1]:
        table = np.cumsum(_normalised(across * own * beyond), axis=1)
        chosen = (rng.random((n, 1)) > table[chosen]).sum(axis=1)
        grid.append(rows[chosen])
    return np.concatenate(grid, axis=1)


def _normalised(weights: np.ndarray) -> np.ndarray:
    return weights / weights.sum(axis=-1, keepdims=True)


def machine() -> sw.Target:
    """A Gaussian-Bernoulli machine: three real visible units, two binary hidden ones."""

    def log_density(x: jax.Array) -> jax.Array:
        visible, hidden = x[:3], x[3:]
        return -0.5 * jnp.sum(visible**2) + visible @ WEIGHTS @ hidden + HIDDEN_BIAS @ hidden

    return sw.Target(log_density, support={3: BINARY, 4: BINARY})


def machine_draws(rng: np.random.Generator, n: int) -> np.ndarray:
    states = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], float)
    weights = np.exp(states @ HIDDEN_BIAS + 0.5 * ((states @ WEIGHTS.T) ** 2).sum(axis=1))
    hidden = states[rng.choice(4, n, p=_normalised(weights))]
    return np.concatenate([hidden @ WEIGHTS.T + rng.normal(size=(n, 3)), hidden], axis=1)


def mixture() -> sw.Target:
    """Two means and the assignments of ten data, in a mixture of two unit normals."""

    def log_density(x: jax.Array) -> jax.Array:
        means, assigned = x[:2], x[2:]
        of_data = jnp.where(assigned > 0.5, means[1], means[0])
        return -0.5 * jnp.sum((DATA - of_data) ** 2) - 0.5 * jnp.sum((means - PRIOR) ** 2)

    return sw.Target(log_density, support={2 + i: BINARY for i in range(len(DATA))})


def mixture_draws(
    rng: np.random.Generator, chains: int, draws: int = 1, *, forget: bool = False
) -> np.ndarray:
    """Gibbs chains, or, with one draw of each, independent draws.

    With `forget`, a datum is never assigned anew, and stays where the start put it.
    """
    means, assigned = np.tile(PRIOR, (chains, 1)), np.tile(DATA > 0, (chains, 1)) * 1.0
    kept = np.empty((chains, draws, 2 + len(DATA)))
    for sweep in range(SWEEPS + draws):
        to_second = expit(0.5 * (DATA - means[:, :1]) ** 2 - 0.5 * (DATA - means[:, 1:]) ** 2)
        updated = (rng.random(assigned.shape) < to_second).astype(float)
        if forget:
            updated[:, FORGOTTEN] = assigned[:, FORGOTTEN]
        assigned = updated
        for k in (0, 1):
            mine = assigned == k
            precision = mine.sum(axis=1) + 1.0
            centre = ((mine * DATA).sum(axis=1) + PRIOR[k]) / precision
            means[:, k] = centre + rng.normal(size=chains) / np.sqrt(precision)
        if sweep >= SWEEPS:
            kept[:, sweep - SWEEPS] = np.concatenate([means, assigned], axis=1)
    return kept[:, 0] if draws == 1 else kept
