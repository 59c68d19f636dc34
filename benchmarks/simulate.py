"""Chains with a known stationary law, all started from it: (chain, draw, d)."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import scipy.signal


def independent(rng: np.random.Generator, covariance: np.ndarray, n: int) -> np.ndarray:
    """(n, d) independent draws of N(0, covariance)."""
    factor = np.linalg.cholesky(covariance)
    return rng.normal(size=(n, len(factor))) @ factor.T


def autoregressive(
    rng: np.random.Generator, rho: np.ndarray, chains: int, draws: int
) -> np.ndarray:
    """AR(1) in every coordinate, x_t = rho x_{t-1} + sqrt(1 - rho^2) e_t; the law is N(0, I)."""
    noise = rng.normal(size=(chains, draws, len(rho)))
    noise[:, 1:] *= np.sqrt(1 - rho**2)
    columns = [
        scipy.signal.lfilter([1.0], [1.0, -r], noise[..., j], axis=1) for j, r in enumerate(rho)
    ]
    return np.stack(columns, axis=-1)


def metropolis(
    rng: np.random.Generator,
    log_density: Callable,
    start: np.ndarray,
    draws: int,
    step: float,
) -> np.ndarray:
    """Random-walk Metropolis, one chain for each row of `start`; rejections repeat a draw."""
    with jax.enable_x64(True):
        key = jax.random.key(int(rng.integers(2**31)))
        return np.asarray(_metropolis(log_density, draws, key, jnp.asarray(start), step))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _metropolis(log_density: Callable, draws: int, key, start, step):
    def one(state, key):
        x, height = state
        key_move, key_accept = jax.random.split(key)
        y = x + step * jax.random.normal(key_move, x.shape)
        new = jax.vmap(log_density)(y)
        accept = jnp.log(jax.random.uniform(key_accept, height.shape)) < new - height
        state = jnp.where(accept[:, None], y, x), jnp.where(accept, new, height)
        return state, state[0]

    first = start, jax.vmap(log_density)(start)
    _, x = jax.lax.scan(one, first, jax.random.split(key, draws))
    return jnp.swapaxes(x, 0, 1)


def nuts(
    rng: np.random.Generator,
    log_density: Callable,
    start: np.ndarray,
    draws: int,
    step: float,
) -> np.ndarray:
    """BlackJAX's NUTS with a fixed step and the identity as mass matrix."""
    with jax.enable_x64(True):
        key = jax.random.key(int(rng.integers(2**31)))
        return np.asarray(_nuts(log_density, draws, key, jnp.asarray(start), step))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _nuts(log_density: Callable, draws: int, key, start, step):
    from blackjax.mcmc import nuts

    kernel = nuts.build_kernel()
    mass = jnp.ones(start.shape[1])

    def chain(key, start):
        def one(state, key):
            state, _ = kernel(key, state, log_density, step, mass)
            return state, state.position

        first = nuts.init(start, log_density)
        return jax.lax.scan(one, first, jax.random.split(key, draws))[1]

    return jax.vmap(chain)(jax.random.split(key, len(start)), start)
