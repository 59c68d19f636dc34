"""From one step of a sampler to chains of draws."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from steinwise._internal.random import stream
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import require_whole
from steinwise.errors import InputError

DRAWS_PER_CALL = 250  # kept draws of one compiled call, between two ticks of the progress bar


def _everything(key: Array, x: Any) -> Any:  # noqa: ARG001
    return x


class AbstractSampler(eqx.Module):
    """A Markov chain, given by one step.

    Its author writes `step`; chains, warm-up, thinning and online statistics come with it.
    """

    @abc.abstractmethod
    def step(self, key: Array, x: Any) -> Any:
        """The next state of one chain: a function that JAX can trace."""

    def sample(
        self,
        start: Any,
        n_draws: int,
        *,
        warmup: int = 0,
        thin: int = 1,
        keep: Callable[[Array, Any], Any] = _everything,
        seed: Any = 0,
        progress: bool | None = None,
    ) -> Any:
        """Run one chain from every row of `start`.

        Step t of chain c has a random key of its own, so that a chain is the same whatever the
        number of chains, and its first draws are whatever the number of draws.

        Parameters
        ----------
        start
            The first states, with the chain as first axis: (chain, d), or a dict or tuple of such
            arrays. They are not among the draws.
        n_draws
            Draws to keep of every chain.
        warmup
            Steps before the first of them.
        thin
            Steps between two of them.
        keep
            ``keep(key, x)``: what to keep of a state, where the states are too large to keep. The
            key is for statistics that draw random numbers themselves.
        seed
            An integer or a JAX key.
        progress
            Show a progress bar; by default only on a terminal.

        Returns
        -------
        The kept draws as NumPy arrays in 64 bit, (chain, draw, ...) each.
        """
        require_whole("n_draws", n_draws, least=1)
        require_whole("warmup", warmup, least=0)
        require_whole("thin", thin, least=1)
        state, chains = _checked(start)
        words = [stream(seed, "sampler", c).integers(2**32, size=2) for c in range(chains)]
        calls = [DRAWS_PER_CALL] * (n_draws // DRAWS_PER_CALL)
        calls += [n_draws % DRAWS_PER_CALL] * (n_draws % DRAWS_PER_CALL > 0)
        pieces, done = [], warmup
        with jax.enable_x64(True):
            keys = jax.random.wrap_key_data(jnp.array(words, jnp.uint32), impl="threefry2x32")
            state = _advance(self, keys, jnp.asarray(warmup), state)
            for count in RunOptions(progress=progress).bar(calls, len(calls), "sampling"):
                steps = jnp.asarray((done, thin))  # traced: numbers would compile every call anew
                state, kept = _draws(self, keep, count, keys, steps, state)
                pieces.append(jax.tree.map(np.asarray, kept))
                done += count * thin
        return jax.tree.map(lambda *parts: np.concatenate(parts, axis=1), *pieces)


def _checked(start: Any) -> tuple[Any, int]:
    """The first states in 64 bit, and the number of chains."""
    state = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), start)
    leaves = jax.tree.leaves(state)
    if not leaves or min(leaf.ndim for leaf in leaves) < 1:
        raise InputError(
            "start has no chain axis: expected (chain, d), or a dict or tuple of arrays whose "
            "first axis is the chain. For one chain pass start[None]."
        )
    if len({len(leaf) for leaf in leaves}) > 1 or not len(leaves[0]):
        raise InputError(
            f"the arrays of start have {[len(leaf) for leaf in leaves]} rows: expected one row per "
            "chain in each of them, and at least one."
        )
    wrong = sum(int((~np.isfinite(leaf)).sum()) for leaf in leaves)
    if wrong:
        raise InputError(f"{wrong} numbers of start are NaN or infinite.")
    return state, len(leaves[0])


@eqx.filter_jit
def _advance(sampler: AbstractSampler, keys: Array, steps: Array, state: Any) -> Any:
    """The states after this many steps."""
    return jax.vmap(lambda key, x: _steps(sampler, key, 0, steps, x))(keys, state)


@eqx.filter_jit
def _draws(
    sampler: AbstractSampler,
    keep: Callable,
    count: int,
    keys: Array,
    steps: Array,
    state: Any,
) -> tuple[Any, Any]:
    """The states `count` draws on, and what is kept of them.

    `steps` are those that were made already, and those between two draws.
    """
    done, thin = steps

    def chain(key: Array, x: Any) -> tuple[Any, Any]:
        key_keep = jax.random.split(key)[1]

        def one(x: Any, number: Array) -> tuple[Any, Any]:
            first = done + number * thin
            x = _steps(sampler, key, first, first + thin, x)
            return x, keep(jax.random.fold_in(key_keep, first), x)

        return jax.lax.scan(one, x, jnp.arange(count))

    return jax.vmap(chain)(keys, state)


def _steps(sampler: AbstractSampler, key: Array, first: Any, last: Any, x: Any) -> Any:
    key_step = jax.random.split(key)[0]

    def one(t: Array, x: Any) -> Any:
        return sampler.step(jax.random.fold_in(key_step, t), x)

    return jax.lax.fori_loop(first, last, one, x)
