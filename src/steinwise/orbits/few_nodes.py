"""u by few nodes, on lines along which the density is nearly normal.

The nodes are a standard deviation apart around the mode, and the draw is one of them. Between two
neighbours log p is the polynomial through the values and slopes at four nodes; through three it
gives nearly the same u, or the line is not trusted. What is interpolated does not depend on the
line: matrices that are made once take the values and slopes to log p at the points of Gauss's rule.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from steinwise._internal.compiled import precision
from steinwise.orbits.curves import GAUSS_NODES, GAUSS_WEIGHTS
from steinwise.orbits.line_density import LineDensity
from steinwise.orbits.series_comparison import LARGEST_CHANGE, LEAST_TAIL

# Thirteen nodes reach six standard deviations: with eleven, and the least fall below, four lines in
# five of a log Gamma(3) are refused, of which an eighth is with thirteen.
NODES = 13
# Steps of Newton's to the mode, at most, and how near to it they end, in standard deviations: the
# nodes need not be centred better than that.
NEWTON_STEPS, NEAR_MODE = 5, 0.3
LONGEST_STEP = 3.0  # in standard deviations, by the curvature where it starts
# The least fall of log p from the mode to the last nodes, and the largest share of the mass beyond
# either of them. Tails are exponential there: those of a t with 10 degrees of freedom, off by a
# third, then move u by less than 1e-4.
LEAST_FALL, LARGEST_TAIL = 6.0, 2e-4
# Neighbours that a polynomial goes through, and one that it is compared with. The last is off by
# about ten times as much on a smooth density, and a kink shows in both.
NEIGHBOURS, FEWER_NEIGHBOURS = 4, 3
HIGHEST = 50.0  # of log p between nodes, above its highest node: no line is trusted that gets there


class FewNodes(NamedTuple):
    """Where draws stand on lines, one to a row, and whether that can be trusted."""

    u: Float[np.ndarray, " m"]
    trusted: Bool[np.ndarray, " m"]
    evaluations: float


def follow_by_few_nodes(density: LineDensity) -> FewNodes:
    """u of the draws, one line to a row, from `NODES` nodes and a few to find their place.

    Only with values of log p: where scores alone are known, or the values are so large that
    rounding leaves nothing of their shape, no line is trusted.
    """
    x = density.positions[:, 0]
    with precision(), np.errstate(all="ignore"):  # what is not finite is not trusted
        at_draws, score, curvature = density.at_draws()
        if at_draws is None or density.coarse(at_draws):
            evaluations = float(2 * len(x) * density.evaluations_per_point)
            return FewNodes(np.full(len(x), np.nan), np.zeros(len(x), bool), evaluations)
        mode, sd, points = _find_mode(density, score[:, 0], curvature[:, 0])
        draw = (NODES - 1) // 2 - np.round((mode - x) / sd)  # its number among the nodes
        nodes = x[:, None] + sd[:, None] * (np.arange(NODES) - draw[:, None])
        usable = np.isfinite(nodes).all(axis=1) & (draw >= 0) & (draw < NODES)
        if density.limits is not None:
            least, most = density.limits
            usable &= ((nodes > least) & (nodes < most)).all(axis=1)
        where = np.where(usable[:, None], nodes, x[:, None])
        values, slopes = density.values_and_slopes(where[:, None])
        assert values is not None
        u, change, tails_vanish = _judge(values[:, 0], slopes[:, 0] * sd[:, None], draw)
        trusted = usable & tails_vanish & (change < LARGEST_CHANGE)
        trusted &= np.minimum(u, 1 - u) > LEAST_TAIL
    points += 2 * len(x) + nodes.size
    return FewNodes(u, trusted, float(points * density.evaluations_per_point))


def _find_mode(
    density: LineDensity, slope: Float[np.ndarray, " m"], curvature: Float[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"], int]:
    """The mode of every line, its standard deviation, and how many points it took to find them.

    By Newton's steps from the draw, with the curvature between the last two points; infinite where
    they do not arrive.
    """
    at, sd, points = density.positions[:, 0].copy(), density.sd[:, 0].copy(), 0
    left = np.arange(len(at))
    for _ in range(NEWTON_STEPS + 1):
        concave = curvature < 0
        sd[left] = np.where(concave, np.abs(curvature) ** -0.5, sd[left])
        steps = np.where(concave, -slope / curvature, np.sign(slope) * sd[left])
        steps = np.clip(steps, -LONGEST_STEP * sd[left], LONGEST_STEP * sd[left])
        arrived = concave & (np.abs(steps) <= NEAR_MODE * sd[left])
        at[left[arrived]] += steps[arrived]
        left, steps, slope = left[~arrived], steps[~arrived], slope[~arrived]
        if not len(left):
            return at, sd, points
        at[left] += steps
        new_slope = density.rows(left).values_and_slopes(at[left, None, None])[1][:, 0, 0]
        curvature, slope = (new_slope - slope) / steps, new_slope
        points += len(left)
    at[left] = np.inf
    return at, sd, points


def _judge(
    values: Float[np.ndarray, "m k"],
    slopes: Float[np.ndarray, "m k"],
    draw: Float[np.ndarray, " m"],
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, " m"], Bool[np.ndarray, " m"]]:
    """u, what a polynomial through fewer neighbours changes of it, and whether tails vanish.

    Slopes are those over one node's distance, `draw` the number of the node that the draw is at.
    """
    levels = values - values.max(axis=1, keepdims=True)
    masses = _masses(levels, slopes, NEIGHBOURS)
    differences = np.abs(masses - _masses(levels, slopes, FEWER_NEIGHBOURS))
    ends = np.exp(levels[:, [0, -1]]) / (slopes[:, [0, -1]] * [1, -1])
    total = masses.sum(axis=1) + ends.sum(axis=1)
    is_below = np.arange(NODES - 1) < draw[:, None]
    u = (ends[:, 0] + (masses * is_below).sum(axis=1)) / total
    below, above = ((differences * side).sum(axis=1) for side in (is_below, ~is_below))
    falls = -levels[:, [0, -1]].max(axis=1) > LEAST_FALL
    small = ((ends >= 0) & (ends < LARGEST_TAIL * total[:, None])).all(axis=1)
    return u, (u * above + (1 - u) * below) / total, falls & small


def _masses(
    levels: Float[np.ndarray, "m k"], slopes: Float[np.ndarray, "m k"], neighbours: int
) -> Float[np.ndarray, "m k-1"]:
    """The mass between every two nodes, in units of their distance."""
    of_levels, of_slopes = _interpolation(neighbours)
    log_p = levels @ of_levels.T + slopes @ of_slopes.T
    p = np.exp(np.minimum(log_p, HIGHEST))
    return p.reshape(len(levels), NODES - 1, -1) @ GAUSS_WEIGHTS


@cache
def _interpolation(
    neighbours: int,
) -> tuple[Float[np.ndarray, "points k"], Float[np.ndarray, "points k"]]:
    """What takes values and slopes at the nodes to values at Gauss's points between them."""
    of_values, of_slopes = np.zeros((2, NODES - 1, len(GAUSS_NODES), NODES))
    for interval in range(NODES - 1):
        nodes, centre = _neighbours_of(interval, neighbours)
        powers = _powers(nodes - centre, 2 * neighbours)
        slopes = _slopes_of_powers(nodes - centre, 2 * neighbours)
        points = _powers(interval + GAUSS_NODES - centre, 2 * neighbours)
        weights = np.linalg.solve(np.concatenate([powers, slopes]).T, points.T).T
        of_values[interval][:, nodes] = weights[:, :neighbours]
        of_slopes[interval][:, nodes] = weights[:, neighbours:]
    return of_values.reshape(-1, NODES), of_slopes.reshape(-1, NODES)


def _neighbours_of(interval: int, count: int) -> tuple[np.ndarray, float]:
    """The nodes next to an interval, as many on either side, and their centre."""
    first = int(np.clip(interval - (count // 2 - 1), 0, NODES - count))
    return np.arange(first, first + count), first + (count - 1) / 2


def _powers(t: np.ndarray, count: int) -> np.ndarray:
    return t[:, None] ** np.arange(count)


def _slopes_of_powers(t: np.ndarray, count: int) -> np.ndarray:
    powers = np.arange(count)
    return powers * t[:, None] ** np.maximum(powers - 1, 0)
