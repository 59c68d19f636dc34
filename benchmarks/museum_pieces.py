"""Mistakes that samplers were published with, each as a few lines with a switch.

The mechanisms are those of the issues as far as these tell them; where they do not, the simplest
mistake with the same symptom stands for it. Every piece is right with ``wrong=False``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import steinwise as sw
from benchmarks.long_chains import Sampler
from benchmarks.museum_nuts import nuts_step

NORMAL, CORRELATED, BANANA, POSITIVE, COUNTS, LOGISTIC = sw.testing.targets(
    "normal", "correlated normal", "banana", "positive", "discrete", "logistic regression"
)


class Piece(NamedTuple):
    """A mistake: its name, where it was made, its target, and the sampler with or without it."""

    name: str
    source: str
    target: sw.testing.ExactTarget
    make: Callable[[bool], Sampler]
    steps: int = 10  # of each chain of the invariance test
    chains: int = 4000  # of its first stage


def accept(key: Any, new: Any, old: Any, log_ratio: Any) -> Any:
    """Metropolis' decision, for any state."""
    taken = jnp.log(jax.random.uniform(key)) < log_ratio
    return jax.tree.map(lambda a, b: jnp.where(taken, a, b), new, old)


def _jacobian(wrong: bool) -> Sampler:
    def step(key: Any, x: Any) -> Any:
        first, second = jax.random.split(key)
        new = x * jnp.exp(0.7 * jax.random.normal(first, x.shape))  # a random walk of log x
        jacobian = 0.0 if wrong else jnp.sum(jnp.log(new) - jnp.log(x))
        ratio = POSITIVE.log_density(new) - POSITIVE.log_density(x) + jacobian
        return accept(second, new, x, ratio)

    return Sampler(step)


def _langevin(wrong: bool, noise: float = 0.0, size: float = 0.1) -> Sampler:
    density, slope = LOGISTIC.log_density, jax.grad(LOGISTIC.log_density)

    def log_forward(x: Any, new: Any) -> Any:
        return -jnp.sum((new - x - size * slope(x)) ** 2) / (4 * size)

    def step(key: Any, x: Any) -> Any:
        first, second, third = jax.random.split(key, 3)
        gradient = slope(x) + wrong * noise * jax.random.normal(third, x.shape)
        new = x + size * gradient + jnp.sqrt(2 * size) * jax.random.normal(first, x.shape)
        if wrong:
            return new
        ratio = density(new) - density(x) + log_forward(new, x) - log_forward(x, new)
        return accept(second, new, x, ratio)

    return Sampler(step)


def _asymmetrical(wrong: bool) -> Sampler:
    """A walk of n given k, then an exact draw of k given n, without which k would never change."""

    def step(key: Any, x: Any) -> Any:
        first, second, third = jax.random.split(key, 3)
        n, k = x
        up = (n == k) | (jax.random.uniform(first) < 0.5)  # with nothing to take away, only up
        new = jnp.array([jnp.where(up, n + 1, n - 1), k])
        ways = jnp.where(new[0] == k, 0.0, jnp.log(0.5)) - jnp.where(n == k, 0.0, jnp.log(0.5))
        ratio = COUNTS.log_density(new) - COUNTS.log_density(x) + (0.0 if wrong else ways)
        n = accept(second, new, x, ratio)[0]
        return jnp.stack([n, jax.random.binomial(third, n, 0.4)])

    return Sampler(step)


def _leapfrog(x: Any, p: Any, size: float, steps: int, stale: bool) -> tuple[Any, Any]:
    slope = jax.grad(BANANA.log_density)
    for _ in range(steps):
        before = slope(x)
        p = p + 0.5 * size * before
        x = x + size * p
        p = p + 0.5 * size * (before if stale else slope(x))
    return x, p


def _energy(x: Any, p: Any) -> Any:
    return -BANANA.log_density(x) + 0.5 * jnp.sum(p**2)


def _hmc(wrong: bool) -> Sampler:
    def step(key: Any, x: Any) -> Any:
        first, second = jax.random.split(key)
        p = jax.random.normal(first, x.shape)
        new, end = _leapfrog(x, p, 0.25, 3, stale=wrong)
        return accept(second, new, x, _energy(x, p) - _energy(new, end))

    return Sampler(step)


def _persistent_momentum(wrong: bool) -> Sampler:
    def step(key: Any, state: Any) -> Any:
        first, second = jax.random.split(key)
        x, p = state
        p = 0.8 * p + 0.6 * jax.random.normal(first, p.shape)
        new = _leapfrog(x, p, 0.5, 1, stale=False)
        rejected = (x, p if wrong else -p)
        return accept(second, new, rejected, _energy(x, p) - _energy(*new))

    def with_momentum(key: Any, x: Any) -> Any:
        return x, jax.random.normal(key, x.shape)

    return Sampler(step, with_momentum, lambda state: state[0])


def _adaptation(wrong: bool) -> Sampler:
    """The scale follows the last step's acceptance: up after one, down after a rejection."""

    def step(key: Any, state: Any) -> Any:
        first, second = jax.random.split(key)
        x, log_scale = state
        new = x + jnp.exp(log_scale) * jax.random.normal(first, x.shape)
        moved = accept(second, new, x, BANANA.log_density(new) - BANANA.log_density(x))
        accepted = (moved != x).any()
        return moved, log_scale + wrong * jnp.where(accepted, 1.0, -1.0)

    return Sampler(step, lambda _, x: (x, jnp.zeros(())), lambda state: state[0])


def _rounded(wrong: bool) -> Sampler:
    """A log density with a constant of 2e7 in it, in float32: its neighbours are 2 apart."""

    def density(x: Any) -> Any:
        value = NORMAL.log_density(x)
        return (value.astype(jnp.float32) - jnp.float32(2e7)) if wrong else value

    def step(key: Any, x: Any) -> Any:
        first, second = jax.random.split(key)
        new = x + jax.random.normal(first, x.shape)
        return accept(second, new, x, density(new) - density(x))

    return Sampler(step)


def _stale_gibbs(wrong: bool) -> Sampler:
    rho, noise = 0.9, np.sqrt(1 - 0.9**2)

    def step(key: Any, x: Any) -> Any:
        z = noise * jax.random.normal(key, (2,))
        first = rho * x[1] + z[0]
        return jnp.stack([first, rho * (x[0] if wrong else first) + z[1]])

    return Sampler(step)


def _only_accepted(wrong: bool) -> Sampler:
    """Draws are recorded after each accepted proposal, of 20 at most, and not after each step."""

    def proposal(key: Any, x: Any) -> Any:
        first, second = jax.random.split(key)
        new = x + 1.5 * jax.random.normal(first, x.shape)
        return accept(second, new, x, BANANA.log_density(new) - BANANA.log_density(x))

    def step(key: Any, x: Any) -> Any:
        if not wrong:
            return proposal(key, x)

        def try_again(number: Any, now: Any) -> Any:
            moved = proposal(jax.random.fold_in(key, number), now)
            return jnp.where((now != x).any(), now, moved)

        return jax.lax.fori_loop(0, 20, try_again, x)

    return Sampler(step)


def _tempering(wrong: bool) -> Sampler:
    """Two temperatures of a normal; the wrong swap forgets the difference between them."""
    cold, hot = 1.0, 0.3

    def step(key: Any, state: Any) -> Any:
        keys = jax.random.split(key, 5)
        moved = []
        for i, (x, inverse) in enumerate(zip(state, (cold, hot), strict=True)):
            new = x + jax.random.normal(keys[2 * i], x.shape) / np.sqrt(inverse)
            change = NORMAL.log_density(new) - NORMAL.log_density(x)
            moved.append(accept(keys[2 * i + 1], new, x, inverse * change))
        difference = NORMAL.log_density(moved[1]) - NORMAL.log_density(moved[0])
        ratio = difference * (1.0 if wrong else cold - hot)
        return accept(keys[4], tuple(moved[::-1]), tuple(moved), ratio)

    def with_hot(key: Any, x: Any) -> Any:
        return x, jax.random.normal(key, x.shape) / np.sqrt(hot)

    return Sampler(step, with_hot, lambda state: state[0])


_ROOT = np.linalg.cholesky([[1.0, 0.9], [0.9, 1.0]])
PAIR = sw.testing.ExactTarget(
    "pair",
    ("a", "b"),
    lambda x: -0.5 * jnp.sum(jnp.linalg.solve(_ROOT, x) ** 2),
    lambda rng, n: rng.normal(size=(n, 2)) @ _ROOT.T,
    mean=np.zeros(2),
    sd=np.ones(2),
)


def _nuts(
    target: sw.testing.ExactTarget = LOGISTIC, size: float = 0.35, **mistake: Any
) -> Callable[[bool], Sampler]:
    def make(wrong: bool) -> Sampler:
        return Sampler(nuts_step(target.log_density, size=size, **(mistake if wrong else {})))

    return make


PIECES = (
    Piece("forgotten Jacobian", "pymc 798", POSITIVE, _jacobian),
    Piece("no Metropolis correction (ULA)", "by design", LOGISTIC, _langevin),
    Piece("asymmetrical proposal", "not from an issue", COUNTS, _asymmetrical),
    Piece("momentum not negated", "not from an issue", BANANA, _persistent_momentum),
    Piece("adaptation that never stops", "not from an issue", BANANA, _adaptation, steps=40),
    Piece("float32 log density of 2e7", "not from an issue", NORMAL, _rounded),
    Piece(
        "SGLD with a constant step",
        "blackjax 412",
        LOGISTIC,
        lambda wrong: _langevin(wrong, noise=2.0, size=0.05),
    ),
    Piece("Gibbs with stale values", "not from an issue", PAIR, _stale_gibbs),
    Piece("thinning by acceptance", "not from an issue", BANANA, _only_accepted),
    Piece("leapfrog that is not reversible", "not from an issue", BANANA, _hmc),
    Piece("wrong swap of temperatures", "not from an issue", NORMAL, _tempering),
    # NUTS' mistakes move the distribution of log p, or of a square, by 0.03 to 0.04
    # (museum_distances): hence these numbers of chains, with which first stages are suspicious. The
    # last one moves every function of the logistic regression by 0.01 only; what it does depends on
    # where trajectories turn, and on the correlated normal with this step many of them do.
    Piece(
        "NUTS: subtrees favour later points",
        "TFP 542",
        LOGISTIC,
        _nuts(choice="later points"),
        chains=16_000,
    ),
    Piece(
        "NUTS: newest subtree always taken",
        "pymc 1421",
        LOGISTIC,
        _nuts(choice="newest"),
        chains=16_000,
    ),
    Piece(
        "NUTS: subtrees may turn",
        "pymc 1763",
        LOGISTIC,
        _nuts(turns="whole tree only"),
        chains=8000,
    ),
    Piece(
        "NUTS: wrong boundary of subtrees",
        "pymc 1616",
        CORRELATED,
        _nuts(CORRELATED, 0.6, turns="wrong boundary"),
        chains=16_000,
    ),
)
