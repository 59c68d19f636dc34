"""The log density at points along lines through many draws, compiled once."""

from collections.abc import Callable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.compiled import precision
from steinwise.target.series.blocks import DRAWS_PER_BLOCK, call_on_blocks, compile_blocks
from steinwise.target.series.displacement import values_along, values_along_seed
from steinwise.target.series.groups import Group
from steinwise.target.series.program import Program, trace


def compile_line_values(
    program: Program, points: int, lines: Sequence[Group] | int
) -> Callable[..., np.ndarray]:
    """A function of draws x and steps (draw, line, point): log p at ``x + step v``.

    The lines are those of all coordinates, in groups, or of so many directions, which are then a
    third argument. To be called in the precision of the program.
    """
    (start,) = program.inputs
    (d,), dtype = program.types[start].shape, program.types[start].dtype
    n_lines = lines if isinstance(lines, int) else d

    def of_draw(row: Float[Array, " both"], *directions: Float[Array, "c d"]) -> Array:
        values = program.evaluate([row[:d]])
        steps = row[d:].reshape(n_lines, points)
        if isinstance(lines, int):
            return jax.vmap(partial(values_along_seed, program, values))(directions[0], steps)
        parts = [values_along(program, g, values, steps[g.coordinates]) for g in lines]
        place = np.argsort(np.concatenate([group.coordinates for group in lines]))
        return jnp.concatenate(parts)[place]

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
