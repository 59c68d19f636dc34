"""From one step of a sampler to chains of draws."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from steinwise._internal.compiled import precision
from steinwise._internal.counting import by_count, counted
from steinwise._internal.random import stream
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import as_numbers, require_function, require_whole
from steinwise.errors import InputError

# Draws kept in one compiled call: with more, the progress bar and an interruption would wait; with
# fewer, the calls themselves would take a noticeable share of the time.
DRAWS_PER_CALL = 250


def _whole_state(key: Array, x: Any) -> Any:  # noqa: ARG001
    return x


class AbstractSampler(eqx.Module):
    """A Markov chain, given by one step.

    A new sampler defines `step`; chains, warm-up, thinning and online statistics come with it.
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
        keep: Callable[[Array, Any], Any] = _whole_state,
        seed: Any = 0,
        progress: bool | None = None,
    ) -> Any:
        """Run one chain from every row of `start`.

        Step t of chain c has its own random key: a chain does not depend on the number of chains,
        nor its first draws on the number of draws.

        Parameters
        ----------
        start
            The first states, with the chain as first axis: (chain, d), or a dict or tuple of such
            arrays. They are not among the draws.
        n_draws
            The number of draws to keep of every chain.
        warmup
            The number of steps before the first draw.
        thin
            The number of steps from one draw to the next.
        keep
            ``keep(key, x)``: what to keep of a state, if the states are too large to keep. The key
            is for statistics that use random numbers themselves.
        seed
            An integer or a JAX key.
        progress
            Show a progress bar; by default only on a terminal and in a notebook.

        Returns
        -------
        The draws as NumPy arrays in 64 bit, each of shape (chain, draw, ...).

        Notes
        -----
        Functions are compiled at their first use and kept: what they read from outside (global
        variables, closures) is what it was then. If it changes, pass a new function.
        """
        require_whole("n_draws", n_draws, least=1)
        require_whole("warmup", warmup, least=0)
        require_whole("thin", thin, least=1)
        require_function("keep", keep, "a function keep(key, x)")
        run = RunOptions(progress=progress)
        state, chains = _check_start(start)
        words = [stream(seed, "sampler", c).integers(2**32, size=2) for c in range(chains)]
        calls = [DRAWS_PER_CALL] * (n_draws // DRAWS_PER_CALL)
        calls += [n_draws % DRAWS_PER_CALL] * (n_draws % DRAWS_PER_CALL > 0)
        pieces, done = [], warmup
        with precision():
            keys = jax.random.wrap_key_data(jnp.array(words, jnp.uint32), impl="threefry2x32")
            state = _advance(self, keys, jnp.asarray(warmup), state)
            for count in run.bar(calls, len(calls), "sampling"):
                steps = jnp.asarray((done, thin))  # as an array: Python numbers would recompile
                state, kept = _sample_chunk(self, keep, count, keys, steps, state)
                pieces.append(jax.tree.map(np.asarray, kept))
                done += count * thin
        return jax.tree.map(lambda *arrays: np.concatenate(arrays, axis=1), *pieces)


def _check_start(start: Any) -> tuple[Any, int]:
    """The first states in 64 bit, and the number of chains."""
    state = jax.tree.map(_start_of, start)
    leaves = jax.tree.leaves(state)
    if not leaves or min(leaf.ndim for leaf in leaves) < 1:
        raise InputError(
            "start has no chain axis: expected (chain, d), or a dict or tuple of arrays whose "
            "first axis is the chain. For one chain pass start[None]."
        )
    if len({len(leaf) for leaf in leaves}) > 1 or not len(leaves[0]):
        raise InputError(
            f"the arrays of start have {[len(leaf) for leaf in leaves]} rows: expected one row per "
            "chain in each of them, and at least one chain."
        )
    not_finite = sum(int((~np.isfinite(leaf)).sum()) for leaf in leaves)
    if not_finite:
        raise InputError(
            f"{counted(not_finite, 'number')} of start {by_count(not_finite, 'is', 'are')} NaN or "
            "infinite."
        )
    return state, len(leaves[0])


def _start_of(leaf: Any) -> np.ndarray:
    array = as_numbers(leaf)
    if array is None:
        raise InputError(f"start has {leaf!r} in it: expected arrays of real numbers.")
    return array


@eqx.filter_jit
def _advance(sampler: AbstractSampler, keys: Array, steps: Array, state: Any) -> Any:
    """The states after `steps` steps."""
    return jax.vmap(lambda key, x: _steps(sampler, key, 0, steps, x))(keys, state)


@eqx.filter_jit
def _sample_chunk(
    sampler: AbstractSampler,
    keep: Callable,
    count: int,
    keys: Array,
    steps: Array,
    state: Any,
) -> tuple[Any, Any]:
    """The states after `count` more draws, and what is kept of each draw.

    `steps` holds the number of steps already taken, and the number from one draw to the next.
    """
    done, thin = steps

    def chain(key: Array, x: Any) -> tuple[Any, Any]:
        key_keep = jax.random.split(key)[1]

        def next_draw(x: Any, number: Array) -> tuple[Any, Any]:
            first = done + number * thin
            x = _steps(sampler, key, first, first + thin, x)
            return x, keep(jax.random.fold_in(key_keep, first), x)

        return jax.lax.scan(next_draw, x, jnp.arange(count))

    return jax.vmap(chain)(keys, state)


def _steps(sampler: AbstractSampler, key: Array, first: Any, last: Any, x: Any) -> Any:
    """The state of one chain after the steps numbered `first` to `last`."""
    key_step = jax.random.split(key)[0]

    def next_state(t: Array, x: Any) -> Any:
        return sampler.step(jax.random.fold_in(key_step, t), x)

    return jax.lax.fori_loop(first, last, next_state, x)
