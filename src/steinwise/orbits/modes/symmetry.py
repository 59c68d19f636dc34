"""Modes that are copies of each other: the same but for the order of exchangeable coordinates.

The components of a mixture can be numbered in any order, and its posterior has a mode for each
order. Draws that keep to one of them answer every question that does not depend on the numbers. The
log odds of the weights of two components belong to both, and change their sign.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise.orbits.modes.ascent import ValuesAndGradients

ALIKE = 0.1  # units between a coordinate of one maximum and its partner in another
SAME_VALUE = 1e-6  # of log p before and after an exchange, relative to its size
# Units that coordinates are moved by, no two by the same, to tell which others belong to them: far
# enough for their gradients to differ by more than climbs that end a little short of a peak leave.
SHORTEST, LONGEST = 0.5, 1.5


class Exchange(NamedTuple):
    """A copy of x is `sign * x[order]`."""

    order: Int[np.ndarray, " d"]
    sign: Int[np.ndarray, " d"]  # -1 only for coordinates that keep their places

    def __call__(self, x: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        return self.sign * x[:, self.order]


def symmetric_groups(
    points: Float[np.ndarray, "k d"],
    probes: Float[np.ndarray, "m d"],
    function: ValuesAndGradients,
    scale: Float[np.ndarray, " d"],
) -> Int[np.ndarray, " k"]:
    """A number for each mode, the same for copies of each other.

    An exchange of coordinates that takes one maximum to another is believed if it leaves log p
    the same at all `probes`. One that changes signs as well must not be a mere reflection: log p
    must not stay the same if signs are changed and nothing is exchanged. `function` gives log p and
    its gradient, and `scale` is the size of one unit of each coordinate.
    """
    group = np.arange(len(points))
    values = function(probes)[0]
    known = np.isfinite(values)
    if not known.any():
        return group

    def unchanged(exchange: Exchange) -> bool:
        exchanged = function(exchange(probes[known]))[0]
        return np.allclose(exchanged, values[known], rtol=SAME_VALUE, atol=SAME_VALUE)

    def copies(one: np.ndarray, other: np.ndarray) -> bool:
        exchange = _exchange(one, other, function, scale, reflected=False)
        if exchange is not None and unchanged(exchange):
            return True
        exchange = _exchange(one, other, function, scale, reflected=True)
        if exchange is None or not unchanged(exchange):
            return False
        return not unchanged(exchange._replace(order=np.arange(len(one))))

    for k in range(1, len(points)):
        for first in np.unique(group[:k]):
            if copies(points[first], points[k]):
                group[k] = first
                break
    return np.unique(group, return_inverse=True)[1]


def _exchange(
    one: Float[np.ndarray, " d"],
    other: Float[np.ndarray, " d"],
    function: ValuesAndGradients,
    scale: Float[np.ndarray, " d"],
    *,
    reflected: bool,
) -> Exchange | None:
    """What takes one point to another; None where they are no such pair.

    Coordinates that keep their places may change their signs where `reflected`. Coordinates with
    equal values, such as the widths of components that are equally wide, could have each other's
    partners. So those that can have one partner only are moved, each by another length, and the
    gradients of partners must be equal after that too.
    """
    from scipy.optimize import linear_sum_assignment

    own = np.eye(len(one), dtype=bool)
    signs = np.array([1, -1] if reflected else [1])[:, None, None]
    possible = (signs > 0) | own
    apart = np.abs(other[:, None] - signs * one) / np.maximum(scale[:, None], scale)
    alike = possible & (apart <= ALIKE)
    single = (alike.sum(axis=(0, 1)) == 1) & (alike.sum(axis=(0, 2))[:, None] == 1)
    sure = (signs * (alike & single)).sum(axis=0)
    length = np.where(sure.any(axis=0), np.linspace(SHORTEST, LONGEST, len(one)) * scale, 0.0)
    gradients = function(np.stack([one + length, other + sure @ length]))[1]
    differ = np.abs(gradients[1][:, None] - signs * gradients[0])
    differ = differ * np.minimum(scale[:, None], scale)
    cost = np.where(alike, apart + np.nan_to_num(differ, nan=0.0, posinf=0.0), len(one) / ALIKE)
    cost = cost - own * (signs > 0) * 1e-9  # of equal ones, each is its own partner
    best = cost.argmin(axis=0)
    _, order = linear_sum_assignment(cost.min(axis=0))
    places = np.arange(len(one)), order
    if not np.any(alike, axis=0)[places].all():
        return None
    return Exchange(order, signs.ravel()[best[places]])
