"""Where along a line the density ends: an edge that no support was declared for.

A log density may be -inf beyond a bound, as that of a prior on a box or a polytope. Between the
last node inside and the first one outside the density is unknown, and a draw next to the edge would
seem to have nothing beyond it. So the edge is found by halving.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from steinwise.orbits.node_table import NodeTable

# Each halves the distance between a node inside and one outside: to 1e-12 of it, so that not one of
# a million draws is nearer to the edge.
HALVINGS = 40
# An edge matters where log p falls from at most this below its largest value on the line. Further
# down, as where the logarithm of a density underflows in its tail, nothing is lost there.
DEPTH_THAT_MATTERS = 40.0


def nodes_at_edges(
    table: NodeTable,
    x: Float[np.ndarray, "n c"],
    log_density: Callable[[Float[np.ndarray, "n c k"]], Float[np.ndarray, "n c k"]],
) -> Float[np.ndarray, "n c 4"] | None:
    """Nodes on both sides of the edges next to the draws x; None where no line has one.

    Sides without an edge get copies of x.
    """
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
    return np.concatenate([inside, outside], axis=-1)


def count_ends(edges: Float[np.ndarray, "n c 4"] | None) -> int:
    """The lines along which the density ends."""
    return 0 if edges is None else int((edges[..., :2] != edges[..., 2:]).any(axis=-1).sum())


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
    depth = np.where(out, -np.inf, table.values).max(axis=-1) - value
    matters = np.isfinite(first_out) & (depth < DEPTH_THAT_MATTERS)
    end = x + side * np.where(matters, first_out, 0.0)
    return np.where(matters, node, x), end
