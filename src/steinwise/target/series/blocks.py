"""A program of some draws as a compiled function of many."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array

from steinwise._internal.compiler_options import quick_to_compile
from steinwise.target.series.program import Program, run

# Draws that go through the equations together: few enough for their values to stay in the
# processor's cache, enough for matrix products to be efficient.
DRAWS_PER_BLOCK = 16
ROWS_PER_CALL = 512

# On machines with few cores, batches of LAPACK calls and of Eigen's matrix products can wait for
# each other's threads forever (seen with two cores and JAX 0.10, in plain derivatives as well). One
# thread for Eigen prevents it for series; values along lines that move what LAPACK computes are
# computed point by point.
LAPACK = frozenset({"cholesky", "triangular_solve", "lu", "eigh", "qr", "svd"})
SINGLE_THREAD = {"xla_cpu_multi_thread_eigen": False}


def compile_blocks(block: Program) -> Callable[..., Array]:
    """A compiled function of (rows, n_blocks, *others): a program on the first blocks of rows.

    Its first input is a block, the `others` are the same for all blocks.

    What does not depend on the draws is computed once, before the loop over blocks. The arrays that
    the log density closed over are arguments: XLA would fold constants of their size for seconds.
    """
    (start, *others), (end,) = block.inputs, block.outputs
    varying = block.reached_from([start])
    shared = [e for e in block.equations if varying.isdisjoint(e.inputs)]
    by_draw = [e for e in block.equations if not varying.isdisjoint(e.inputs)]
    size = block.types[start].shape[0]

    names = {equation.name for equation in block.equations}
    options = quick_to_compile() | (SINGLE_THREAD if names & LAPACK else {})

    @functools.partial(jax.jit, compiler_options=options)
    def blocks(constants: dict[int, Any], rows: Array, n_blocks: int, *same: Array) -> Array:
        given = dict(zip(others, same, strict=True))
        known = run(shared, {**block.literals, **constants, **given})
        empty = jnp.zeros((len(rows), *block.types[end].shape[1:]), rows.dtype)

        def add_block(i: Array, out: Array) -> Array:
            values = {**known, start: lax.dynamic_slice_in_dim(rows, i * size, size)}
            return lax.dynamic_update_slice_in_dim(out, run(by_draw, values)[end], i * size, 0)

        return lax.fori_loop(0, n_blocks, add_block, empty)

    return lambda rows, n_blocks, *same: blocks(block.constants, rows, n_blocks, *same)


def call_on_blocks(
    function: Callable[[np.ndarray, int], Array],
    rows: np.ndarray,
    out: np.ndarray,
    most_rows: int = ROWS_PER_CALL,
) -> None:
    """Fill `out` with what a compiled function gives for every row, in calls of one shape."""
    at_once = max(DRAWS_PER_BLOCK, most_rows - most_rows % DRAWS_PER_BLOCK)
    for start in range(0, len(rows), at_once):
        part = rows[start : start + at_once]
        n_blocks = -(-len(part) // DRAWS_PER_BLOCK)
        padded = part[np.minimum(np.arange(at_once), len(part) - 1)]
        found = np.asarray(function(padded, n_blocks))  # JAX would compile each slice of it
        out[start : start + len(part)] = found[: len(part)]
