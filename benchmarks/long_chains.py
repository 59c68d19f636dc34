"""Long chains of a sampler that is given as one step."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from steinwise.testing import ExactTarget

CHAINS, WARMUP = 4, 200  # chains start at exact draws: the warm-up only makes up for wrong steps
WALKERS = 20  # of an ensemble; at least twice the coordinates of every target, as their authors ask


class Sampler(NamedTuple):
    """One step, and the way from a point to a state and back."""

    step: Callable[[Any, Any], Any]
    init: Callable[[Any, Any], Any] | None = None
    position: Callable[[Any], Any] | None = None


def chain_runner(target: ExactTarget, sampler: Sampler, draws: int) -> Callable[[int], np.ndarray]:
    """A function of the number of steps from one draw to the next, which is compiled once.

    It makes this many draws of all chains together, (chain, draw, coordinate).
    """
    start = jnp.asarray(target.draw(1, CHAINS))
    keys = jax.random.split(jax.random.key(1), CHAINS)
    run = jax.jit(jax.vmap(_chain(sampler, draws // CHAINS), in_axes=(0, 0, None)))
    return lambda thin: np.asarray(run(keys, start, thin), np.float64)


def ensemble_runner(
    target: ExactTarget, sampler: Sampler, draws: int
) -> Callable[[int], np.ndarray]:
    """The same for a sampler whose state has the positions of all walkers, (walker, coordinate)."""
    start = jnp.asarray(target.draw(1, WALKERS))
    run = jax.jit(_chain(sampler, draws // WALKERS))
    return lambda thin: np.asarray(run(jax.random.key(1), start, thin), np.float64).swapaxes(0, 1)


def _chain(sampler: Sampler, draws: int) -> Callable[[Any, Any, Any], Any]:
    init, position = sampler.init or (lambda _, x: x), sampler.position or (lambda x: x)

    def chain(key: Any, x: Any, thin: Any) -> Any:
        def draw(state: Any, key: Any) -> tuple[Any, Any]:
            def move(number: Any, state: Any) -> Any:
                return sampler.step(jax.random.fold_in(key, number), state)

            state = jax.lax.fori_loop(0, thin, move, state)
            return state, position(state)

        keys = jax.random.split(key, WARMUP + draws)
        return jax.lax.scan(draw, init(keys[0], x), keys)[1][WARMUP:]

    return chain
