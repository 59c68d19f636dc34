"""Modes that are copies of each other: the same but for the order of exchangeable coordinates.

The components of a mixture can be numbered in any order, and its posterior has a mode for each
order. Draws that keep to one of them answer every question that does not depend on the numbers.
"""

import numpy as np
from jaxtyping import Float, Int

from steinwise.orbits.modes.ascent import ValuesAndGradients

ALIKE = 0.1  # units between a coordinate of one maximum and its partner in another
SAME_VALUE = 1e-6  # of log p before and after an exchange, relative to its size
# Units that coordinates are moved by, no two by the same, to tell which others belong to them: far
# enough for their gradients to differ by more than climbs that end a little short of a peak leave.
SHORTEST, LONGEST = 0.5, 1.5


def symmetric_groups(
    points: Float[np.ndarray, "k d"],
    probes: Float[np.ndarray, "m d"],
    function: ValuesAndGradients,
    scale: Float[np.ndarray, " d"],
) -> Int[np.ndarray, " k"]:
    """A number for each mode, the same for copies of each other.

    An exchange of coordinates that takes one maximum to another is believed if it leaves log p
    the same at all `probes`. `function` gives log p and its gradient, and `scale` is the size of
    one unit of each coordinate.
    """
    group = np.arange(len(points))
    values = function(probes)[0]
    known = np.isfinite(values)
    if not known.any():
        return group
    for k in range(1, len(points)):
        for first in np.unique(group[:k]):
            order = _exchange(points[first], points[k], function, scale)
            if order is None:
                continue
            exchanged = function(probes[known][:, order])[0]
            if np.allclose(exchanged, values[known], rtol=SAME_VALUE, atol=SAME_VALUE):
                group[k] = first
                break
    return np.unique(group, return_inverse=True)[1]


def _exchange(
    one: Float[np.ndarray, " d"],
    other: Float[np.ndarray, " d"],
    function: ValuesAndGradients,
    scale: Float[np.ndarray, " d"],
) -> Int[np.ndarray, " d"] | None:
    """The coordinates of one point in the order of another's; None where they are no such pair.

    Coordinates with equal values, such as the widths of components that are equally wide, could
    have each other's partners. So those that can have one partner only are moved, each by another
    length, and the gradients of partners must be equal after that too.
    """
    from scipy.optimize import linear_sum_assignment

    apart = np.abs(other[:, None] - one) / np.maximum(scale[:, None], scale)
    alike = apart <= ALIKE
    sure = alike & (alike.sum(axis=0) == 1) & (alike.sum(axis=1, keepdims=True) == 1)
    length = np.where(sure.any(axis=0), np.linspace(SHORTEST, LONGEST, len(one)) * scale, 0.0)
    gradients = function(np.stack([one + length, other + sure @ length]))[1]
    differ = np.abs(gradients[1][:, None] - gradients[0]) * np.minimum(scale[:, None], scale)
    cost = np.where(alike, apart + np.nan_to_num(differ, nan=0.0, posinf=0.0), len(one) / ALIKE)
    cost -= np.eye(len(one)) * 1e-9  # of equal ones, each is its own partner
    _, order = linear_sum_assignment(cost)
    return order if alike[np.arange(len(one)), order].all() else None
