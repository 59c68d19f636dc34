"""What is wrong with a coordinate, in numbers that a person can read and in words."""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from steinwise.batches import BatchPlan
from steinwise.results import Effect
from steinwise.transport import FARTHEST

FEW = 0.1  # the share of the draws up to which they are outliers rather than the rule
CLEAR = 3.0  # standard errors from which a mean or a spread is named as the fault


def normal_places(u: Float[np.ndarray, "n c"]) -> Float[np.ndarray, "n c"]:
    """Normal scores of the conditional transforms: standard normal when the draws fit."""
    return np.clip(ndtri(u), -FARTHEST, FARTHEST)


def effects(z: Float[np.ndarray, "n c"]) -> list[Effect]:
    """The shift and the spread of every column, in units of the target's conditional."""
    return [Effect(float(m), float(s)) for m, s in zip(z.mean(axis=0), z.std(axis=0), strict=True)]


def words(
    z: Float[np.ndarray, " n"],
    effect: Effect,
    context: str,
    partners: tuple[str, ...],
    outlying: int,
    plan: BatchPlan,
) -> str:
    """The kind of misfit of a flagged coordinate."""
    if 0 < outlying <= FEW * len(z):
        inner = z[np.argsort(np.abs(z))[: len(z) - outlying]]
        if max(_departures(inner, plan)) < CLEAR:
            them = "draw lies" if outlying == 1 else "draws lie"
            return f"{outlying} {them} where the target's conditional has next to no mass"
    if context == "interaction" and partners:
        both = " and ".join(partners)
        return f"depends on {both} together in a way that the target does not"
    if context == "dependence on size" and partners:
        return f"varies with the size of {partners[0]} in a way that the target does not"
    if context == "dependence" and partners:
        return f"depends on {partners[0]} in a way that the target does not"
    if context != "alone":
        return "depends on the other coordinates in a way that the target does not"
    shift, spread = _departures(z, plan)
    if spread >= max(CLEAR, shift):
        kind = "narrow" if effect.spread < 1 else "wide"
        return f"draws are too {kind} (sd {effect.spread:.2g} of the target's conditional)"
    if shift >= CLEAR:
        return f"draws are shifted by {effect.shift:+.2g} of the target's conditional sd"
    kurtosis = float(np.mean((z - z.mean()) ** 4) / max(z.var(), 1e-12) ** 2) - 3
    if abs(kurtosis) * np.sqrt(_draws(z, plan) / 24) >= CLEAR:
        return f"draws have {'heavier' if kurtosis > 0 else 'lighter'} tails than the target"
    return "draws have another shape than the target"


def _departures(z: Float[np.ndarray, " n"], plan: BatchPlan) -> tuple[float, float]:
    """How far the mean is from 0, and the spread from 1, in standard errors."""
    draws, spread = _draws(z, plan), float(z.std())
    shift = abs(float(z.mean())) * np.sqrt(draws) / max(spread, 1e-12)
    return shift, abs(spread - 1) * np.sqrt(2 * draws)


def _draws(z: Float[np.ndarray, " n"], plan: BatchPlan) -> float:
    return min(plan.effective_draws, len(z))


def detectable(threshold: float, plan: BatchPlan) -> Effect:
    r"""The shift and the spread of one coordinate that would be found with power 0.8.

    A shift by a adds a^2, a spread by s adds (s^2 - 1)^2 / 2, to the statistic of the Hermite
    polynomials, whose null has standard deviation sqrt(8) / n; its noise grows to
    sqrt(8 / n^2 + 4 a^2 / n). The threshold is that of the largest coordinate, in standard
    deviations.
    """
    n = plan.effective_draws
    scale = np.sqrt(8.0) / n
    needed = threshold * scale
    for _ in range(50):
        needed = threshold * scale + 0.842 * np.sqrt(scale**2 + 4 * needed / n)
    return Effect(float(np.sqrt(needed)), float(np.sqrt(1 + np.sqrt(2 * needed))))
