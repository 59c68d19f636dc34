"""Short chains at each mode that do not leave it.

Hamiltonian Monte Carlo, in coordinates in which the mode has unit curvature, all modes and walkers
at once. A step that ends nearer to another mode is refused, so that the chains of a mode sample p
restricted to it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from steinwise.orbits.modes.maps import ModeMaps
from steinwise.target import AbstractTarget

WALKERS = 32  # chains at each mode
WARM_UP = 15  # steps to arrive
LEAPS = 5  # leapfrog steps in each
# Of a leapfrog step, where a mode is normal: five cover about a quarter of a period, after which
# the next point is almost independent of the last.
LARGEST_LEAP = 0.3
WANTED_ACCEPTANCE = 0.7


class LocalDraws(NamedTuple):
    """Draws of each mode, each worth about half an independent one."""

    x: Float[np.ndarray, "step k walker d"]
    inside: Bool[np.ndarray, "step k walker"]  # whether a draw is in its own mode
    acceptance: Float[np.ndarray, " k"]  # of the points that were proposed


def chain_draws(
    target: AbstractTarget, maps: ModeMaps, steps: int, rng: np.random.Generator, memory: int
) -> LocalDraws:
    """Draws from p restricted to each mode, after a warm-up that sets the lengths of leaps."""
    chains = _Chains(target, maps, rng, memory)
    leap = np.full(len(maps.centres), LARGEST_LEAP)
    for _ in range(WARM_UP):
        accepted = chains.step(leap)
        leap = np.minimum(leap * np.exp(0.5 * (accepted - WANTED_ACCEPTANCE)), LARGEST_LEAP)
    kept, inside, acceptance = [], [], []
    for _ in range(steps):
        acceptance.append(chains.step(leap))
        kept.append(chains.x.reshape(*chains.shape))
        inside.append(chains.inside.reshape(chains.shape[:2]).copy())
    return LocalDraws(np.stack(kept), np.stack(inside), np.mean(acceptance, axis=0))


class _Chains:
    """All walkers of all modes, in rows: those of a mode after those of the one before."""

    def __init__(
        self, target: AbstractTarget, maps: ModeMaps, rng: np.random.Generator, memory: int
    ) -> None:
        modes, d = maps.centres.shape
        self.target, self.maps, self.rng, self.memory = target, maps, rng, memory
        self.shape = (modes, WALKERS, d)
        self.mode = np.repeat(np.arange(modes), WALKERS)
        self.w = 0.5 * rng.normal(size=(modes * WALKERS, d))
        self.x = self._points(self.w)
        self.value, self.slope = self._evaluate(self.w)
        self.inside = maps.nearest(self.x)[0] == self.mode

    def _points(self, w: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        moved = np.einsum("kab,kwb->kwa", self.maps.factors, w.reshape(self.shape))
        return (self.maps.centres[:, None] + moved).reshape(w.shape)

    def _evaluate(self, w: Float[np.ndarray, "m d"]) -> tuple[np.ndarray, np.ndarray]:
        found = self.target.values_and_scores(self._points(w), memory=self.memory)
        assert found is not None
        values, scores = found
        usable = np.isfinite(values) & np.isfinite(scores).all(axis=1)
        scores = np.where(usable[:, None], scores, 0.0).reshape(self.shape)
        slopes = np.einsum("kab,kwa->kwb", self.maps.factors, scores)
        return np.where(usable, values, -np.inf), slopes.reshape(w.shape)

    def step(self, leap: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
        """Move all walkers once; the mean probability to accept, of each mode."""
        length = (leap[self.mode] * self.rng.uniform(0.8, 1.2))[:, None]
        momentum = self.rng.normal(size=self.w.shape)
        energy = self.value - 0.5 * (momentum**2).sum(axis=1)
        w, slope, value = self.w, self.slope, self.value
        for _ in range(LEAPS):
            momentum = momentum + 0.5 * length * slope
            w = w + length * momentum
            value, slope = self._evaluate(w)
            momentum = momentum + 0.5 * length * slope
        x = self._points(w)
        inside = self.maps.nearest(x)[0] == self.mode
        with np.errstate(invalid="ignore", over="ignore"):
            change = value - 0.5 * (momentum**2).sum(axis=1) - energy
            chance = np.exp(np.minimum(np.nan_to_num(change, nan=-np.inf, posinf=0.0), 0.0))
        chance = np.where(inside | ~self.inside, chance, 0.0)
        moved = self.rng.uniform(size=len(w)) < chance
        self.w = np.where(moved[:, None], w, self.w)
        self.x = np.where(moved[:, None], x, self.x)
        self.slope = np.where(moved[:, None], slope, self.slope)
        self.value = np.where(moved, value, self.value)
        self.inside = np.where(moved, inside, self.inside)
        return chance.reshape(self.shape[:2]).mean(axis=1)
