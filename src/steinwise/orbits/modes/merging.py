"""Maxima that are one mode: the same point, or joined by a straight way without a valley."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

SAME = 0.02  # units between two maxima that are one: a climb ends within about this
WAY = np.linspace(0, 1, 17)[1:-1]  # places between two maxima at which a valley is looked for
# Nats that a valley must be deep: two equal normal densities have it from 3.8 standard deviations
# on. Anything less is a shoulder, which a sampler crosses without noticing.
VALLEY = 1.0
MOST_MODES = 16  # that are mapped to each other; a draw then costs as many evaluations


class Summits(NamedTuple):
    """The maxima that stand for modes, highest first, and how many others were not looked at."""

    chosen: Int[np.ndarray, " k"]
    shoulders: int  # maxima that a higher one stands for, without a valley between them
    left_out: int  # maxima beyond those that are mapped; shoulders of each other among them


def separate_summits(
    points: Float[np.ndarray, "m d"],
    values: Float[np.ndarray, " m"],
    log_density: Callable[[Float[np.ndarray, "n d"]], Float[np.ndarray, " n"]],
) -> Summits:
    """One maximum of each mode."""
    left = np.argsort(-values, kind="stable")
    chosen: list[int] = []
    shoulders = 0
    while len(left) and len(chosen) < MOST_MODES:
        top, left = int(left[0]), left[1:]
        chosen.append(top)
        same = np.abs(points[left] - points[top]).max(axis=1) < SAME
        left = left[~same]
        joined = _joined(points[left], values[left], points[top], log_density)
        distinct = np.abs(points[left[joined], None] - points[chosen]).max(axis=2).min(axis=1)
        shoulders += int((distinct > 10 * SAME).sum())
        left = left[~joined]
    return Summits(np.array(chosen, int), shoulders, _count_distinct(points[left]))


def _count_distinct(points: Float[np.ndarray, "m d"]) -> int:
    count = 0
    while len(points):
        count += 1
        points = points[np.abs(points - points[0]).max(axis=1) >= SAME]
    return count


def _joined(
    points: Float[np.ndarray, "m d"],
    values: Float[np.ndarray, " m"],
    top: Float[np.ndarray, " d"],
    log_density: Callable[[Float[np.ndarray, "n d"]], Float[np.ndarray, " n"]],
) -> Bool[np.ndarray, " m"]:
    """Whether the way to a higher maximum has no valley."""
    if len(points) == 0:
        return np.zeros(0, bool)
    way = top + WAY[:, None] * (points - top)[:, None]
    along = log_density(way.reshape(-1, len(top))).reshape(len(points), -1)
    return np.where(np.isfinite(along), along, -np.inf).min(axis=1) > values - VALLEY
