"""Draws with a known distribution; chains, (chain, draw, d), start in their stationary one."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import scipy.signal


def independent(rng: np.random.Generator, covariance: np.ndarray, n: int) -> np.ndarray:
    """Independent draws from N(0, covariance), shape (n, d)."""
    factor = np.linalg.cholesky(covariance)
    return rng.normal(size=(n, len(factor))) @ factor.T


def autoregressive(
    rng: np.random.Generator, rho: np.ndarray, chains: int, draws: int
) -> np.ndarray:
    """AR(1) chains with stationary N(0, I): x_t = rho x_{t-1} + sqrt(1 - rho^2) e_t."""
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
    return _run(_metropolis, rng, log_density, start, draws, step)


def nuts(
    rng: np.random.Generator,
    log_density: Callable,
    start: np.ndarray,
    draws: int,
    step: float,
) -> np.ndarray:
    """BlackJAX's NUTS with a fixed step size and the identity as mass matrix."""
    return _run(_nuts, rng, log_density, start, draws, step)


def _run(
    sampler: Callable,
    rng: np.random.Generator,
    log_density: Callable,
    start: np.ndarray,
    draws: int,
    step: float,
) -> np.ndarray:
    with jax.enable_x64(True):
        key = jax.random.key(int(rng.integers(2**31)))
        return np.asarray(sampler(log_density, draws, key, jnp.asarray(start), step))


@functools.partial(jax.jit, static_argnums=(0, 1))
def _metropolis(log_density: Callable, draws: int, key, start, step):
    def transition(state, key):
        x, log_p = state
        key_move, key_accept = jax.random.split(key)
        proposal = x + step * jax.random.normal(key_move, x.shape)
        log_p_proposal = jax.vmap(log_density)(proposal)
        accept = jnp.log(jax.random.uniform(key_accept, log_p.shape)) < log_p_proposal - log_p
        state = (
            jnp.where(accept[:, None], proposal, x),
            jnp.where(accept, log_p_proposal, log_p),
        )
        return state, state[0]

    first = start, jax.vmap(log_density)(start)
    _, x = jax.lax.scan(transition, first, jax.random.split(key, draws))
    return jnp.swapaxes(x, 0, 1)


@functools.partial(jax.jit, static_argnums=(0, 1))
def _nuts(log_density: Callable, draws: int, key, start, step):
    from blackjax.mcmc import nuts

    kernel = nuts.build_kernel()
    mass = jnp.ones(start.shape[1])

    def chain(key, start):
        def transition(state, key):
            state, _ = kernel(key, state, log_density, step, mass)
            return state, state.position

        first = nuts.init(start, log_density)
        return jax.lax.scan(transition, first, jax.random.split(key, draws))[1]

    return jax.vmap(chain)(jax.random.split(key, len(start)), start)
