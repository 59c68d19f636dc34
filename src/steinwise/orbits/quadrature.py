r"""The target's conditional along lines through the draws: its CDF at the draw, and quantiles.

For a draw x_i and a coordinate j the conditional p(. | x_i,-j) is known up to a constant on the
line through x_i along coordinate j. `follow_lines` evaluates it at nodes (see `nodes`) and gives
u = F(x_ij), and the quantiles of F where they are asked for.

The default method uses u alone, whose error must be far below n^-1/2. The nodes depend on x_ij,
since they are placed around the draw, and so do, slightly, the quantiles.
"""

from functools import partial

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from steinwise._internal.compiled import precision
from steinwise._internal.compiler_options import quickly_compiled
from steinwise.orbits.curves import cumulative_shares, curve_through
from steinwise.orbits.edges import HALVINGS, find_edges
from steinwise.orbits.line_density import LineDensity
from steinwise.orbits.lines import Lines, NormalLines
from steinwise.orbits.node_table import NodeTable, for_each_line
from steinwise.orbits.nodes import (
    DIVIDING,
    DIVISION_ROUNDS,
    NODES_PER_LINE,
    SearchRanges,
    dividing_nodes,
    first_nodes,
    kept_within,
    second_nodes,
)
from steinwise.target import AbstractTarget
from steinwise.target.support import AbstractSupport

EVALUATIONS_PER_LINE = 2 + NODES_PER_LINE  # two for the curvature
EVALUATIONS_AT_EDGES = 2 * HALVINGS + 6  # more, where the density ends along a line


def evaluations_per_line(target: AbstractTarget, x: Float[np.ndarray, "n d"]) -> int:
    """How often the target is evaluated on a line at most: never if its conditionals are normal.

    Twice as often where it has no slopes, which are then differences of values.
    """
    whole = isinstance(target.support, AbstractSupport) and target.support.kind == "real"
    if whole and target.normal_along(x[:1], np.arange(1)) is not None:
        return 0
    return EVALUATIONS_PER_LINE * (1 if target.has_scores(x.shape[1]) else 2)


def follow_lines(
    target: AbstractTarget,
    x: Float[np.ndarray, "n d"],
    directions: Float[np.ndarray, "c d"] | Int[np.ndarray, " c"],
    positions: Float[np.ndarray, "n c"],
    ranges: SearchRanges,
    memory: int,
) -> Lines | NormalLines:
    """The conditionals through the draws x along coordinates (integers) or directions (rows).

    In closed form where they are normal; else by nodes. The arguments are those of `LineDensity`.
    """
    normal = target.normal_along(x, directions)
    if normal is not None:  # no evaluations
        to_mean, sd = normal
        return NormalLines(-to_mean / sd, positions + to_mean, sd)
    numbers = np.arange(len(x))
    return follow_by_nodes(LineDensity(target, x, directions, positions, ranges, memory, numbers))


def follow_by_nodes(density: LineDensity) -> Lines:
    """The conditionals through the draws, evaluated at as many nodes as any of them may need."""

    def tabulate(where: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        values, slopes = density.values_and_slopes(where)
        return where, None if coarse else values, slopes

    positions, points = density.positions, density.ranges.points
    with precision():
        values, score, curvature = density.at_draws()
        density.require_finite(values, score)
        coarse = density.coarse(values)
        points = np.broadcast_to(points, (*positions.shape, points.shape[-1]))
        curvature = np.where(np.isfinite(curvature), curvature, density.sd**-2.0)  # at an edge
        nodes = for_each_line(first_nodes, positions, score, curvature, density.sd, points)
        if density.limits is not None:
            nodes = kept_within(nodes, positions, density.limits)
        table = NodeTable.sorted(*tabulate(nodes))
        edges = find_edges(table, positions, density.values)
        if edges is not None:
            table = table.joined(*tabulate(edges.nodes))
        added = for_each_line(second_nodes, *table)
        table = table.joined(*tabulate(added))
        divide = partial(dividing_nodes, DIVIDING // DIVISION_ROUNDS)
        for _ in range(DIVISION_ROUNDS):
            added = for_each_line(divide, *table.padded())
            table = table.joined(*tabulate(added))
        u, log_density = np.moveaxis(for_each_line(_transforms, positions, *table), -1, 0)
    evaluations = EVALUATIONS_PER_LINE * density.evaluations_per_point
    evaluations += 0 if edges is None else EVALUATIONS_AT_EDGES
    ends = 0 if edges is None else edges.ends
    return Lines(u, log_density, table, float(evaluations * u.size), ends)


@quickly_compiled
def _transforms(x: Array, nodes: Array, values: Array | None, slopes: Array) -> Array:
    """u and the log density at x, side by side."""
    curve = curve_through(nodes, values, slopes)
    cumulative, total = cumulative_shares(curve)
    draw = jnp.argmax(nodes >= x[..., None], axis=-1, keepdims=True)  # the draw is a node
    u = jnp.take_along_axis(cumulative, draw, axis=-1)[..., 0]
    log_density = jnp.take_along_axis(curve.log_density, draw, axis=-1)[..., 0] - jnp.log(total)
    return jnp.stack([u, log_density], axis=-1)
