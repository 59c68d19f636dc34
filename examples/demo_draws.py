"""The draws that `make demo` checks: mean-field variational inference for twelve hospitals.

A normal distribution with independent coordinates is fitted to the posterior by stochastic
gradients of the evidence lower bound, as PyMC, NumPyro and Stan do by default.

Run with ``python examples/demo_draws.py [FILE]``; the draws go to FILE, by default to the place
where the demo reads them.
"""

import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from steinwise import demo

STEPS, NOISE = 5000, 64  # steps of Adam, and draws for each gradient
DRAWS = 1000


def fit(key: jax.Array, dim: int) -> Any:
    """Means and log sds of the independent normals that maximise the lower bound."""

    def loss(parameters, noise):
        mean, log_sd = parameters
        x = mean + jnp.exp(log_sd) * noise
        return -jnp.mean(jax.vmap(demo.log_density)(x)) - jnp.sum(log_sd)

    parameters = (jnp.zeros(dim), jnp.zeros(dim))
    optimiser = optax.adam(optax.cosine_decay_schedule(0.05, STEPS))

    def step(state, key):
        parameters, memory = state
        gradient = jax.grad(loss)(parameters, jax.random.normal(key, (NOISE, dim)))
        updates, memory = optimiser.update(gradient, memory)
        return (optax.apply_updates(parameters, updates), memory), None

    start = (parameters, optimiser.init(parameters))
    (parameters, _), _ = jax.lax.scan(step, start, jax.random.split(key, STEPS))
    return parameters


def main(file: str = str(demo.DRAWS)) -> None:
    dim = len(demo.NAMES)
    mean, log_sd = fit(jax.random.key(0), dim)
    noise = np.random.default_rng(0).normal(size=(DRAWS, dim))
    draws = np.asarray(mean) + np.exp(np.asarray(log_sd)) * noise
    np.savez_compressed(file, draws=draws.astype(np.float32), names=np.array(demo.NAMES))
    print(f"{Path(file).stat().st_size / 1024:.0f} kB in {file}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
