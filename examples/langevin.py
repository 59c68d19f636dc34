"""Stochastic gradient Langevin dynamics: how large may the step be?

There is no acceptance test, so large steps are biased, while small steps mix slowly. R-hat does not
show the bias. `sw.compare` checks all steps, and says how far off each is; by KSD, with the
V-statistic, it weighs bias against mixing for a given number of draws.

Run with ``python examples/langevin.py [FOLDER]``; the figure goes to FOLDER.
"""

import sys
import warnings
from pathlib import Path

import blackjax
import jax
import jax.numpy as jnp
import numpy as np

import steinwise as sw

STEPS = (0.0003, 0.002, 0.02)
DATA = np.random.default_rng(0).normal([0.5, -0.5], 3.0, size=(100, 2))


def log_density(x):
    """A mean with a standard normal prior, observed with noise of standard deviation 3."""
    return -0.5 * jnp.sum(x**2) - 0.5 * jnp.sum((DATA - x) ** 2) / 9


def langevin(step: float, n_chains: int, n_draws: int, batch: int = 20):
    """Chains of SGLD with minibatches, every tenth draw: (chain, draw, coordinate)."""
    y = jnp.asarray(DATA)

    def gradient(x, rows):
        return -x + len(y) / batch * jnp.sum((y[rows] - x) / 9, axis=0)

    kernel = blackjax.sgld(gradient)

    def chain(key):
        def move(x, key):
            choose, noise = jax.random.split(key)
            rows = jax.random.choice(choose, len(y), (batch,))
            x = kernel.step(noise, x, rows, step)
            return x, x

        _, path = jax.lax.scan(move, jnp.zeros(2), jax.random.split(key, 10 * (n_draws + 50)))
        return path[500::10]

    return np.asarray(jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(0), n_chains)))


def runs(n_draws: int = 1000) -> dict[str, np.ndarray]:
    return {f"step {step}": langevin(step, 4, n_draws) for step in STEPS}


def main(folder: str = "out") -> None:
    chains = runs()
    with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
        found = sw.compare(chains, log_density)  # its notes are below the table
    print(found)
    print(f"\n{sw.compare(chains, log_density, method='ksd', estimator='v')}")
    largest = f"step {STEPS[-1]}"
    result = found[largest]
    print(f"\n--- {largest} ---\n\n{result}")
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    result.plot().savefig(out / "langevin.png", dpi=120)


if __name__ == "__main__":
    main(*sys.argv[1:2])
