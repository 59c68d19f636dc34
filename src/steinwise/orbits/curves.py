"""A log density along a line, interpolated between nodes.

From its values and slopes at the nodes or, where only scores are known, from its slopes alone.
"""

from functools import partial, reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

# How far a log density is allowed to rise above the higher node of an interval. A cubic through
# steep slopes can overshoot by far more and then claim all the mass of the line; a true peak that
# is higher than this gets nodes of its own in the next round. At 10 errors of u are up to 20 times
# as large on the densities of tests/orbits (from scores, on the funnel); at 0.1 they are as at 1.
MOST_RISE = 1.0
# The largest change of log density over one interval when slopes are integrated. Far above what
# exp can tell from 0, and far below where sums of such changes lose the digits of small ones.
STEEPEST = 1e6
# The log density, relative to the highest node, given to nodes where the density is not finite:
# exp(-1e4) is 0 in any precision.
NOT_FINITE_DEPTH = 1e4
_GAUSS = np.polynomial.legendre.leggauss(4)
GAUSS_NODES, GAUSS_WEIGHTS = (_GAUSS[0] + 1) / 2, _GAUSS[1] / 2


class Curve(NamedTuple):
    """A line's log density at its nodes, 0 at the highest."""

    nodes: Array
    log_density: Array
    slopes: Array


def curve_through(nodes: Array, values: Array | None, slopes: Array) -> Curve:
    """The curve through these nodes; without values of the log density, by integrated slopes."""
    log_density = (
        cumulative_from_zero(integrate_slopes(nodes, slopes)[0]) if values is None else values
    )
    finite = jnp.isfinite(log_density) & jnp.isfinite(slopes)
    highest = jnp.max(jnp.where(finite, log_density, -jnp.inf), axis=-1, keepdims=True)
    log_density = jnp.where(finite, log_density - highest, -NOT_FINITE_DEPTH)
    return Curve(nodes, log_density, jnp.where(finite, slopes, 0.0))


def integrate_slopes(nodes: Array, slopes: Array) -> tuple[Array, Array]:
    """The change of log p over every interval, from its slopes, and a bound of its error.

    The trapezoid corrected by the slopes' own derivatives: exact for cubic slopes.
    """
    slopes = jnp.where(jnp.isfinite(slopes), slopes, 0.0)
    h, rise = jnp.diff(nodes, axis=-1), jnp.diff(slopes, axis=-1)
    derivatives, fourth = _slope_derivatives(nodes, slopes)
    limited = _limited(derivatives, h, rise / jnp.where(h > 0, h, 1.0))
    correction = h**2 / 12 * (limited[..., :-1] - limited[..., 1:])
    correction = jnp.where(jnp.isfinite(correction), correction, 0.0)
    # slopes that rise, or fall, from end to end have their integral between the two rectangles
    monotone = (limited[..., :-1] * rise >= 0) & (limited[..., 1:] * rise >= 0)
    most = jnp.where(monotone, h * jnp.abs(rise) / 4, jnp.inf)
    correction = jnp.clip(correction, -most, most)
    changes = h * (slopes[..., :-1] + slopes[..., 1:]) / 2 + correction
    removed, fourth = jnp.abs(derivatives - limited), jnp.abs(fourth)
    error = h**5 / 30 * jnp.maximum(fourth[..., :-1], fourth[..., 1:])
    error = error + h**2 / 12 * (removed[..., :-1] + removed[..., 1:])
    error = jnp.where(jnp.isfinite(error), error, STEEPEST)
    error = jnp.minimum(error, jnp.abs(correction) + h * jnp.abs(rise) / 2)
    return jnp.clip(changes, -STEEPEST, STEEPEST), jnp.minimum(error, STEEPEST)


def _slope_derivatives(nodes: Array, slopes: Array) -> tuple[Array, Array]:
    """The slopes' derivative at the nodes, and their fourth divided difference there.

    By quartics through five neighbours; secants at the two outermost nodes of either end.
    """

    def divided_difference(lower: Array, order: int) -> Array:
        gap = nodes[..., order:] - nodes[..., :-order]
        return jnp.diff(lower, axis=-1) / jnp.where(gap > 0, gap, jnp.inf)

    first = divided_difference(slopes, 1)
    second = divided_difference(first, 2)
    third = divided_difference(second, 3)
    fourth = divided_difference(third, 4)
    t0, t1, t2, t3 = (nodes[..., k : nodes.shape[-1] - 4 + k] for k in range(4))
    inside = first[..., :-3] + second[..., :-2] * (2 * t2 - t0 - t1)
    inside = inside + (t2 - t0) * (t2 - t1) * (third[..., :-1] + fourth * (t2 - t3))
    derivatives = jnp.concatenate([first[..., :2], inside, first[..., -2:]], axis=-1)
    ends = [jnp.repeat(side, 2, axis=-1) for side in (fourth[..., :1], fourth[..., -1:])]
    return derivatives, jnp.concatenate([ends[0], fourth, ends[1]], axis=-1)


def _limited(derivatives: Array, h: Array, secants: Array) -> Array:
    """The slopes' derivatives, limited where a kink or nodes of many scales make them wild.

    They are kept between the two neighbouring secants and, where these have the same sign, below
    three times the flatter one, as in monotone cubic interpolation (Fritsch and Carlson, 1980). A
    quartic that is close to the parabola through three neighbours, within a tenth of the secants'
    difference, is trusted and may come as close to the steeper secant as it likes.
    """
    before = jnp.concatenate([secants[..., :1], secants], axis=-1)
    after = jnp.concatenate([secants, secants[..., -1:]], axis=-1)
    steepest = 3 * jnp.minimum(jnp.abs(before), jnp.abs(after))
    same_sign = before * after > 0
    low = jnp.where(same_sign, jnp.where(before > 0, 0.0, -steepest), jnp.minimum(before, after))
    high = jnp.where(same_sign, jnp.where(before > 0, steepest, 0.0), jnp.maximum(before, after))
    h_before = jnp.concatenate([h[..., :1], h], axis=-1)
    h_after = jnp.concatenate([h, h[..., -1:]], axis=-1)
    parabola = (h_after * before + h_before * after) / (h_before + h_after)
    trusted = jnp.abs(derivatives - parabola) <= 0.1 * jnp.abs(after - before)
    low = jnp.where(trusted, jnp.minimum(low, jnp.minimum(before, after)), low)
    high = jnp.where(trusted, jnp.maximum(high, jnp.maximum(before, after)), high)
    return jnp.clip(jnp.nan_to_num(derivatives), low, high)


def cumulative_from_zero(increments: Array) -> Array:
    """Running sums from the left end, beginning at 0."""
    return jnp.concatenate(
        [jnp.zeros_like(increments[..., :1]), jnp.cumsum(increments, axis=-1)], axis=-1
    )


def between_nodes(curve: Curve, r: float) -> Array:
    """The log density at a fraction r of every interval: a cubic kept within bounds.

    Where both tangents lie on one side of the chord the log density is taken to bend one way, and
    lies between chord and tangents; elsewhere it lies between the two tangents. The cubic through
    values and slopes is clipped to that range.
    """
    h = jnp.diff(curve.nodes, axis=-1)
    a, b = curve.log_density[..., :-1], curve.log_density[..., 1:]
    da, db = curve.slopes[..., :-1] * h, curve.slopes[..., 1:] * h
    chord = b - a
    cubic = a + r * (da + r * (3 * chord - 2 * da - db + r * (da + db - 2 * chord)))
    straight, from_a, from_b = a + r * chord, a + r * da, b - (1 - r) * db
    lower_tangent, upper_tangent = jnp.minimum(from_a, from_b), jnp.maximum(from_a, from_b)
    concave, convex = (da >= chord) & (chord >= db), (da <= chord) & (chord <= db)
    low = jnp.where(concave, straight, jnp.where(convex, upper_tangent, lower_tangent))
    high = jnp.where(concave, lower_tangent, jnp.where(convex, straight, upper_tangent))
    low, high = jnp.minimum(low, straight), jnp.maximum(high, straight)
    high = jnp.minimum(high, jnp.maximum(a, b) + MOST_RISE)
    # an interval this steep has its mass at one end, and may have been cut by STEEPEST
    return jnp.where(jnp.abs(chord) < STEEPEST / 10, jnp.clip(cubic, low, high), straight)


def interval_masses(curve: Curve) -> Array:
    """The mass of every interval, by Gauss's rule with four points.

    Where the density is 0 at all of them and not at an end, the interval is so steep that its mass
    lies at that end: there it is that of an exponential density. A line whose mass lies between
    nodes, as those of a target far narrower than the draws, would have no mass at all.
    """
    points = zip(GAUSS_NODES, GAUSS_WEIGHTS, strict=True)
    weighted = [weight * jnp.exp(between_nodes(curve, r)) for r, weight in points]
    mean = reduce(jnp.add, weighted)
    a, b = curve.log_density[..., :-1], curve.log_density[..., 1:]
    at_an_end = jnp.exp(jnp.maximum(a, b)) / jnp.maximum(jnp.abs(b - a), 1.0)
    return jnp.diff(curve.nodes, axis=-1) * jnp.where(mean > 0, mean, at_an_end)


def cumulative_shares(curve: Curve) -> tuple[Array, Array]:
    """The share of a line's mass below every node, with exponential tails, and the whole mass."""
    density = jnp.exp(curve.log_density)
    rising, falling = curve.slopes[..., 0], -curve.slopes[..., -1]
    left = jnp.where(rising > 0, density[..., 0] / jnp.where(rising > 0, rising, 1.0), 0.0)
    right = jnp.where(falling > 0, density[..., -1] / jnp.where(falling > 0, falling, 1.0), 0.0)
    below = left[..., None] + cumulative_from_zero(interval_masses(curve))
    total = below[..., -1] + right
    return below / total[..., None], total


def interval_reaching(share: Array, cumulative: Array) -> Array:
    """The interval in which the cumulative mass of a line reaches a share of the whole.

    The shares are the same for all lines, or each line has its own.
    """
    search = jax.vmap(partial(jnp.searchsorted, side="right"), (0, None if share.ndim == 1 else 0))
    return jnp.clip(search(cumulative, share) - 1, 0, cumulative.shape[-1] - 2)
