"""The log density at points along lines through many draws, compiled once."""

from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.compiled import precision
from steinwise.target.series.blocks import DRAWS_PER_BLOCK, call_on_blocks, compile_blocks
from steinwise.target.series.displacement import (
    displaced_equations,
    values_along,
    values_along_seed,
)
from steinwise.target.series.groups import Group
from steinwise.target.series.program import Program, trace

# Points of a line that are evaluated together: as many as most calls for a line ask for.
POINTS_PER_ROW = 8


def compile_line_values(
    program: Program, points: int, lines: Sequence[Group] | int
) -> Callable[..., np.ndarray]:
    """A function of draws x and steps (draw, line, point): log p at ``x + step v``.

    The lines are those of all coordinates, in groups, NaN for coordinates that are in none of them;
    or of so many directions, which are then a third argument. To be called in the precision of the
    program.
    """
    (start,) = program.inputs
    (d,), dtype = program.types[start].shape, program.types[start].dtype
    n_lines = lines if isinstance(lines, int) else d

    def of_draw(row: Float[Array, " both"], *directions: Float[Array, "c d"]) -> Array:
        values = program.evaluate([row[:d]])
        steps = row[d:].reshape(n_lines, points)
        if isinstance(lines, int):
            along = partial(values_along_seed, program, program.equations, values)
            return jax.vmap(along)(directions[0], steps)
        out = jnp.full_like(steps, np.nan)
        for group in lines:
            found = values_along(program, group, values, steps[group.coordinates])
            out = out.at[group.coordinates].set(found)
        return out

    rows = jax.ShapeDtypeStruct((DRAWS_PER_BLOCK, d + n_lines * points), dtype)
    if isinstance(lines, int):
        block = trace(jax.vmap(of_draw, (0, None)), rows, jax.ShapeDtypeStruct((lines, d), dtype))
    else:
        block = trace(jax.vmap(of_draw), rows)
    function = compile_blocks(block)

    def evaluate(x: np.ndarray, steps: np.ndarray, *directions: np.ndarray) -> np.ndarray:
        rows = np.concatenate([x, steps.reshape(len(x), -1)], axis=1)
        out = np.empty(steps.shape)
        with precision(dtype == np.float64):
            call_on_blocks(lambda *block: function(*block, *directions), rows, out)
        return out

    return evaluate


def compile_single_lines(
    program: Program, moving: frozenset[int]
) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """A function of draws x, coordinates and steps (draw, point): log p at ``x + step e_j``.

    With its slope, side by side. Only the values `moving` may move along the coordinates; all
    others are computed once for `POINTS_PER_ROW` points.
    """
    (start,) = program.inputs
    (d,), dtype = program.types[start].shape, program.types[start].dtype
    equations = displaced_equations(program, moving)

    def of_line(row: Float[Array, " all"]) -> Float[Array, "point 2"]:
        values = program.evaluate([row[:d]])
        seed, t = (jnp.arange(d) == row[d]).astype(dtype), row[d + 1 :]
        along = partial(values_along_seed, program, equations, values, seed)
        return jnp.stack(jax.jvp(along, (t,), (jnp.ones_like(t),)), axis=-1)

    rows = jax.ShapeDtypeStruct((DRAWS_PER_BLOCK, d + 1 + POINTS_PER_ROW), dtype)
    function = compile_blocks(trace(jax.vmap(of_line), rows))

    def evaluate(x: np.ndarray, coordinates: np.ndarray, steps: np.ndarray) -> np.ndarray:
        n, points = steps.shape
        per_line = -(-points // POINTS_PER_ROW)
        padded = np.zeros((n, per_line * POINTS_PER_ROW))
        padded[:, :points] = steps
        lines = np.repeat(np.concatenate([x, coordinates[:, None]], axis=1), per_line, axis=0)
        rows = np.concatenate([lines, padded.reshape(-1, POINTS_PER_ROW)], axis=1)
        out = np.empty((len(rows), POINTS_PER_ROW, 2))
        with precision(dtype == np.float64):
            call_on_blocks(function, rows, out)
        return out.reshape(n, -1, 2)[:, :points]

    return evaluate
