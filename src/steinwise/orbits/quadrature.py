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
from steinwise.errors import TargetError
from steinwise.orbits.curves import cumulative_shares, curve_through
from steinwise.orbits.edges import HALVINGS, find_edges
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
from steinwise.target.base import NOT_FINITE, Coordinates, Directions, LineValues
from steinwise.target.support import AbstractSupport

EVALUATIONS_PER_LINE = 2 + NODES_PER_LINE  # two for the curvature
EVALUATIONS_AT_EDGES = 2 * HALVINGS + 6  # more, where the density ends along a line
# The step of the difference quotient for the curvature, in sds of the draws, for targets in 64 and
# in 32 bit: a little above the square root of their rounding error. The curvature only sets the
# scale of the first nodes, so a digit or two are enough.
STEP_64_BIT, STEP_32_BIT = 1e-6, 1e-3
# The step of the difference quotient for slopes, where a density has values alone, in sds of the
# draws: slopes then have an error of 1e-6 of the curvature, and of 1e-10 of log p by rounding.
# Of 1e-8, 1e-7 and 1e-6 all keep the errors of u that exact slopes have.
SLOPE_STEP = 1e-6
# The largest rounding error of log p that is tolerated. A log density with an enormous constant has
# no digits left for its shape (at 1e17 it is a staircase with steps of 16), and correct draws would
# be rejected. Its slopes have no such constant, so they are integrated instead.
COARSEST_VALUES = 1e-3


def evaluations_per_line(target: AbstractTarget, x: Float[np.ndarray, "n d"]) -> int:
    """How often the target is evaluated on a line: never if its conditionals are known normals.

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
    draw_numbers: Int[np.ndarray, " n"] | None = None,
) -> Lines | NormalLines:
    """The conditionals through the draws x along coordinates (integers) or directions (rows).

    In closed form where they are normal; else by nodes. The arguments are those of
    `follow_by_nodes`.
    """
    normal = target.normal_along(x, directions)
    if normal is not None:  # no evaluations
        to_mean, sd = normal
        return NormalLines(-to_mean / sd, positions + to_mean, sd)
    return follow_by_nodes(target, x, directions, positions, ranges, memory, draw_numbers)


def follow_by_nodes(
    target: AbstractTarget,
    x: Float[np.ndarray, "n d"],
    directions: Directions | Coordinates,
    positions: Float[np.ndarray, "n c"],
    ranges: SearchRanges,
    memory: int,
    draw_numbers: Int[np.ndarray, " n"] | None = None,
) -> Lines:
    """The conditionals through the draws, evaluated at nodes.

    Parameters
    ----------
    target
        The density; along a line it need not be finite, except at the draw.
    x
        The draws that the lines go through.
    directions
        Numbers of coordinates, or one direction per row; the same for all draws, or each draw's
        own.
    positions
        Where each draw is on its lines: x_ij for coordinates.
    ranges
        The range of the draws along each line.
    memory
        The budget of the evaluations, in bytes.
    draw_numbers
        The numbers of the draws, to name one where the target is not finite.
    """

    along_coordinates = np.issubdtype(directions.dtype, np.integer)

    def look(where: np.ndarray) -> LineValues:
        if along_coordinates:
            return target.line_values(x, directions, where, memory=memory)
        return target.direction_values(x, directions, where - positions[..., None], memory=memory)

    def levels(where: np.ndarray) -> np.ndarray:
        values = look(where)[0]
        assert values is not None
        return values

    def evaluate(where: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        values, slopes = look(where)
        if slopes is not None:
            return values, slopes
        assert values is not None
        step = SLOPE_STEP * (np.broadcast_to(ranges.sd, positions.shape)[..., None] + abs(where))
        after, before = where + step, where - step
        slopes = slopes_between(values, levels(after), after - where)
        at_edge = np.isfinite(values) & ~np.isfinite(slopes)
        if at_edge.any():  # the density ends within the step: look back instead
            backward = slopes_between(values, levels(before), before - where)
            slopes = np.where(at_edge, backward, slopes)
        return values, slopes

    def tabulate(where: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        values, slopes = evaluate(where)
        return where, None if coarse else values, slopes

    dtype = np.dtype(target.prepare(x.shape[1]))
    exact = dtype == np.float64 and target.has_scores(x.shape[1])
    relative_step = STEP_64_BIT if exact else STEP_32_BIT
    with precision():
        step = relative_step * ranges.sd * np.ones_like(positions)
        values, slopes = evaluate(np.stack([positions, positions + step], axis=-1))
        numbers = np.arange(len(x)) if draw_numbers is None else draw_numbers
        _require_finite(values, slopes, target.on_own_scale(x), numbers)
        coarse = values is not None and (
            np.finfo(dtype).eps * np.abs(values[..., 0]).min() > COARSEST_VALUES
        )
        score, curvature = slopes[..., 0], (slopes[..., 1] - slopes[..., 0]) / step
        points = np.broadcast_to(ranges.points, (*positions.shape, ranges.points.shape[-1]))
        sd = np.broadcast_to(ranges.sd, positions.shape)
        curvature = np.where(np.isfinite(curvature), curvature, sd**-2.0)  # at an edge
        nodes = for_each_line(first_nodes, positions, score, curvature, sd, points)
        limits = target.line_limits()
        if limits is not None and along_coordinates:
            least, most = (np.broadcast_to(end[directions], positions.shape) for end in limits)
            nodes = kept_within(nodes, positions, (least, most))
        table = NodeTable.sorted(*tabulate(nodes))
        edges = find_edges(table, positions, levels)
        if edges is not None:
            table = table.joined(*tabulate(edges.nodes))
        added = for_each_line(second_nodes, *table)
        table = table.joined(*tabulate(added))
        divide = partial(dividing_nodes, DIVIDING // DIVISION_ROUNDS)
        for _ in range(DIVISION_ROUNDS):
            added = for_each_line(divide, *table.padded())
            table = table.joined(*tabulate(added))
        u, log_density = np.moveaxis(for_each_line(_transforms, positions, *table), -1, 0)
    evaluations = evaluations_per_line(target, x) + (0 if edges is None else EVALUATIONS_AT_EDGES)
    ends = 0 if edges is None else edges.ends
    return Lines(u, log_density, table, float(evaluations * u.size), ends)


def slopes_between(
    values: Float[np.ndarray, "n c k"],
    after: Float[np.ndarray, "n c k"],
    step: Float[np.ndarray, "n c k"],
) -> Float[np.ndarray, "n c k"]:
    """Slopes by a second value a small step away, for a density that has values alone."""
    with np.errstate(invalid="ignore"):
        return (after - values) / step


def _require_finite(
    values: Float[np.ndarray, "n c 2"] | None,
    slopes: Float[np.ndarray, "n c 2"],
    x: Float[np.ndarray, "n d"],
    draw_numbers: Int[np.ndarray, " n"],
) -> None:
    """Raise where a draw itself, the first point on its line, has no density or no score."""
    for what, evaluated in (("log density", values), ("score", slopes)):
        if evaluated is None or np.isfinite(evaluated[..., 0]).all():
            continue
        i, c = np.argwhere(~np.isfinite(evaluated[..., 0]))[0]
        raise TargetError(
            f"the {what} is {evaluated[i, c, 0]} at draw {draw_numbers[i]}, where "
            f"x = {x[i].tolist()}. Draws where the target has no density cannot be checked. "
            f"{NOT_FINITE}"
        )


@quickly_compiled
def _transforms(x: Array, nodes: Array, values: Array | None, slopes: Array) -> Array:
    """u and the log density at x, side by side."""
    curve = curve_through(nodes, values, slopes)
    cumulative, total = cumulative_shares(curve)
    draw = jnp.argmax(nodes >= x[..., None], axis=-1, keepdims=True)  # the draw is a node
    u = jnp.take_along_axis(cumulative, draw, axis=-1)[..., 0]
    log_density = jnp.take_along_axis(curve.log_density, draw, axis=-1)[..., 0] - jnp.log(total)
    return jnp.stack([u, log_density], axis=-1)
