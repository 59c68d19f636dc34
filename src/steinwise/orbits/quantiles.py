"""Quantiles of the target's conditional, from the nodes of its line."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import ndtri

from steinwise._internal.compiled import precision
from steinwise.orbits.curves import Curve, cumulative_shares, curve_through, interval_reaching
from steinwise.orbits.node_table import NodeTable, for_each_line

# Midpoints (k + 1/2) / QUANTILES of (0, 1). A power of two, so that histograms of 1, 2, ..., 32
# bins share them. Their number enters every sum over a line: more resolve finer shapes of the
# conditional, at a cost that grows with it.
QUANTILES = 32
MIDPOINTS = (np.arange(QUANTILES) + 0.5) / QUANTILES
NORMAL_QUANTILES = ndtri(MIDPOINTS)


def quantiles_of(table: NodeTable) -> Float[np.ndarray, "n c k"]:
    """The quantiles of every line at `MIDPOINTS`."""
    with precision():
        return for_each_line(_at_midpoints, *table)


def quantiles_at(v: Float[np.ndarray, "n c k"], table: NodeTable) -> Float[np.ndarray, "n c k"]:
    """The quantiles of every line at its own probabilities v."""
    with precision():
        return for_each_line(_quantiles, v, *table)


@jax.jit
def _at_midpoints(nodes: Array, values: Array | None, slopes: Array) -> Array:
    v = jnp.broadcast_to(jnp.asarray(MIDPOINTS), (*nodes.shape[:-1], QUANTILES))
    return _quantiles(v, nodes, values, slopes)


@jax.jit
def _quantiles(v: Array, nodes: Array, values: Array | None, slopes: Array) -> Array:
    curve = curve_through(nodes, values, slopes)
    cumulative, _ = cumulative_shares(curve)
    density = jnp.exp(curve.log_density)
    interval = interval_reaching(v, cumulative)
    take = partial(jnp.take_along_axis, indices=interval, axis=-1)
    take_next = partial(jnp.take_along_axis, indices=interval + 1, axis=-1)
    t0, t1 = take(curve.nodes), take_next(curve.nodes)
    p0, p1 = take(density), take_next(density)
    mass = take_next(cumulative) - take(cumulative)
    f = jnp.clip((v - take(cumulative)) / jnp.where(mass > 0, mass, 1.0), 0.0, 1.0)
    # with a density that is linear between nodes the quantile's place solves a quadratic equation
    root = p0 + jnp.sqrt(jnp.maximum(p0**2 + (p1**2 - p0**2) * f, 0.0))
    r = jnp.where(root > 0, f * (p0 + p1) / jnp.where(root > 0, root, 1.0), f)
    quantiles = t0 + jnp.clip(r, 0.0, 1.0) * (t1 - t0)
    return _with_exponential_tails(curve, cumulative, v, quantiles)


def _with_exponential_tails(curve: Curve, cumulative: Array, v: Array, quantiles: Array) -> Array:
    """The quantiles at v with those beyond the first or last node placed in exponential tails."""
    first, last = curve.slopes[..., :1], curve.slopes[..., -1:]
    left, right = cumulative[..., :1], 1 - cumulative[..., -1:]
    left, right = (jnp.where(side > 0, side, 1.0) for side in (left, right))
    low = curve.nodes[..., :1] + jnp.log(v / left) / jnp.where(first > 0, first, 1.0)
    high = curve.nodes[..., -1:] + jnp.log((1 - v) / right) / jnp.where(last < 0, last, -1.0)
    in_left, in_right = v < cumulative[..., :1], v > cumulative[..., -1:]
    return jnp.where(in_left, low, jnp.where(in_right, high, quantiles))
