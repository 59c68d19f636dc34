r"""Where a draw stands on its line, from the Taylor series of log p along it.

With f(t) = log p(x + t v) - log p(x) known as a polynomial, u is the share of exp f below t = 0.
The nodes of the quadrature are t = k h for whole k, around the mode, up to where exp f vanishes.
There the trapezoidal rule is accurate far beyond its order, and the draw itself is a node: what
ends at it gets the corrections of Euler and Maclaurin,

.. math:: \int_{-\infty}^0 e^f = h \Big(\sum_{k < 0} e^{f(k h)} + \tfrac12\Big)
    - \tfrac{h^2}{12} (e^f)'(0) + \tfrac{h^4}{720} (e^f)'''(0) - \dots,

whose derivatives the series gives as well.
"""

import math
from functools import reduce
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from steinwise._internal.compiled import call_in_chunks, precision, rows_of
from steinwise._internal.compiler_options import quickly_compiled

ORDER = 8  # of the series
DOUBTED = 2  # of its last terms: without them u must be nearly the same
NEWTON_STEPS = 6
STEEPEST_AT_MODE = 1e-3  # the slope of log p where these steps end, to a standard deviation
# Nodes on either side of the mode, and how many to a standard deviation: 11 in all. At half
# a standard deviation the rule and its corrections are exact to 5e-9 for a normal density.
NODES_PER_SIDE, NODES_PER_SD = 11, 2
REACH = NODES_PER_SIDE / NODES_PER_SD  # of the nodes, in standard deviations from the mode
# The least fall of log p from the mode to the last nodes. Beyond them tails are exponential: at
# most 1e-3 of the mass, known to a hundredth or so.
LEAST_FALL = 7.0
# How far, in standard deviations from the mode, the series must converge, and what its last terms
# may add to log p there.
CONVERGES_TO, LARGEST_LAST_TERMS = 2.5, 0.3
# Quantiles: nodes to a standard deviation, and how many standard deviations they reach on either
# side of the mode, where the density must have fallen to 6e-6 of its peak; and the most by which
# doubted terms may move mass. For a normal density quantiles are exact to 1e-5 standard deviations.
QUANTILE_NODES_PER_SD, QUANTILE_REACH, QUANTILE_NEWTON_STEPS = 4, 6, 4
LEAST_FALL_OF_QUANTILES = 12.0
LARGEST_CHANGE_OF_QUANTILES = 1e-3
# Euler and Maclaurin: B_2k / (2k)! for k = 1, ..., 4
CORRECTIONS = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600)
LINES_PER_CALL = 2048  # one shape for any number of lines, so that they compile once


class SeriesPlaces(NamedTuple):
    """What the series of each line says."""

    u: Float[np.ndarray, "*lines"]
    mode: Float[np.ndarray, "*lines"]  # the step from the draw to it
    sd: Float[np.ndarray, "*lines"]  # by the curvature there
    log_density: Float[np.ndarray, "*lines"]  # at the draw, normalised
    change: Float[np.ndarray, "*lines"]  # that the last terms make to u; inf where there is no u


def places_from_series(coefficients: Float[np.ndarray, "*lines order"]) -> SeriesPlaces:
    """Where the draws stand on lines with these Taylor coefficients, from order 0 to `ORDER`."""
    lines = coefficients.reshape(-1, ORDER + 1)
    with precision():
        found = call_in_chunks(_places, rows_of(lines), len(lines), LINES_PER_CALL)
    return SeriesPlaces(*found.T.reshape(-1, *coefficients.shape[:-1]))


@quickly_compiled
def _places(coefficients: Float[Array, "m order"]) -> Float[Array, "m 5"]:
    unit, c, mode, sd, has_mode = _around_mode(coefficients)
    top = _polynomial(c, mode)
    h = sd / NODES_PER_SD
    first = jnp.round(mode / h)

    def at_node(k: Array | int) -> tuple[Array, Array, Array, Array]:
        """The number of a node, log p there, p, and what the last terms add to log p."""
        index = first + k
        t = index * h
        doubted = _polynomial(c[-DOUBTED:], t) * t ** (len(c) - DOUBTED)
        log_p = _polynomial(c[:-DOUBTED], t) + doubted - top
        return index, log_p, jnp.exp(jnp.minimum(log_p, 50.0)), doubted

    def add_node(k: Array, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        index, _, p, doubted = at_node(k)
        is_below = jnp.where(index < 0, 1.0, jnp.where(index == 0, 0.5, 0.0))
        changed = p * jnp.abs(doubted)
        added = p, is_below * p, changed, is_below * changed
        return tuple(total + one for total, one in zip(sums, added, strict=True))

    # node by node, which takes a fifth of the time of arrays with an axis of nodes
    sums = lax.fori_loop(-NODES_PER_SIDE, NODES_PER_SIDE + 1, add_node, (jnp.zeros_like(h),) * 4)
    total, below, changed, changed_below = sums
    outer, inner = NODES_PER_SIDE, NODES_PER_SIDE - 1
    (_, lowest, p_lowest, _), (_, highest, p_highest, _) = at_node(-outer), at_node(outer)
    left, right = _beyond(p_lowest, at_node(-inner)[2]), _beyond(p_highest, at_node(inner)[2])
    total = total + left + right
    at_draw = jnp.exp(jnp.minimum(-top, 50.0))
    u = (below + left - at_draw * _correction(c, h)) / total
    # at most what the last terms of the series add to u, to first order: they may cancel by chance
    change = (u * (changed - changed_below) + (1 - u) * changed_below) / total
    falls = jnp.maximum(lowest, highest) < -LEAST_FALL
    # a series that only converges closer to the draw than this looks like a narrow density
    reach = jnp.maximum(jnp.abs(mode - CONVERGES_TO * sd), jnp.abs(mode + CONVERGES_TO * sd))
    last = sum(jnp.abs(one) * reach**k for k, one in list(enumerate(c))[-DOUBTED:])
    converges = last < LARGEST_LAST_TERMS
    usable = has_mode & falls & converges & jnp.isfinite(u)
    change = jnp.where(usable, change, jnp.inf)
    log_density = -top - jnp.log(total * h) - jnp.log(unit)
    return jnp.stack([u, mode * unit, sd * unit, log_density, change], axis=1)


def steps_from_series(
    coefficients: Float[np.ndarray, "m order"], v: Float[np.ndarray, "m k"]
) -> Float[np.ndarray, "m k"]:
    """The steps from the draws to quantiles v of lines with these Taylor coefficients.

    NaN where the series is not good enough on the whole line.
    """
    with precision():
        rows = rows_of(coefficients, v)
        return call_in_chunks(_steps, rows, len(coefficients), LINES_PER_CALL // 2)


@quickly_compiled
def _steps(coefficients: Float[Array, "m order"], v: Float[Array, "m k"]) -> Float[Array, "m k"]:
    unit, c, mode, sd, has_mode = _around_mode(coefficients)
    h = sd / QUANTILE_NODES_PER_SD
    reach = QUANTILE_REACH * QUANTILE_NODES_PER_SD
    t = mode + h * jnp.arange(-reach, reach + 1)[:, None]
    top = _polynomial(c, mode)

    def at_node(t: Array) -> tuple[Array, Array, Array, Array]:
        """log p at a node, p, its slope, and what the last terms of the series add to p."""
        log_p = _polynomial(c, t) - top
        p = jnp.exp(jnp.minimum(log_p, 50.0))
        rise = p * _polynomial([k * one for k, one in enumerate(c)][1:], t)
        doubted = p * _polynomial(c[-DOUBTED:], t) * t ** (len(c) - DOUBTED)
        return log_p, p, rise, doubted

    # node by node, which takes a quarter of the time of arrays with an axis of nodes
    log_p, p, rise, doubted = lax.map(at_node, t)
    # the trapezoidal rule with the corrections of its ends: off by h^5 / 720 of the 4th derivative
    masses = h / 2 * (p[1:] + p[:-1]) + h**2 / 12 * (rise[:-1] - rise[1:])
    below = jnp.concatenate([jnp.zeros_like(masses[:1]), jnp.cumsum(masses, axis=0)])
    total = below[-1]
    change = jnp.sum(jnp.abs(doubted), axis=0) * h / (2 * total)
    falls = jnp.maximum(log_p[0], log_p[-1]) < -LEAST_FALL_OF_QUANTILES
    usable = has_mode & falls & (change < LARGEST_CHANGE_OF_QUANTILES)
    wanted = v.T * total
    interval = jnp.clip(jnp.sum(below[:, None] <= wanted, axis=0) - 1, 0, len(t) - 2)
    start, end, p0, p1 = (
        jnp.take_along_axis(rows, interval, axis=0)
        for rows in (below[:-1], below[1:], p[:-1], p[1:])
    )
    # the cubic through mass and density at both ends of the interval, by Newton's steps
    mass, p0, p1 = end - start, h * p0, h * p1
    remaining = wanted - start
    r = remaining / jnp.where(mass > 0, mass, 1.0)
    square, cube = 3 * mass - 2 * p0 - p1, p0 + p1 - 2 * mass
    for _ in range(QUANTILE_NEWTON_STEPS):
        gap = r * (p0 + r * (square + r * cube)) - remaining
        slope = p0 + r * (2 * square + 3 * r * cube)
        r = jnp.clip(r - gap / jnp.where(slope > 0, slope, jnp.inf), 0.0, 1.0)
    steps = jnp.take_along_axis(t, interval, axis=0) + h * r
    return jnp.where(usable & jnp.isfinite(steps), steps * unit, jnp.nan).T


def _beyond(last: Array, before: Array) -> Array:
    """What nodes beyond the last one would add, if the density fell by the same factor again."""
    factor = jnp.where(before > 0, last / jnp.where(before > 0, before, 1.0), 0.0)
    return last * factor / jnp.maximum(1 - factor, 1e-3)


def _correction(c: list[Array], h: Array) -> Array:
    """What a sum over nodes that ends at the draw has too much, in units of the density there."""
    # derivatives of exp f at the draw, divided by factorials, by its own recurrence
    exponential = [jnp.ones_like(h)]
    for k in range(1, 2 * len(CORRECTIONS)):
        terms = [j * c[j] * exponential[k - j] for j in range(1, min(k, len(c) - 1) + 1)]
        exponential.append(reduce(jnp.add, terms) / k)
    orders = range(1, 2 * len(CORRECTIONS), 2)
    corrections = [
        weight * math.factorial(k) * exponential[k] * h**k
        for weight, k in zip(CORRECTIONS, orders, strict=True)
    ]
    return reduce(jnp.add, corrections)


class _AroundMode(NamedTuple):
    """Lines in units of the scale at the draw, in which no power of a step overflows."""

    unit: Float[Array, " m"]
    c: list[Array]  # coefficients of log p, one array per order; 0 at the draw
    mode: Float[Array, " m"]
    sd: Float[Array, " m"]  # by the curvature at the mode; 1 where there is none
    found: Array  # whether it is a mode, of a density that curves down at the draw too


def _around_mode(coefficients: Float[Array, "m order"]) -> _AroundMode:
    unit = jnp.abs(2 * coefficients[:, 2]) ** -0.5
    c = [jnp.zeros_like(unit)]
    for k in range(1, coefficients.shape[1]):
        c.append(reduce(jnp.multiply, [unit] * k, coefficients[:, k]))
    mode, curvature, steepness = _mode(c)
    concave = (curvature < 0) & (c[2] < 0)
    sd = jnp.where(concave, jnp.abs(curvature) ** -0.5, 1.0)
    return _AroundMode(unit, c, mode, sd, concave & (steepness * sd < STEEPEST_AT_MODE))


def _mode(c: list[Array]) -> tuple[Array, Array, Array]:
    """Newton's steps from the draw to the mode; the curvature and the slope where they end."""
    slope = [k * c[k] for k in range(1, len(c))]
    bend = [k * slope[k] for k in range(1, len(slope))]
    t = jnp.zeros_like(c[0])
    for _ in range(NEWTON_STEPS):
        rise, curvature = _polynomial(slope, t), _polynomial(bend, t)
        newton = jnp.where(curvature < 0, -rise / curvature, jnp.sign(rise))
        t = t + jnp.clip(newton, -2.0, 2.0)
    return t, _polynomial(bend, t), jnp.abs(_polynomial(slope, t))


def _polynomial(c: list[Array], t: Array) -> Array:
    value = c[-1]
    for one in c[-2::-1]:
        value = value * t + one
    return value
