"""Compiled functions of many points: what a JAX target evaluates, and how many points at a time."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import jaxpr_as_fun
from jaxtyping import Array

from steinwise._internal.compiled import precision
from steinwise._internal.compiler_options import quickly_compiled
from steinwise._internal.memory import chunks
from steinwise.target.derivatives import (
    along_direction,
    block_gradient,
    gradient_and_value,
)
from steinwise.target.differentiation import DifferentiationPlan

# Evaluations in one compiled call, of which it runs as many batches as there are points for. One
# size for any number of points, since a density takes about a second to compile for each.
POINTS_PER_CALL, POINTS_PER_STEP = 2048, 256  # the second where many calls follow, as in a search
# Evaluations vectorised together: a gradient takes as long as with 256, and the last batch, which
# is filled up, less.
POINTS_PER_BATCH, POINTS_PER_SMALL_BATCH = 64, 32
COPIES_PER_POINT = 32  # of a point's size: room for what a density computes on the way

FACTORISATIONS = frozenset({"cholesky", "triangular_solve", "lu"})
# Rows of a matrix from which on a slope of the Gaussian process of `benchmarks.posteriors` takes
# less time alone: 3.6 instead of 1.4 us with 8 rows, 6.5 and 7.0 with 16, 20 and 25 with 32, 84 and
# 168 with 64, 235 and 393 with 98.
LEAST_ALONE = 32


def compile_over_points(
    kind: str,
    plan: DifferentiationPlan,
    log_density: Callable,
    lines: Callable | None,
    conditionals: Callable | None,
) -> Callable[..., Array]:
    """A compiled function of (size of a batch, number of points, points).

    There is a point in each row of the other arguments; batches beyond their number are not
    evaluated.
    Kinds are "value" of (x), and "value and score" of (x), both in one vector; "block" of
    (x, block, y); "line" of (x, j, y), the user's own conditional score; "direction value" of
    (x, direction, step), log p and the slope, and "direction level" of the same, log p alone;
    "conditional" of (x, j, anything), the log probabilities of all values of coordinate j. A
    coordinate is followed as a direction: each kind takes seconds to compile.
    """
    if kind == "conditional":
        assert conditionals is not None
        at_one_point = lambda x, j, _: conditionals(x, j)  # noqa: E731
    else:
        at_one_point = _of_one_point(kind, plan, log_density, lines)
    at_points = functools.partial(_map_points, at_one_point)
    return quickly_compiled(at_points, newer_loops=kind == "value and score", static_argnums=0)


def _of_one_point(
    kind: str, plan: DifferentiationPlan, log_density: Callable, lines: Callable | None
) -> Callable[..., Array]:
    if kind == "value":
        return log_density
    if kind == "value and score":
        derivative = gradient_and_value(log_density, plan.score)
        return lambda x: jnp.concatenate([jnp.ravel(part) for part in derivative(x)[::-1]])
    if kind == "block":
        return lines or block_gradient(log_density, plan.score)
    if kind == "line":
        assert lines is not None
        return lines
    if kind == "direction level":
        return lambda x, direction, step: log_density(x + step * direction)
    return lambda *point: jnp.stack(along_direction(log_density, plan.line, *point))


def call_over_points(
    function: Callable[..., Array],
    points: Callable[[np.ndarray], tuple[np.ndarray, ...]],
    count: int,
    size: int,
    batch: int,
    *,
    wide: bool,
) -> np.ndarray:
    """A function from `compile_over_points` at `count` points, `size` of them in a call.

    `points(i)` gives the arguments of the points numbered i, a row each.
    """
    pieces = []
    with precision(wide):
        for span in chunks(count, size):
            filled = span.stop - span.start
            index = np.minimum(np.arange(filled + -filled % batch) + span.start, span.stop - 1)
            rows = [_padded(array, size) for array in points(index)]
            pieces.append(np.asarray(function(batch, filled, *rows))[:filled])
    return np.concatenate(pieces)


def _padded(rows: np.ndarray, size: int) -> np.ndarray:
    padded = np.zeros((size, *rows.shape[1:]), rows.dtype)
    padded[: len(rows)] = rows
    return padded


def points_per_call(d: int, memory: int, size: int, batch: int) -> tuple[int, int]:
    """How many points in d dimensions one call takes within `memory` bytes, and one batch of it."""
    affordable = min(size, max(memory // (8 * d * COPIES_PER_POINT), 1))
    batch = min(batch, affordable)
    return affordable - affordable % batch, batch


def _map_points(function: Callable, batch: int, filled: Array, *points: Array) -> Array:
    """`function(*point)` for the rows that are filled, a batch at a time."""
    traced = jax.make_jaxpr(function)(*(a[0] for a in points))
    at_point = jaxpr_as_fun(traced)
    if jax.default_backend() == "cpu" and is_faster_alone(traced.jaxpr):
        batch = 1

    def of_batch(*rows: Array) -> Array:
        if batch == 1:
            return at_point(*(a[0] for a in rows))[0][None]
        return jax.vmap(at_point)(*rows)[0]

    def add_batch(i: Array, out: Array) -> Array:
        rows = [lax.dynamic_slice_in_dim(a, i * batch, batch) for a in points]
        return lax.dynamic_update_slice_in_dim(out, of_batch(*rows), i * batch, 0)

    (one,) = traced.out_avals
    empty = jnp.zeros((len(points[0]), *one.shape), one.dtype)
    return lax.fori_loop(0, -(-filled // batch), add_batch, empty)


def is_faster_alone(jaxpr: Any) -> bool:
    """Whether a function takes less time point by point than at many points at once.

    If it adds at indices, as the gradient of ``a[group]`` does: XLA turns such sums over many
    points at once into a loop over every entry of every point, and the scores of a regression with
    50 groups take 7 to 15 times as long. And if it factorises or solves with matrices that are not
    small: those of many points at once do not fit the processor's cache.
    """
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        if name == "scatter-add":
            return True
        if name in FACTORISATIONS and equation.invars[0].aval.shape[-1] >= LEAST_ALONE:
            return True
        for value in equation.params.values():
            parts = value if isinstance(value, tuple) else (value,)  # the branches of a cond
            inner = [getattr(part, "jaxpr", part) for part in parts]
            if any(is_faster_alone(part) for part in inner if hasattr(part, "eqns")):
                return True
    return False
