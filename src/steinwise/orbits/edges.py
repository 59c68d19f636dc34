"""Where along a line the density ends: an edge that no support was declared for.

A log density may be -inf beyond a bound, as that of a prior on a box or a polytope. Between the
last node inside and the first one outside the density is unknown, and a draw next to the edge would
seem to have nothing beyond it. So the edge is found by halving.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from steinwise.orbits.node_table import NodeTable

# Each halves the distance between a node inside and one outside: to 1e-12 of it, so that not one of
# a million draws is nearer to the edge.
HALVINGS = 40
# How far log p may be below its largest value on the line at an edge that is looked for: beyond it
# lies no draw that would be an outlier.
DEPTH_OF_EDGES = 25.0
# The same where a density is said to end. Further down it is rounding that ends a smooth density,
# as log(1 - sigmoid(y)) does at y = 37 in 64 bit and at 17 in 32, and Stein's identity holds.
DEPTH_OF_ENDS = 10.0


class Edges(NamedTuple):
    """Nodes on both sides of the edges next to the draws, and the lines that end there."""

    nodes: Float[np.ndarray, "n c 4"]  # copies of the draw on a side without an edge
    ends: int


def find_edges(
    table: NodeTable,
    x: Float[np.ndarray, "n c"],
    log_density: Callable[[Float[np.ndarray, "n c k"]], Float[np.ndarray, "n c k"]],
) -> Edges | None:
    """Where the density ends on either side of the draws x; None where it does on no line."""
    if table.values is None or not _outside(table.values).any():
        return None
    both = [_bracket(table, x, side) for side in (-1, 1)]
    inside, outside = (np.stack(ends, axis=-1) for ends in zip(*both, strict=True))
    if (inside == outside).all():
        return None
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        beyond = _outside(log_density(middle))
        inside, outside = np.where(beyond, inside, middle), np.where(beyond, middle, outside)
    depth = _largest(table)[..., None] - log_density(inside)
    ends = (depth < DEPTH_OF_ENDS) & (inside != outside)
    return Edges(np.concatenate([inside, outside], axis=-1), int(ends.any(axis=-1).sum()))


def _largest(table: NodeTable) -> Float[np.ndarray, "n c"]:
    """The largest log p at a node of each line."""
    assert table.values is not None
    return np.where(_outside(table.values), -np.inf, table.values).max(axis=-1)


def _outside(values: Float[np.ndarray, "n c k"]) -> Bool[np.ndarray, "n c k"]:
    """Where there is no density; it may be infinite at an edge."""
    return ~(values > -np.inf)


def _bracket(
    table: NodeTable, x: Float[np.ndarray, "n c"], side: int
) -> tuple[Float[np.ndarray, "n c"], Float[np.ndarray, "n c"]]:
    """The last node inside and the first one outside, away from x; both x where it is no edge."""
    assert table.values is not None
    out = _outside(table.values)
    away = side * (table.nodes - x[..., None])
    first_out = np.where(out & (away > 0), away, np.inf).min(axis=-1)
    reached = ~out & (away >= 0) & (away < first_out[..., None])
    last_in = np.argmax(np.where(reached, away, -np.inf), axis=-1)[..., None]
    node, value = (np.take_along_axis(a, last_in, axis=-1)[..., 0] for a in table[:2])
    matters = np.isfinite(first_out) & (_largest(table) - value < DEPTH_OF_EDGES)
    end = x + side * np.where(matters, first_out, 0.0)
    return np.where(matters, node, x), end
