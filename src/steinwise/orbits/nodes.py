"""Where on a line the density is evaluated: nodes that find the scale and place of the mass.

A first pass from the curvature at the draw and from the range of the draws; a second at quantiles
of the density as the first pass shows it; then rounds that divide the intervals whose mass is least
certain.
"""

from functools import partial, reduce
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.compiler_options import quickly_compiled
from steinwise._internal.quantiles import quantiles_of_sorted
from steinwise.orbits.curves import (
    between_nodes,
    cumulative_from_zero,
    curve_through,
    integrate_slopes,
    interval_reaching,
)
from steinwise.orbits.error_bounds import mass_error_bounds, slope_error_bounds

# Steps from the draw to either side, in units of the local scale: from inside a mode to 128 scales
# away, where a draw of a far tail or of a second mode may have to look. Each is twice the last, so
# that the number of nodes grows with the logarithm of the range.
DOUBLINGS = 2.0 ** np.arange(-1, 8)
# Around the Newton point, in local scales. Odd numbers, as is QUANTILE_OFFSET: nodes that coincide
# with others, which round ones do on a normal conditional, are evaluations lost.
AROUND_NEWTON = np.array([-1.03, 0.017, 0.97])
RANGE_QUANTILES, QUANTILE_OFFSET = 8, 0.0123  # of the draws; the offset is in their sds
FIRST_PASS = (
    1 + 2 * len(DOUBLINGS) + len(AROUND_NEWTON) + RANGE_QUANTILES + 4  # 4 beyond the draws
)
# With the second pass and the rounds of division these make 68 evaluations a line, which is nearly
# all of the cost of a check. tests/orbits holds the errors of u that they buy: at most 1e-4 on most
# densities, 1e-3 on a banana and on modes eight standard deviations apart.
SECOND_PASS = 8
DIVIDING = 24
# Rounds in which the dividing nodes are placed. More rounds react better to what the last nodes
# showed, and each costs a call of the density. With 2 rounds the error of u from scores is 1e-3 on
# modes eight standard deviations apart, with 4 as with 6 it is 2e-4.
DIVISION_ROUNDS = 4
# The weight of uncertain masses relative to uncertain integrals of slopes, where only scores are
# known. An error of an integral moves mass across the whole line, so it goes first: with weight 1
# the error of u on modes eight standard deviations apart is 0.03, from 0.01 down it is below 2e-4.
MASS_ERROR_WEIGHT = 0.01
NODES_PER_LINE = FIRST_PASS + SECOND_PASS + DIVIDING


class SearchRanges(NamedTuple):
    """The range of the draws in each coordinate, to help find the target's mass."""

    sd: Float[np.ndarray, " c"]
    points: Float[np.ndarray, "c 12"]  # 8 quantiles of the draws, 4 points beyond them


def search_ranges_of(columns: Float[np.ndarray, "n c"]) -> SearchRanges:
    """The ranges of these draws, one column per coordinate.

    >>> ranges = search_ranges_of(np.arange(101.0)[:, None])
    >>> ranges.points[0, -4:].tolist()
    [-100.0, -25.0, 125.0, 200.0]
    """
    return search_ranges_of_sorted(np.sort(columns.T, axis=1))


def search_ranges_of_sorted(rows: Float[np.ndarray, "c n"]) -> SearchRanges:
    """The same, of each coordinate's draws in increasing order."""
    low, high = rows[:, 0], rows[:, -1]
    width = high - low
    sd = rows.std(axis=1)
    shares = np.linspace(0, 1, RANGE_QUANTILES)
    inside = quantiles_of_sorted(rows, shares) + QUANTILE_OFFSET * sd
    beyond = [low - width, low - width / 4, high + width / 4, high + width]
    return SearchRanges(sd, np.concatenate([inside, np.stack(beyond)]).T)


@quickly_compiled
def first_nodes(x: Array, score: Array, curvature: Array, sd: Array, points: Array) -> Array:
    """x first; then steps that double, the Newton point with its neighbours, the draws' range.

    The local scale is that of a normal density with this curvature, within bounds in sds of the
    draws: where log p is almost straight the curvature says nothing about it.
    """
    scale = jnp.clip(jnp.abs(curvature) ** -0.5, 1e-5 * sd, 3 * sd)
    away = scale[..., None] * jnp.asarray(DOUBLINGS)
    newton = x + jnp.clip(score * scale**2, -100 * sd, 100 * sd)
    around = newton[..., None] + scale[..., None] * jnp.array(AROUND_NEWTON)
    centre = x[..., None]
    return jnp.concatenate([centre, centre - away, centre + away, around, points], axis=-1)


def kept_within(
    nodes: Float[np.ndarray, "n c k"],
    x: Float[np.ndarray, "n c"],
    limits: tuple[Float[np.ndarray, "n c"], Float[np.ndarray, "n c"]],
) -> Float[np.ndarray, "n c k"]:
    """Nodes beyond a limit of their line moved to between the draw and that limit.

    Not all to the same place: two nodes there show how the density goes on.
    """
    inward = np.arange(nodes.shape[-1]) / nodes.shape[-1]
    for limit, beyond in zip(limits, (np.less, np.greater), strict=True):
        end = np.where(np.isfinite(limit), limit, x)[..., None]
        moved = end + inward * (x[..., None] - end)
        nodes = np.where(beyond(nodes, limit[..., None]), moved, nodes)
    return nodes


@quickly_compiled
def second_nodes(nodes: Array, values: Array | None, slopes: Array) -> Array:
    """Nodes at quantiles of 0.65 p + 0.35 p^0.3, both normalised.

    The flatter part sends some nodes to the tails and to places that look unlikely so far. p is
    taken as constant in every eighth of an interval. The eighths are separate arrays, like the
    Gauss nodes of `interval_masses`: several times as fast as a small axis.
    """
    curve = curve_through(nodes, values, slopes)
    h = jnp.diff(curve.nodes, axis=-1) / 8
    inside = [between_nodes(curve, (eighth + 0.5) / 8) for eighth in range(8)]
    top = jnp.max(reduce(jnp.maximum, inside), axis=-1, keepdims=True)
    sharp = _normalised([jnp.exp(log_p - top) * h for log_p in inside])
    flat = _normalised([jnp.exp(0.3 * (log_p - top)) * h for log_p in inside])
    masses = [0.65 * of_p + 0.35 * of_flat for of_p, of_flat in zip(sharp, flat, strict=True)]
    below = cumulative_from_zero(reduce(jnp.add, masses))
    wanted = (jnp.arange(SECOND_PASS) + 0.5) / SECOND_PASS
    take = partial(jnp.take_along_axis, indices=interval_reaching(wanted, below), axis=-1)
    remaining, eighths = wanted - take(below), 0.0
    for mass in masses:
        here = take(mass)
        eighths = eighths + jnp.clip(remaining / jnp.where(here > 0, here, 1.0), 0.0, 1.0)
        remaining = remaining - here
    return take(curve.nodes) + take(h) * eighths


def _normalised(masses: list[Array]) -> list[Array]:
    total = jnp.sum(reduce(jnp.add, masses), axis=-1, keepdims=True)
    return [mass / total for mass in masses]


@partial(quickly_compiled, static_argnums=0)
def dividing_nodes(count: int, nodes: Array, values: Array | None, slopes: Array) -> Array:
    """Nodes in the intervals that leave the mass on either side of the draw most uncertain.

    Each goes to the interval that is worst given the pieces it is already cut into; its error bound
    falls at least with the square of their number. A narrow mode in a wide interval gets them all.
    """
    curve = curve_through(nodes, values, slopes)
    bound, mass = mass_error_bounds(curve)
    share = mass / jnp.sum(mass, axis=-1, keepdims=True)
    bound = bound / jnp.sum(mass, axis=-1, keepdims=True)
    if values is None:
        _, integral_errors = integrate_slopes(nodes, slopes)
        bound = MASS_ERROR_WEIGHT * bound + slope_error_bounds(curve, integral_errors, share)
    interval = jnp.arange(bound.shape[-1])
    chosen: list[Array] = []
    for _ in range(count):  # faster than sorting the bounds
        worst = jnp.argmax(bound, axis=-1, keepdims=True)
        pieces = 1 + sum(worst == earlier for earlier in chosen)
        bound = jnp.where(interval == worst, bound * (pieces / (pieces + 1)) ** 2, bound)
        chosen.append(worst)
    divided = jnp.concatenate(chosen, axis=-1)
    same_interval = divided[..., :, None] == divided[..., None, :]
    fraction = jnp.tril(same_interval).sum(axis=-1) / (1 + same_interval.sum(axis=-1))
    take = partial(jnp.take_along_axis, indices=divided, axis=-1)
    return take(nodes[..., :-1]) + fraction * take(jnp.diff(nodes, axis=-1))
