"""Compiled functions of many points: what a JAX target evaluates, and how many points at a time."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun
from jaxtyping import Array

from steinwise.target.derivatives import (
    along_coordinate,
    along_direction,
    block_gradient,
    gradient_and_value,
    gradient_where_finite,
)
from steinwise.target.differentiation import DifferentiationPlan

# Evaluations in one compiled call; the largest that can be filled is used. Few sizes mean few
# compilations.
POINTS_PER_CALL = (256, 2048, 16384)
POINTS_PER_STEP = (32, 256)  # the same where many calls follow each other, as in a search
# Evaluations vectorised together inside a call, on a CPU: a gradient takes as long with 256, and
# the last batch, which is filled up, less.
POINTS_PER_BATCH = 64
COPIES_PER_POINT = 32  # of a point's size: room for what a density computes on the way


def compile_over_points(
    kind: str,
    plan: DifferentiationPlan,
    log_density: Callable,
    lines: Callable | None,
    conditionals: Callable | None,
) -> Callable[..., Array]:
    """A compiled function of many points, one per row of its arguments, after how many they are.

    Kinds are "value" and "score" of (x), and "value and score" of (x), both in one vector; "block"
    of (x, block, y); "line" of (x, j, y), the slope alone; "line value" of (x, j, y) and
    "direction value" of (x, direction, step), both log p and the slope; "line level" and
    "direction level" of the same, log p alone; "conditional" of (x, j, anything), the log
    probabilities of all values of coordinate j.
    """
    if kind == "conditional":
        assert conditionals is not None
        return jax.jit(functools.partial(_map_points, lambda x, j, _: conditionals(x, j)))
    at_one_point = _of_one_point(kind, plan, log_density, lines)
    return jax.jit(functools.partial(_map_points, at_one_point))


def _of_one_point(
    kind: str, plan: DifferentiationPlan, log_density: Callable, lines: Callable | None
) -> Callable[..., Array]:
    if kind == "value":
        return log_density
    if kind == "score":
        return gradient_where_finite(log_density, plan.score)
    if kind == "value and score":
        derivative = gradient_and_value(log_density, plan.score)
        return lambda x: jnp.concatenate([jnp.ravel(part) for part in derivative(x)[::-1]])
    if kind == "block":
        return lines or block_gradient(log_density, plan.score)
    if kind == "line":
        return lines or _slope_where_finite(log_density, plan)
    if kind == "line level":
        return lambda x, j, y: log_density(x.at[j].set(y))
    if kind == "direction level":
        return lambda x, direction, step: log_density(x + step * direction)
    along = {"line value": along_coordinate, "direction value": along_direction}[kind]
    return lambda *point: jnp.stack(along(log_density, plan.line, *point))


def _slope_where_finite(log_density: Callable, plan: DifferentiationPlan) -> Callable[..., Array]:
    def at(x: Array, j: Array, y: Array) -> Array:
        value, slope = along_coordinate(log_density, plan.line, x, j, y)
        return jnp.where(jnp.isfinite(value), slope, jnp.nan)

    return at


def points_per_call(
    count: int, d: int, memory: int, sizes: tuple[int, ...] = POINTS_PER_CALL
) -> int:
    """How many of `count` points in d dimensions one call evaluates within `memory` bytes."""
    smallest, largest = sizes[0], sizes[-1]
    filled = max((size for size in sizes if size <= count), default=smallest)
    return min(filled, int(np.clip(memory // (8 * d * COPIES_PER_POINT), 1, largest)))


def _map_points(function: Callable, filled: Array, *points: Array) -> Array:
    """`function(*point)` for the first rows of the arguments, a batch at a time.

    Batches bound the memory; those after the rows that are `filled` cost nothing.
    """
    count = len(points[0])
    traced = jax.make_jaxpr(function)(*(a[0] for a in points))
    function = jaxpr_as_fun(traced)
    on_cpu = jax.default_backend() == "cpu"
    batch = min(POINTS_PER_BATCH if on_cpu else POINTS_PER_CALL[0], count)
    if on_cpu and adds_at_indices(traced.jaxpr):
        batch = 1
    padding = -count % batch
    padded = [jnp.concatenate([a, jnp.repeat(a[-1:], padding, axis=0)]) for a in points]
    (type_of_one,) = traced.out_avals
    empty = jnp.zeros((count + padding, *type_of_one.shape), type_of_one.dtype)

    def add_batch(i: Array, out: Array) -> Array:
        rows = [jax.lax.dynamic_slice_in_dim(a, i * batch, batch) for a in padded]
        if batch == 1:
            (one,) = function(*(a[0] for a in rows))
            found = one[None]
        else:
            (found,) = jax.vmap(function)(*rows)
        return jax.lax.dynamic_update_slice_in_dim(out, found, i * batch, 0)

    return jax.lax.fori_loop(0, -(-filled // batch), add_batch, empty)[:count]


def adds_at_indices(jaxpr: Any) -> bool:
    """Whether a function adds at indices, as the gradient of ``a[group]`` does, also inside calls.

    XLA turns such sums over many points at once into a loop over every entry of every point: the
    scores of a regression with 50 groups then take 7 to 15 times as long as point by point.
    """
    for equation in jaxpr.eqns:
        if equation.primitive.name == "scatter-add":
            return True
        for value in equation.params.values():
            parts = value if isinstance(value, tuple) else (value,)  # the branches of a cond
            inner = [getattr(part, "jaxpr", part) for part in parts]
            if any(adds_at_indices(part) for part in inner if hasattr(part, "eqns")):
                return True
    return False
