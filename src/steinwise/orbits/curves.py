"""A log density along a line, from its values and slopes at nodes, or from its slopes alone.

What is believed of it between the nodes, and how wrong that may be.
"""

from functools import partial, reduce
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

RELEVANT = 15.0  # log densities this far below the highest hold no mass that matters
HIGHEST = 1.0  # above the higher node of an interval, what is believed of a log density inside
BENT_SHARE = 0.1  # what the mass of a bent interval counts beside the bounds of that mass
STEEPEST = 1e6  # change of log density over one interval, when it is integrated
LOWEST = 1e4  # below the highest log density of a line, where the density is not finite
_GAUSS = np.polynomial.legendre.leggauss(4)
GAUSS_NODES, GAUSS_WEIGHTS = (_GAUSS[0] + 1) / 2, _GAUSS[1] / 2


class Curve(NamedTuple):
    """A line's log density at its nodes, 0 at the highest."""

    nodes: Array
    log_density: Array
    slopes: Array


def curve_through(nodes: Array, values: Array | None, slopes: Array) -> Curve:
    log_density = summed(integrals(nodes, slopes)[0]) if values is None else values
    finite = jnp.isfinite(log_density) & jnp.isfinite(slopes)
    highest = jnp.max(jnp.where(finite, log_density, -jnp.inf), axis=-1, keepdims=True)
    log_density = jnp.where(finite, log_density - highest, -LOWEST)
    return Curve(nodes, log_density, jnp.where(finite, slopes, 0.0))


def integrals(nodes: Array, slopes: Array) -> tuple[Array, Array]:
    """The change of log p over every interval, from its slopes, and how wrong it may be.

    The trapezoid corrected by the slopes' own derivatives: exact for cubic slopes.
    """
    slopes = jnp.where(jnp.isfinite(slopes), slopes, 0.0)
    h, rise = jnp.diff(nodes, axis=-1), jnp.diff(slopes, axis=-1)
    bends, fourth = _bends(nodes, slopes)
    kept = _guarded(bends, h, rise / jnp.where(h > 0, h, 1.0))
    correction = h**2 / 12 * (kept[..., :-1] - kept[..., 1:])
    correction = jnp.where(jnp.isfinite(correction), correction, 0.0)
    # slopes that rise, or fall, from end to end have their integral between the two rectangles
    monotone = (kept[..., :-1] * rise >= 0) & (kept[..., 1:] * rise >= 0)
    most = jnp.where(monotone, h * jnp.abs(rise) / 4, jnp.inf)
    correction = jnp.clip(correction, -most, most)
    pieces = h * (slopes[..., :-1] + slopes[..., 1:]) / 2 + correction
    removed, fourth = jnp.abs(bends - kept), jnp.abs(fourth)
    doubt = h**5 / 30 * jnp.maximum(fourth[..., :-1], fourth[..., 1:])
    doubt = doubt + h**2 / 12 * (removed[..., :-1] + removed[..., 1:])
    doubt = jnp.where(jnp.isfinite(doubt), doubt, STEEPEST)
    doubt = jnp.minimum(doubt, jnp.abs(correction) + h * jnp.abs(rise) / 2)
    return jnp.clip(pieces, -STEEPEST, STEEPEST), jnp.minimum(doubt, STEEPEST)


def _bends(nodes: Array, slopes: Array) -> tuple[Array, Array]:
    """The slopes' derivative at the nodes, and their fourth divided difference there.

    By quartics through five neighbours; secants at the two outermost nodes of either end.
    """

    def divided(lower: Array, apart: int) -> Array:
        gap = nodes[..., apart:] - nodes[..., :-apart]
        return jnp.diff(lower, axis=-1) / jnp.where(gap > 0, gap, jnp.inf)

    first = divided(slopes, 1)
    second = divided(first, 2)
    third = divided(second, 3)
    fourth = divided(third, 4)
    t0, t1, t2, t3 = (nodes[..., k : nodes.shape[-1] - 4 + k] for k in range(4))
    inside = first[..., :-3] + second[..., :-2] * (2 * t2 - t0 - t1)
    inside = inside + (t2 - t0) * (t2 - t1) * (third[..., :-1] + fourth * (t2 - t3))
    bends = jnp.concatenate([first[..., :2], inside, first[..., -2:]], axis=-1)
    ends = [jnp.repeat(side, 2, axis=-1) for side in (fourth[..., :1], fourth[..., -1:])]
    return bends, jnp.concatenate([ends[0], fourth, ends[1]], axis=-1)


def _guarded(bends: Array, h: Array, secants: Array) -> Array:
    """Derivatives of the slopes that nodes of many scales, or a kink, have not made wild.

    They are kept between the two secants, and where these have one sign below three times the
    flatter one, as for monotone interpolation. A quartic that is close to the parabola through
    three neighbours may come closer to the steeper secant.
    """
    before = jnp.concatenate([secants[..., :1], secants], axis=-1)
    after = jnp.concatenate([secants, secants[..., -1:]], axis=-1)
    steepest = 3 * jnp.minimum(jnp.abs(before), jnp.abs(after))
    one_sign = before * after > 0
    low = jnp.where(one_sign, jnp.where(before > 0, 0.0, -steepest), jnp.minimum(before, after))
    high = jnp.where(one_sign, jnp.where(before > 0, steepest, 0.0), jnp.maximum(before, after))
    h_before = jnp.concatenate([h[..., :1], h], axis=-1)
    h_after = jnp.concatenate([h, h[..., -1:]], axis=-1)
    parabola = (h_after * before + h_before * after) / (h_before + h_after)
    believed = jnp.abs(bends - parabola) <= 0.1 * jnp.abs(after - before)
    low = jnp.where(believed, jnp.minimum(low, jnp.minimum(before, after)), low)
    high = jnp.where(believed, jnp.maximum(high, jnp.maximum(before, after)), high)
    return jnp.clip(jnp.nan_to_num(bends), low, high)


def summed(pieces: Array) -> Array:
    """Sums from the left end, beginning at 0."""
    return jnp.concatenate([jnp.zeros_like(pieces[..., :1]), jnp.cumsum(pieces, axis=-1)], axis=-1)


def between_nodes(curve: Curve, r: float) -> Array:
    """The guarded cubic through values and slopes, at a fraction r of every interval.

    Where both tangents lie on one side of the chord the log density is taken to bend one way, and
    lies between them; elsewhere it lies within their hull. The cubic is kept there.
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
    high = jnp.minimum(high, jnp.maximum(a, b) + HIGHEST)
    # an interval this steep has its mass at one end, and may have been cut by STEEPEST
    return jnp.where(jnp.abs(chord) < STEEPEST / 10, jnp.clip(cubic, low, high), straight)


def masses(curve: Curve) -> Array:
    """Of every interval, by the rule of Gauss with four points."""
    points = zip(GAUSS_NODES, GAUSS_WEIGHTS, strict=True)
    inside = [weight * jnp.exp(between_nodes(curve, r)) for r, weight in points]
    return jnp.diff(curve.nodes, axis=-1) * reduce(jnp.add, inside)


def in_tails(
    curve: Curve, cumulative: Array, v: Array, quantiles: Array, scores: Array
) -> tuple[Array, Array]:
    """Quantiles beyond the first or last node, by the exponential tails."""
    first, last = curve.slopes[..., :1], curve.slopes[..., -1:]
    left, right = cumulative[..., :1], 1 - cumulative[..., -1:]
    left, right = (jnp.where(side > 0, side, 1.0) for side in (left, right))
    low = curve.nodes[..., :1] + jnp.log(v / left) / jnp.where(first > 0, first, 1.0)
    high = curve.nodes[..., -1:] + jnp.log((1 - v) / right) / jnp.where(last < 0, last, -1.0)
    in_left, in_right = v < cumulative[..., :1], v > cumulative[..., -1:]
    quantiles = jnp.where(in_left, low, jnp.where(in_right, high, quantiles))
    return quantiles, jnp.where(in_left, first, jnp.where(in_right, last, scores))


def interval_of(share: Array, cumulative: Array) -> Array:
    """The interval in which the cumulative mass of a line comes to a share of it."""
    among = jax.vmap(partial(jnp.searchsorted, v=share, side="right"))
    return jnp.clip(among(cumulative) - 1, 0, cumulative.shape[-1] - 2)


def mass_error_bounds(curve: Curve) -> tuple[Array, Array]:
    """How far apart the bounds of every interval's mass are, and their middle.

    A log density that bends one way lies between the chord and the two tangents; another, about,
    between the tangents. It may bend more than once: a share of the mass of bent intervals is
    added.
    """
    h = jnp.diff(curve.nodes, axis=-1)
    a, b = curve.log_density[..., :-1], curve.log_density[..., 1:]
    chord, da, db = b - a, curve.slopes[..., :-1] * h, curve.slopes[..., 1:] * h
    one_way = (da - chord) * (chord - db) >= 0
    across = jnp.where(da == db, 0.5, (chord - db) / jnp.where(da == db, 1.0, da - db))
    across = jnp.clip(across, 0.0, 1.0)  # where the tangents meet
    corner = a + across * da
    tangents = across * _mean_exp(a, corner) + (1 - across) * _mean_exp(corner, b)
    straight = _mean_exp(a, b)
    either = jnp.abs(_mean_exp(a, a + da) - _mean_exp(b - db, b))
    between = jnp.where(one_way, jnp.abs(tangents - straight), either)
    mass = h * jnp.where(one_way, (tangents + straight) / 2, straight)
    bent = jnp.minimum(jnp.abs(da - chord) + jnp.abs(db - chord), 1 / BENT_SHARE)
    return h * between + BENT_SHARE * bent * mass, mass


def _mean_exp(a: Array, b: Array) -> Array:
    """The mean of exp over the straight line from a to b."""
    a, b = jnp.minimum(a, HIGHEST), jnp.minimum(b, HIGHEST)
    gap = b - a
    small = jnp.abs(gap) < 1e-3
    series = jnp.exp(a) * (1 + gap / 2 + gap**2 / 6)
    return jnp.where(small, series, (jnp.exp(b) - jnp.exp(a)) / jnp.where(small, 1.0, gap))


def slope_error_bounds(curve: Curve, wrong: Array, share: Array) -> Array:
    """What errors of integrated slopes may do to the share of mass on either side of them.

    Only intervals between the outermost places count that hold mass, or may hold it for all that
    is known of the integrals up to there.
    """
    # between slopes of one sign log p rises, or falls, at least by a part of what was found
    steady = curve.slopes[..., :-1] * curve.slopes[..., 1:] > 0
    found = jnp.abs(jnp.diff(curve.log_density, axis=-1))
    so_far = summed(jnp.where(steady, jnp.minimum(wrong, found / 2), wrong))
    top = jnp.argmax(curve.log_density, axis=-1, keepdims=True)
    unknown = jnp.abs(so_far - jnp.take_along_axis(so_far, top, axis=-1))
    weighty = curve.log_density + unknown > -RELEVANT
    from_left = jnp.cumsum(weighty, axis=-1) > 0
    from_right = jnp.cumsum(weighty[..., ::-1], axis=-1)[..., ::-1] > 0
    inside = from_left & from_right
    below = jnp.cumsum(share, axis=-1)
    wrong = jnp.minimum(wrong, 1.0)
    # both sides of an interval whose integral is unknown may hold half of the mass
    weight = jnp.maximum(below * (1 - below + share), wrong / 4)
    return jnp.where(inside[..., 1:] & inside[..., :-1], wrong * weight, 0.0)
