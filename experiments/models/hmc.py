"""Hamiltonian Monte Carlo by BlackJAX: the reference that other samplers are compared with."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

LEAPFROG_STEPS = 100  # of one draw: enough for R-hat below 1.02 in the network of panel 11


def hmc(
    log_density: Callable[[Array], Array],
    start: Float[np.ndarray, "chains d"],
    burn_in: int,
    n: int,
    seed: int,
) -> tuple[Float[np.ndarray, "chains n d"], Float[np.ndarray, " chains"]]:
    """The draws of each chain, and its mean acceptance rate; step and mass matrix are adapted."""
    import blackjax

    def chain(key: jax.Array, start: jax.Array) -> tuple[jax.Array, jax.Array]:
        key_adapt, key_draw = jax.random.split(key)
        adaptation: Any = blackjax.window_adaptation(
            blackjax.hmc, log_density, num_integration_steps=LEAPFROG_STEPS
        )
        (state, settings), _ = adaptation.run(key_adapt, start, burn_in)
        step: Any = blackjax.hmc(log_density, **settings).step

        def transition(state: Any, key: jax.Array) -> tuple[Any, tuple]:
            state, info = step(key, state)
            return state, (state.position, info.acceptance_rate)

        keys = jax.random.split(key_draw, n)
        return jax.lax.scan(transition, state, keys)[1]

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(seed % 2**31), len(start))
        draws, accepted = jax.jit(
            lambda keys, start: jax.lax.map(lambda both: chain(*both), (keys, start))
        )(keys, jnp.asarray(start))
    return np.asarray(draws), np.asarray(accepted).mean(axis=1)
