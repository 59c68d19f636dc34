"""Targets whose means and sds are known, and draws that are wrong in the ways of samplers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.posteriors import LogDensity, eight_schools, hierarchical, logistic

N_DRAWS = 1000  # of a variational fit
CHAINS, LENGTH = 4, 500  # of a sampler
FIT_DRAWS = 256  # standard normal draws, the same in every step, over which a fit averages


@dataclass(frozen=True)
class AnswerTarget:
    """A log density; its means, sds and exact draws where they are known in closed form."""

    log_density: LogDensity
    d: int
    mean: np.ndarray | None = None
    sd: np.ndarray | None = None
    exact: Callable[[np.random.Generator, int], np.ndarray] | None = None
    normal: bool = False  # or so nearly that a quarter of the error as drawn is asked for


def correlated(d: int, correlation: float = 0.9) -> AnswerTarget:
    """A normal distribution whose coordinates are all equally correlated."""
    covariance = np.full((d, d), correlation) + (1 - correlation) * np.eye(d)
    precision = np.linalg.inv(covariance)

    def exact(rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.normal(size=(n, d)) @ np.linalg.cholesky(covariance).T

    return AnswerTarget(
        lambda x: -0.5 * x @ precision @ x, d, np.zeros(d), np.ones(d), exact, normal=True
    )


def banana() -> AnswerTarget:
    """x_2 is normal around half of x_1^2 - 1."""

    def log_density(x):
        return -0.5 * x[0] ** 2 - 2.0 * (x[1] - 0.5 * (x[0] ** 2 - 1)) ** 2

    def exact(rng: np.random.Generator, n: int) -> np.ndarray:
        one, noise = rng.normal(size=(2, n))
        return np.stack([one, 0.5 * (one**2 - 1) + 0.5 * noise], axis=1)

    return AnswerTarget(log_density, 2, np.zeros(2), np.sqrt([1.0, 0.75]), exact)


def funnel(d: int = 5) -> AnswerTarget:
    """Coordinates whose log variance is the first one, which is standard normal."""
    import jax.numpy as jnp

    def log_density(x):
        v, z = x[0], x[1:]
        return -0.5 * v**2 - 0.5 * jnp.exp(-v) * z @ z - 0.5 * (d - 1) * v

    def exact(rng: np.random.Generator, n: int) -> np.ndarray:
        x = rng.normal(size=(n, d))
        x[:, 1:] *= np.exp(x[:, :1] / 2)
        return x

    sd = np.full(d, np.exp(0.25))
    sd[0] = 1.0
    return AnswerTarget(log_density, d, np.zeros(d), sd, exact)


TARGETS: dict[str, Callable[[], AnswerTarget]] = {
    "normal, d 5": lambda: correlated(5),
    "normal, d 30": lambda: correlated(30),
    "logistic, d 8": lambda: AnswerTarget(*logistic(100, 8), normal=True),
    "logistic, d 30": lambda: AnswerTarget(*logistic(500, 30), normal=True),
    "hierarchical, d 29": lambda: AnswerTarget(*hierarchical(12, 240)),
    "eight schools": lambda: AnswerTarget(*eight_schools()),
    "banana": banana,
    "funnel": funnel,
}


@cache
def target(name: str) -> AnswerTarget:
    return TARGETS[name]()


@cache
def fitted(name: str, *, full_rank: bool) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the root of the covariance of a variational fit, mean-field or full-rank.

    The evidence lower bound is averaged over the same standard normal draws in every step, so that
    its optimum is found by a quasi-Newton method.
    """
    import jax
    import jax.numpy as jnp
    from scipy.optimize import minimize

    given = target(name)
    d = given.d
    noise = np.random.default_rng(0).normal(size=(FIT_DRAWS, d))
    noise = (noise - noise.mean(axis=0)) / noise.std(axis=0)
    below = np.tril_indices(d, -1)

    def root(flat):
        scales = jnp.diag(jnp.exp(flat[d : 2 * d]))
        return scales.at[below].set(flat[2 * d :]) if full_rank else scales

    def loss(flat):
        x = flat[:d] + noise @ root(flat).T
        return -jnp.mean(jax.vmap(given.log_density)(x)) - jnp.sum(flat[d : 2 * d])

    start = np.zeros(2 * d + len(below[0]) * full_rank)
    start[d : 2 * d] = -1.0
    with jax.enable_x64(True):
        value_and_grad = jax.jit(jax.value_and_grad(loss))
        found = minimize(
            lambda flat: tuple(np.asarray(one, dtype=float) for one in value_and_grad(flat)),
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 2000},
        ).x
        return found[:d], np.asarray(root(jnp.asarray(found)))


def from_fit(name: str, rng: np.random.Generator, *, full_rank: bool) -> np.ndarray:
    mean, root = fitted(name, full_rank=full_rank)
    return mean + rng.normal(size=(N_DRAWS, len(mean))) @ root.T


@cache
def _pathfinder(name: str) -> Callable[[Any, Any], Any]:
    """Compiled draws of BlackJAX's Pathfinder, from a key and a start."""
    import jax
    from blackjax.vi import pathfinder

    log_density = target(name).log_density

    def draws(key, start):
        fit_key, key = jax.random.split(key)
        state, _ = pathfinder.approximate(fit_key, log_density, start)
        drawn, _ = pathfinder.sample(key, state, N_DRAWS)
        return drawn

    return jax.jit(draws)


def from_pathfinder(name: str, rng: np.random.Generator) -> np.ndarray:
    """Draws of BlackJAX's Pathfinder, from a start of their own."""
    import jax

    with jax.enable_x64(True):
        start = rng.normal(size=target(name).d)
        return np.asarray(_pathfinder(name)(jax.random.key(int(rng.integers(2**31))), start))


@cache
def _chains(name: str, kind: str) -> Callable[[Any, Any], Any]:
    """A compiled sampler of chains, from a key and starts (chain, d)."""
    import jax
    import jax.numpy as jnp

    given = target(name)
    _, root = fitted(name, full_rank=False)
    scale = jnp.asarray(np.diag(root))
    log_density, score = given.log_density, jax.grad(given.log_density)
    narrowest = float(np.linalg.eigvalsh(_curvature(name) * np.outer(scale, scale))[-1])

    def langevin(x, key):  # without a Metropolis correction, with gradients clipped as in practice
        step = 0.5 / narrowest * scale**2
        drift = jnp.clip(step * score(x), -scale, scale)
        return x + drift + jnp.sqrt(2 * step) * jax.random.normal(key, x.shape)

    def metropolis(x, key):
        proposal_key, accept_key = jax.random.split(key)
        size = 2.4 / np.sqrt(given.d * narrowest)
        y = x + size * scale * jax.random.normal(proposal_key, x.shape)
        log_ratio = log_density(y) - log_density(x)
        return jnp.where(jnp.log(jax.random.uniform(accept_key)) < log_ratio, y, x)

    move = {"langevin": langevin, "metropolis": metropolis}[kind]

    def chain(key, start):
        def one(x, key):
            x = move(x, key)
            return x, x

        return jax.lax.scan(one, start, jax.random.split(key, 2 * LENGTH))[1][LENGTH:]

    return jax.jit(jax.vmap(chain))


@cache
def _curvature(name: str) -> np.ndarray:
    import jax

    given = target(name)
    mean, _ = fitted(name, full_rank=False)
    with jax.enable_x64(True):
        return -np.asarray(jax.hessian(given.log_density)(mean))


def from_chains(name: str, rng: np.random.Generator, kind: str) -> np.ndarray:
    """Chains that start at draws of the mean-field fit; their first half is left out."""
    import jax

    start = from_fit(name, rng, full_rank=False)[:CHAINS]
    with jax.enable_x64(True):
        run = _chains(name, kind)
        keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), CHAINS)
        return np.asarray(run(keys, start))


@cache
def _nuts(name: str, length: int) -> Callable[[Any], Any]:
    """Compiled chains of BlackJAX's NUTS, from keys."""
    import blackjax
    import jax
    import jax.numpy as jnp

    given = target(name)
    mean, _ = fitted(name, full_rank=False)

    def chain(key):
        warm_key, key = jax.random.split(key)
        adaptation: Any = blackjax.window_adaptation(
            blackjax.nuts, given.log_density, target_acceptance_rate=0.9
        )
        (state, parameters), _ = adaptation.run(warm_key, jnp.asarray(mean), 500)
        step: Any = blackjax.nuts(given.log_density, **parameters).step

        def one(state, key):
            state, _ = step(key, state)
            return state, state.position

        return jax.lax.scan(one, state, jax.random.split(key, length))[1]

    return jax.jit(lambda keys: jax.lax.map(chain, keys))


def from_nuts(name: str, rng: np.random.Generator, length: int = LENGTH) -> np.ndarray:
    """Correct draws: chains of NUTS."""
    import jax

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), CHAINS)
        return np.asarray(_nuts(name, length)(keys))


METHODS: dict[str, Callable[[str, np.random.Generator], np.ndarray]] = {
    "mean-field": lambda name, rng: from_fit(name, rng, full_rank=False),
    "full-rank": lambda name, rng: from_fit(name, rng, full_rank=True),
    "Pathfinder": from_pathfinder,
    "Langevin, large step": lambda name, rng: from_chains(name, rng, "langevin"),
    "Metropolis, short": lambda name, rng: from_chains(name, rng, "metropolis"),
    "right": from_nuts,
}
