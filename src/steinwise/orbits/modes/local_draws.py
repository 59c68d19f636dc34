r"""Draws from p restricted to each mode.

Where a mode is nearly normal, points of the normal distribution with its centre and spread are
chosen again with weights :math:`p(x) / N(x; m_k, L_k L_k')`, one value of log p each. Where these
weights are too unequal at some mode, short chains are run at all of them, which take nine times as
many evaluations, with gradients.
"""

import numpy as np
from jaxtyping import Float

from steinwise.orbits.modes.local_chains import WALKERS, LocalDraws, chain_draws
from steinwise.orbits.modes.maps import ModeMaps
from steinwise.target import AbstractTarget

STEPS = 20  # draws of each of the walkers at a mode
# Effective share of weighted points from which on they are as good as as many draws of the chains.
ENOUGH = 0.5


def local_draws(
    target: AbstractTarget,
    maps: ModeMaps,
    rng: np.random.Generator,
    memory: int,
    steps: int = STEPS,
) -> LocalDraws:
    """Draws of every mode, `steps` of each walker, by weights or by chains."""
    weighted = _weighted_draws(target, maps, steps, rng, memory)
    if weighted.acceptance.min() >= ENOUGH:
        return weighted
    return chain_draws(target, maps, steps, rng, memory)


def _weighted_draws(
    target: AbstractTarget, maps: ModeMaps, steps: int, rng: np.random.Generator, memory: int
) -> LocalDraws:
    """Points of normal distributions, each as often as its weight says; with effective shares."""
    modes, d = maps.centres.shape
    count = WALKERS * steps
    w = rng.normal(size=(modes, count, d))
    points = maps.centres[:, None] + np.einsum("kab,kmb->kma", maps.factors, w)
    flat = points.reshape(-1, d)
    values = target.log_values(flat, memory=memory)
    assert values is not None
    own = maps.nearest(flat)[0] == np.repeat(np.arange(modes), count)
    logs = np.where(own & np.isfinite(values), values, -np.inf).reshape(modes, count)
    logs = logs + 0.5 * (w**2).sum(axis=2)
    kept, shares = [], []
    for log_weights, places in zip(logs, points, strict=True):
        weights = _normalised(log_weights)
        shares.append(1 / (count * (weights**2).sum()))
        # copies of a point stay next to each other, with the same walker
        rungs = (np.arange(count) + rng.uniform()) / count
        chosen = np.searchsorted(np.cumsum(weights), rungs).clip(max=count - 1)
        kept.append(places[chosen].reshape(WALKERS, steps, d).swapaxes(0, 1))
    x = np.stack(kept, axis=1)
    return LocalDraws(x, np.ones(x.shape[:3], bool), np.array(shares))


def _normalised(log_weights: Float[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
    """Weights that sum to 1; all on one point where no point is in the mode."""
    top = log_weights.max()
    if top == -np.inf:
        return np.eye(1, len(log_weights))[0]
    weights = np.exp(log_weights - top)
    return weights / weights.sum()
