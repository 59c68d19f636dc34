"""Modes that are copies of each other: the same but for the order of exchangeable coordinates.

The components of a mixture can be numbered in any order, and its posterior has a mode for each
order. Draws that keep to one of them answer every question that does not depend on the numbers.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

ALIKE = 0.1  # units between a coordinate of one maximum and its partner in another
SAME_VALUE = 1e-6  # of log p before and after an exchange, relative to its size


def symmetric_groups(
    points: Float[np.ndarray, "k d"],
    probes: Float[np.ndarray, "m d"],
    log_density: Callable[[Float[np.ndarray, "n d"]], Float[np.ndarray, " n"]],
    scale: Float[np.ndarray, " d"],
) -> Int[np.ndarray, " k"]:
    """A number for each mode, the same for copies of each other.

    An exchange of coordinates that takes one maximum to another is believed if it leaves log p
    the same at all `probes`. `scale` is the size of one unit of each coordinate.
    """
    group = np.arange(len(points))
    values = log_density(probes)
    known = np.isfinite(values)
    if not known.any():
        return group
    for k in range(1, len(points)):
        for first in np.unique(group[:k]):
            order = _exchange(points[first], points[k], scale)
            if order is None:
                continue
            exchanged = log_density(probes[known][:, order])
            if np.allclose(exchanged, values[known], rtol=SAME_VALUE, atol=SAME_VALUE):
                group[k] = first
                break
    return np.unique(group, return_inverse=True)[1]


def _exchange(
    one: Float[np.ndarray, " d"], other: Float[np.ndarray, " d"], scale: Float[np.ndarray, " d"]
) -> Int[np.ndarray, " d"] | None:
    """The coordinates of one point in the order of another's; None where they are no such pair."""
    from scipy.optimize import linear_sum_assignment

    cost = np.abs(other[:, None] - one)
    stays = np.eye(len(one)) * 1e-9 * (1 + cost.max())  # of equal ones, each is its own partner
    _, order = linear_sum_assignment(cost - stays)
    apart = np.abs(other - one[order]) / np.maximum(scale, scale[order])
    return None if apart.max() > ALIKE else order
