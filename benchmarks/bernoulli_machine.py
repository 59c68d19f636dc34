"""A Gaussian-Bernoulli machine with weights of +-1, and the states of its Gibbs sampler.

p(x) is the sum over h in {-1, 1}^40 of exp(x' B h / 2 + b' x + c' h - |x|^2 / 2), with 50 visible
units x: the benchmark of several papers on Stein discrepancies. It has very many modes, and no
correct draws are known: the mean of log p still rises after 8000 sweeps of the sampler.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

import steinwise as sw

VISIBLE, HIDDEN = 50, 40
SEED = 27  # of weights and biases


@dataclass(frozen=True, eq=False)
class BernoulliMachine:
    """Weights B, biases b of visible and c of hidden units, and log p."""

    weights: np.ndarray
    visible: np.ndarray
    hidden: np.ndarray
    target: sw.Target

    def gibbs(self, rng: np.random.Generator, n: int, sweeps: int) -> np.ndarray:
        """The last states of independent chains that start at N(0, I)."""
        x = rng.normal(size=(n, VISIBLE))
        for _ in range(sweeps):
            chance = 0.5 + 0.5 * np.tanh(x @ self.weights / 2 + self.hidden)
            h = np.where(rng.uniform(size=chance.shape) < chance, 1.0, -1.0)
            x = self.visible + h @ self.weights.T / 2 + rng.normal(size=x.shape)
        return x


def machine() -> BernoulliMachine:
    rng = np.random.default_rng(SEED)
    weights = rng.choice([-1.0, 1.0], size=(VISIBLE, HIDDEN))
    visible, hidden = rng.normal(size=VISIBLE), rng.normal(size=HIDDEN)

    def log_density(x: jax.Array) -> jax.Array:
        total = x @ weights / 2 + hidden
        return jnp.logaddexp(total, -total).sum() + visible @ x - (x**2).sum() / 2

    return BernoulliMachine(weights, visible, hidden, sw.Target(log_density))
