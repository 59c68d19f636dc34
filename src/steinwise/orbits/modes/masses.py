r"""The mass of each mode, from draws of all of them and the maps between them.

Bennett's equation for several states: with N_k draws of mode k, in the coordinates w that the maps
share, and g_k(w) = p(m_k + L_k w) |L_k| where that point is in mode k and 0 elsewhere,

.. math:: Z_k = \sum_{draws} g_k(w) / \sum_j N_j g_j(w) / Z_j .

The mean of g_k / g_j over draws of one mode alone would have the same expectation, but its
variance explodes with the number of coordinates: it has a median of 0.14 for 0.5 at d = 50.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.random import stream
from steinwise.orbits.modes.local_chains import WALKERS
from steinwise.orbits.modes.local_draws import STEPS, local_draws
from steinwise.orbits.modes.maps import ModeMaps
from steinwise.target import AbstractTarget

ITERATIONS, SETTLED = 500, 1e-8
GROUPS = 8  # of walkers, left out in turn for the standard errors
FEWEST = 2 * WALKERS  # draws of a mode without which its mass is not known
# Each draw is taken to all modes, so that evaluations grow with the square of their number. With
# more modes than this, each has fewer draws: sixteen modes then take a quarter of the evaluations,
# 41,000, and intervals of the masses are about twice as wide.
MODES_DRAWN_IN_FULL = 4


class ModeMasses(NamedTuple):
    """The share of each mode, with the log odds' standard errors; NaN where it is not known."""

    mass: Float[np.ndarray, " k"]
    low: Float[np.ndarray, " k"]  # of an interval of 95 %
    high: Float[np.ndarray, " k"]


def mode_masses(
    target: AbstractTarget,
    maps: ModeMaps,
    groups: Int[np.ndarray, " k"],
    seed: object,
    memory: int,
) -> ModeMasses:
    """The masses of groups of modes, by draws of each of them.

    No draw of the user's is used, so that they hold whether or not the draws are right within
    their modes. They are shares of what was found.
    """
    modes = len(maps.centres)
    steps = min(STEPS, STEPS * MODES_DRAWN_IN_FULL // modes)
    draws = local_draws(target, maps, stream(seed, "local chains", 1), memory, steps)
    count = int(groups.max()) + 1
    unknown = np.full(count, np.nan)
    inside = draws.inside
    if inside.sum(axis=(0, 2)).min() < FEWEST or draws.acceptance.min() < 0.1:
        return ModeMasses(unknown, unknown, unknown)
    walker = np.broadcast_to(np.arange(WALKERS), inside.shape)[inside]
    source = np.broadcast_to(np.arange(modes)[:, None], inside.shape)[inside]
    logs = maps.orbits(target, draws.x[inside], memory).weights
    shares = _shares(logs, source, groups)
    odds = _log_odds(shares)
    part = walker % GROUPS
    without = np.stack(
        [_log_odds(_shares(logs[part != g], source[part != g], groups)) for g in range(GROUPS)]
    )
    error = np.sqrt((GROUPS - 1) / GROUPS * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    wide = 2.365 * error  # the quantile 0.975 of Student's t with 7 degrees of freedom
    return ModeMasses(shares, _of_odds(odds - wide), _of_odds(odds + wide))


def _shares(
    logs: Float[np.ndarray, "n k"], source: Int[np.ndarray, " n"], groups: Int[np.ndarray, " k"]
) -> Float[np.ndarray, " group"]:
    """Bennett's equation, solved by going around it."""
    counts = np.bincount(source, minlength=logs.shape[1]).astype(float)
    scaled = np.exp(logs - logs.max(axis=1, keepdims=True))  # a factor of each draw cancels
    mass = np.full(logs.shape[1], 1 / logs.shape[1])
    for _ in range(ITERATIONS):
        mixture = scaled @ (counts / mass)
        new = (scaled / mixture[:, None]).sum(axis=0)
        new = np.maximum(new / new.sum(), 1e-300)
        settled = np.abs(np.log(new / mass)).max() < SETTLED
        mass = new
        if settled:
            break
    return np.bincount(groups, weights=mass)


def _log_odds(share: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    return np.log(np.maximum(share, 1e-300)) - np.log(np.maximum(1 - share, 1e-300))


def _of_odds(odds: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    return 1 / (1 + np.exp(-odds))
