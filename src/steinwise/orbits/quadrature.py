r"""The target's conditional along lines through the draws: its CDF, quantiles and scores.

For a draw x_i and a coordinate j the conditional p(. | x_i,-j) is known up to a constant on the
line through x_i along coordinate j. `follow_lines` evaluates it at nodes (see `nodes`) and gives
u = F(x_ij) and the quantiles of F with their scores.

Only u must be accurate, far below n^-1/2: the test stays calibrated with any quantiles and scores
that do not depend on x_ij. Today's nodes do depend on x_ij, since they are placed around the draw,
and so do, slightly, the quantiles: calibration is an approximation whose error is that of the
quadrature.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from steinwise._internal.compiled import call_in_chunks, precision, rows_of
from steinwise.errors import TargetError
from steinwise.orbits.curves import (
    cumulative_from_zero,
    curve_through,
    interval_masses,
    interval_reaching,
    with_exponential_tails,
)
from steinwise.orbits.lines import MIDPOINTS, QUANTILES, Lines, NormalLines
from steinwise.orbits.nodes import (
    DIVIDING,
    DIVISION_ROUNDS,
    NODES_PER_LINE,
    SearchRanges,
    dividing_nodes,
    first_nodes,
    second_nodes,
)
from steinwise.target import AbstractTarget
from steinwise.target.base import NOT_FINITE

EVALUATIONS_PER_LINE = 2 + NODES_PER_LINE  # two for the curvature
# Lines in one compiled call: the largest of these that can be filled. So at most three shapes are
# compiled, and from 64 lines on at most half of the work is padding.
CALL_SIZES = (64, 512, 4096)
# The step of the difference quotient for the curvature, in sds of the draws, for targets in 64 and
# in 32 bit: a little above the square root of their rounding error. The curvature only sets the
# scale of the first nodes, so a digit or two are enough.
STEP_64_BIT, STEP_32_BIT = 1e-6, 1e-3


def evaluations_per_line(target: AbstractTarget, x: Float[np.ndarray, "n d"]) -> int:
    """How often the target is evaluated on a line: never if its conditionals are known normals."""
    return EVALUATIONS_PER_LINE if target.normal_along(x[:1], np.arange(1)) is None else 0


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

    Parameters
    ----------
    target
        The density; along a line it need not be finite, except at the draw.
    x
        The draws that the lines go through.
    directions
        Numbers of coordinates, or one direction per row.
    positions
        Where each draw is on its lines: x_ij for coordinates.
    ranges
        The range of the draws along each line.
    memory
        The budget of the evaluations, in bytes.
    draw_numbers
        The numbers of the draws, to name one where the target is not finite.
    """
    normal = target.normal_along(x, directions)
    if normal is not None:  # no evaluations
        to_mean, sd = normal
        return NormalLines(-to_mean / sd, positions + to_mean, sd)

    def evaluate(where: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        if directions.ndim == 1:
            return target.line_values(x, directions, where, memory=memory)
        return target.direction_values(x, directions, where - positions[..., None], memory=memory)

    relative_step = STEP_64_BIT if target.prepare(x.shape[1]) == "float64" else STEP_32_BIT
    with precision():
        step = relative_step * ranges.sd * np.ones_like(positions)
        values, slopes = evaluate(np.stack([positions, positions + step], axis=-1))
        _require_finite(
            values, slopes, x, np.arange(len(x)) if draw_numbers is None else draw_numbers
        )
        score, curvature = slopes[..., 0], (slopes[..., 1] - slopes[..., 0]) / step
        points = np.broadcast_to(ranges.points, (*positions.shape, ranges.points.shape[-1]))
        sd = np.broadcast_to(ranges.sd, positions.shape)
        nodes = _for_each_line(first_nodes, positions, score, curvature, sd, points)
        table = NodeTable.sorted(nodes, *evaluate(nodes))
        added = _for_each_line(second_nodes, *table)
        table = table.joined(added, *evaluate(added))
        divide = partial(dividing_nodes, DIVIDING // DIVISION_ROUNDS)
        for _ in range(DIVISION_ROUNDS):
            added = _for_each_line(divide, *table.padded())
            table = table.joined(added, *evaluate(added))
        summary = _for_each_line(_summarise, positions, *table)
    u, spread, log_density = np.moveaxis(summary[..., :3], -1, 0)
    quantiles, quantile_scores = np.split(summary[..., 3:], 2, axis=-1)
    return Lines(u, score, quantiles, quantile_scores, spread, log_density)


class NodeTable(NamedTuple):
    """The nodes of every line in increasing order, with the log density and its slope there."""

    nodes: Float[np.ndarray, "n c k"]
    values: Float[np.ndarray, "n c k"] | None  # None where only scores are known
    slopes: Float[np.ndarray, "n c k"]

    @classmethod
    def sorted(
        cls, nodes: np.ndarray, values: np.ndarray | None, slopes: np.ndarray
    ) -> "NodeTable":
        order = np.argsort(nodes, axis=-1)  # by NumPy: ten times as fast as compiled
        nodes, slopes = (np.take_along_axis(array, order, axis=-1) for array in (nodes, slopes))
        if values is not None:
            values = np.take_along_axis(values, order, axis=-1)
        return cls(nodes, values, slopes)

    def joined(
        self, nodes: np.ndarray, values: np.ndarray | None, slopes: np.ndarray
    ) -> "NodeTable":
        """With more nodes, in order."""
        both = None
        if self.values is not None and values is not None:
            both = np.concatenate([self.values, values], axis=-1)
        return NodeTable.sorted(
            np.concatenate([self.nodes, nodes], axis=-1),
            both,
            np.concatenate([self.slopes, slopes], axis=-1),
        )

    def padded(self) -> "NodeTable":
        """With copies of the last node, so that every round has the same shapes."""

        def pad(array: np.ndarray) -> np.ndarray:
            copies = np.repeat(array[..., -1:], NODES_PER_LINE - array.shape[-1], -1)
            return np.concatenate([array, copies], axis=-1)

        values = None if self.values is None else pad(self.values)
        return NodeTable(pad(self.nodes), values, pad(self.slopes))


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


def _for_each_line(
    function: Callable[..., Array], first: np.ndarray, *others: np.ndarray | None
) -> np.ndarray:
    """A compiled function of lines, in calls of few sizes, so that it is rarely compiled.

    The arrays begin with the axes (n, c), draws and lines, and so does the result.
    """
    shape = first.shape[:2]
    count = int(np.prod(shape))
    by_line = [
        None if array is None else array.reshape(count, *array.shape[2:])
        for array in (first, *others)
    ]
    size = max((size for size in CALL_SIZES if size <= count), default=CALL_SIZES[0])
    out = call_in_chunks(function, rows_of(*by_line), count, size)
    return out.reshape(*shape, *out.shape[1:])


@jax.jit
def _summarise(x: Array, nodes: Array, values: Array | None, slopes: Array) -> Array:
    """u, the spread, the log density at x, the quantiles and their scores, side by side."""
    curve = curve_through(nodes, values, slopes)
    density = jnp.exp(curve.log_density)
    rising, falling = curve.slopes[..., 0], -curve.slopes[..., -1]  # in exponential tails
    left = jnp.where(rising > 0, density[..., 0] / jnp.where(rising > 0, rising, 1.0), 0.0)
    right = jnp.where(falling > 0, density[..., -1] / jnp.where(falling > 0, falling, 1.0), 0.0)
    below = left[..., None] + cumulative_from_zero(interval_masses(curve))
    total = below[..., -1] + right
    cumulative = below / total[..., None]
    draw = jnp.argmax(nodes >= x[..., None], axis=-1, keepdims=True)  # the draw is a node
    u = jnp.take_along_axis(cumulative, draw, axis=-1)[..., 0]
    log_density = jnp.take_along_axis(curve.log_density, draw, axis=-1)[..., 0] - jnp.log(total)

    v = jnp.asarray(MIDPOINTS)
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
    scores = take(curve.slopes) * (1 - r) + take_next(curve.slopes) * r
    quantiles, scores = with_exponential_tails(curve, cumulative, v, quantiles, scores)

    sd = jnp.std(quantiles, axis=-1)
    quarter = QUANTILES // 4
    upper = quantiles[..., -quarter - 1 : QUANTILES - quarter + 1].mean(axis=-1)
    lower = quantiles[..., quarter - 1 : quarter + 1].mean(axis=-1)
    spread = jnp.minimum(sd, (upper - lower) / 1.349)  # 1.349: the quartiles' distance of N(0, 1)
    spread = jnp.where(spread > 0, spread, sd)
    single = jnp.stack([u, spread, log_density], axis=-1)
    return jnp.concatenate([single, quantiles, scores], axis=-1)
