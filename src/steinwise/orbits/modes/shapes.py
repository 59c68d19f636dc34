"""The centre and spread of each mode, from draws of it."""

import numpy as np

from steinwise._internal.random import stream
from steinwise.orbits.modes.local_chains import WALKERS
from steinwise.orbits.modes.local_draws import local_draws
from steinwise.orbits.modes.maps import ModeMaps
from steinwise.target import AbstractTarget

DRAWS_PER_EFFECTIVE = 2.0  # of chains whose next point is almost independent of the last


def shaped_maps(target: AbstractTarget, maps: ModeMaps, seed: object, memory: int) -> ModeMaps:
    """Maps with the centres and spreads that draws of each mode have, in place of the curvatures.

    Both are drawn towards those that the curvature gives, by as much as chance accounts for how
    far they are from it (Ledoit and Wolf 2004; James and Stein 1961): wholly, at a normal mode.
    """
    draws = local_draws(target, maps, stream(seed, "local chains", 0), memory)
    centres, factors = maps.centres.copy(), maps.factors.copy()
    for k in range(len(centres)):
        some = draws.x[:, k][draws.inside[:, k]]
        if len(some) < 2 * WALKERS or draws.acceptance[k] < 0.1:
            continue  # the chains did not move: the curvature is what is known
        w = (some - maps.centres[k]) @ maps.inverses[k].T
        effective, d = len(w) / DRAWS_PER_EFFECTIVE, w.shape[1]
        mean = w.mean(axis=0)
        mean = mean * (1 - min(1.0, d / effective / (mean @ mean)))
        departure = (w - mean).T @ (w - mean) / len(w) - np.eye(d)
        by_chance = d * (d + 1) / effective / (departure**2).sum()
        covariance = np.eye(d) + (1 - min(1.0, by_chance)) * departure
        centres[k] = maps.centres[k] + maps.factors[k] @ mean
        factors[k] = maps.factors[k] @ np.linalg.cholesky(covariance)
    return ModeMaps.of(centres, factors)
