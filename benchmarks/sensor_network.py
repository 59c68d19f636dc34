"""Where are four sensors, given some noisy distances between them and three known places?

The posterior of Ihler, Fisher, Moses and Willsky (2005), with eight unknown coordinates. A sensor
with two links can lie on either side of the line between its partners, one with a single link
anywhere on an arc: several modes, some of them long and bent. There are no exact draws. Those here
are states of many independent runs of parallel tempering; ``python -m benchmarks.sensor_network``
prints what they leave uncertain.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import steinwise as sw
from benchmarks import RESULTS
from benchmarks.mode_models import Modes

KNOWN = np.array([[0.5, 0.3], [0.3, 0.7], [0.7, 0.3]])
HIDDEN = 4
NOISE, RANGE = 0.02, 0.3  # the sd of a distance, and how far a sensor sees; as in the paper
PRIOR = 10.0  # the sd of the coordinates
SEED = 1  # of the places and distances

LADDER = np.geomspace(1, 0.002, 12)  # powers of the density; the last is next to flat
ENSEMBLES = 400
WARM_UP, STEPS, THINNING = 1000, 5000, 50


class Distances(NamedTuple):
    """Which pairs of places there are, which of them see each other, and how far apart they are."""

    first: np.ndarray
    second: np.ndarray
    seen: np.ndarray
    distance: np.ndarray


def simulated_distances() -> Distances:
    rng = np.random.default_rng(SEED)
    places = np.concatenate([rng.uniform(size=(HIDDEN, 2)), KNOWN])
    first, second = np.triu_indices(len(places), 1)
    first, second = first[first < HIDDEN], second[first < HIDDEN]
    distance = np.linalg.norm(places[first] - places[second], axis=1)
    seen = rng.uniform(size=len(first)) < np.exp(-(distance**2) / (2 * RANGE**2))
    return Distances(first, second, seen, distance + NOISE * rng.normal(size=len(first)))


def log_posterior() -> Callable[[jax.Array], jax.Array]:
    data = simulated_distances()

    def log_density(x: jax.Array) -> jax.Array:
        places = jnp.concatenate([x.reshape(HIDDEN, 2), KNOWN])
        squares = ((places[data.first] - places[data.second]) ** 2).sum(axis=1)
        log_chance = -squares / (2 * RANGE**2)  # to see each other
        error = (jnp.sqrt(squares) - data.distance) / NOISE
        unseen = jnp.log(-jnp.expm1(log_chance))
        terms = jnp.where(data.seen, log_chance - 0.5 * error**2, unseen)
        return terms.sum() - 0.5 * (x**2).sum() / PRIOR**2

    return log_density


@cache
def tempered_draws() -> np.ndarray:
    """States of independent runs, (run, state, 8), kept in a file: they take most of a minute."""
    file = RESULTS / "scratch" / "sensor_network.npy"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        np.save(file, run_tempering())
    return np.load(file)


def run_tempering() -> np.ndarray:
    """Random-walk steps of all sensors, then of one, then swaps of neighbours on the ladder."""
    log_density = jax.vmap(jax.vmap(log_posterior()))
    power = jnp.asarray(LADDER)[:, None]
    size = jnp.minimum(0.012 / jnp.sqrt(power), 0.4)[..., None]  # of moves; found by trying

    def metropolis(key, x, value, move):
        new = x + move
        new_value = log_density(new)
        accept = jnp.log(jax.random.uniform(key, value.shape)) < power * (new_value - value)
        return jnp.where(accept[..., None], new, x), jnp.where(accept, new_value, value)

    def swap(key, x, value, start):
        """Exchange the states of neighbours on the ladder, every other pair of them."""
        rung = jnp.arange(len(LADDER))
        partner = jnp.clip(rung + jnp.where((rung - start) % 2 == 0, 1, -1), 0, len(LADDER) - 1)
        gain = (power - power[partner]) * (value[partner] - value)
        chance = jax.random.uniform(key, value.shape)
        accept = jnp.log(chance[jnp.minimum(rung, partner)]) < gain  # the same for both
        return (
            jnp.where(accept[..., None], x[partner], x),
            jnp.where(accept, value[partner], value),
        )

    def step(state, number):
        x, value, key = state
        key, *keys = jax.random.split(key, 7)
        x, value = metropolis(keys[0], x, value, 0.6 * size * jax.random.normal(keys[1], x.shape))
        one = jax.random.randint(keys[2], value.shape, 0, HIDDEN)[..., None]
        moved = jnp.repeat(one == jnp.arange(HIDDEN), 2, axis=-1)
        move = 2 * size * moved * jax.random.normal(keys[3], x.shape)
        x, value = metropolis(keys[4], x, value, move)
        x, value = swap(keys[5], x, value, number % 2)
        return (x, value, key), x[0]

    def thinned(state, number):
        state, cold = jax.lax.scan(step, state, number * THINNING + jnp.arange(THINNING))
        return state, cold[-1]

    with jax.enable_x64(True):
        key, start = jax.random.split(jax.random.key(SEED))
        x = jax.random.uniform(start, (len(LADDER), ENSEMBLES, 2 * HIDDEN), minval=-0.5, maxval=1.5)
        rounds = jnp.arange((WARM_UP + STEPS) // THINNING)
        _, cold = jax.jit(lambda s: jax.lax.scan(thinned, s, rounds))((x, log_density(x), key))
    return np.asarray(cold)[WARM_UP // THINNING :].transpose(1, 0, 2)


def side(x: np.ndarray) -> np.ndarray:
    """On which side of the line between its two partners the first sensor lies."""
    along, across = x[..., 4:6] - KNOWN[1], x[..., :2] - KNOWN[1]
    return (along[..., 0] * across[..., 1] > along[..., 1] * across[..., 0]).astype(int)


def sensors() -> Modes:
    """Its parts are the two sides on which the first sensor may lie."""
    pool = tempered_draws().reshape(-1, 2 * HIDDEN)
    sides = side(pool)

    def draws_of(rng: np.random.Generator, parts: np.ndarray) -> np.ndarray:
        out = np.empty((len(parts), 2 * HIDDEN))
        for part in (0, 1):
            here = parts == part
            out[here] = pool[rng.choice(np.flatnonzero(sides == part), here.sum(), replace=False)]
        return out

    second = float(sides.mean())
    return Modes(sw.Target(log_posterior()), (1 - second, second), draws_of)


def main() -> None:
    runs = run_tempering()
    share = side(runs).mean(axis=1)
    functions = np.concatenate([runs, (runs - runs.mean(axis=(0, 1))) ** 2], axis=2)
    between = functions.mean(axis=1).var(axis=0, ddof=1) / ENSEMBLES
    effective = functions.var(axis=(0, 1)) / between
    error = share.std(ddof=1) / np.sqrt(ENSEMBLES)
    print(f"{runs.shape[0]} runs of {runs.shape[1]} states each")
    print(f"the second side has a share of {share.mean():.4f}, standard error {error:.4f}")
    least, most = effective.min(), effective.max()
    print(f"effective draws, of means and variances: {least:.0f} to {most:.0f}")


if __name__ == "__main__":
    main()
