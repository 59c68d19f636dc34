"""Compiled functions of many points: what a JAX target evaluates, and how many points at a time."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from steinwise.target.derivatives import (
    along_coordinate,
    along_direction,
    block_gradient,
    gradient,
)
from steinwise.target.differentiation import DifferentiationPlan

# Evaluations in one compiled call; the smallest that will do is used. Few sizes mean few
# compilations, and steps of 8 waste little on padding.
POINTS_PER_CALL = (256, 2048, 16384)
POINTS_PER_BATCH = 256  # evaluations vectorised together inside a call: more would only use memory
COPIES_PER_POINT = 32  # of a point's size: room for what a density computes on the way


def compile_over_points(
    kind: str, plan: DifferentiationPlan, log_density: Callable, lines: Callable | None
) -> Callable[..., Array]:
    """A compiled function of many points, one per row of its arguments.

    Kinds are "value" and "score" of (x); "block" of (x, block, y); "line" of (x, j, y), the slope
    alone; "line value" of (x, j, y) and "direction value" of (x, direction, step), both log p and
    the slope.
    """
    at_one_point = _of_one_point(kind, plan, log_density, lines)
    return jax.jit(functools.partial(_map_points, at_one_point))


def _of_one_point(
    kind: str, plan: DifferentiationPlan, log_density: Callable, lines: Callable | None
) -> Callable[..., Array]:
    if kind == "value":
        return log_density
    if kind == "score":
        return gradient(log_density, plan.score)
    if kind == "block":
        return lines or block_gradient(log_density, plan.score)
    if kind == "line":
        return lines or (lambda x, j, y: along_coordinate(log_density, plan.line, x, j, y)[1])
    along = {"line value": along_coordinate, "direction value": along_direction}[kind]
    return lambda *point: jnp.stack(along(log_density, plan.line, *point))


def points_per_call(count: int, d: int, memory: int) -> int:
    """How many of `count` points in d dimensions one call evaluates within `memory` bytes."""
    largest = POINTS_PER_CALL[-1]
    enough = next(size for size in POINTS_PER_CALL if size >= min(count, largest))
    return min(enough, int(np.clip(memory // (8 * d * COPIES_PER_POINT), 1, largest)))


def _map_points(function: Callable, *points: Array) -> Array:
    """`function(*point)` for every row of the arguments, a batch at a time to bound the memory."""
    count = len(points[0])
    batch = min(POINTS_PER_BATCH, count)
    padding = -count % batch
    padded = [jnp.concatenate([a, jnp.repeat(a[-1:], padding, axis=0)]) for a in points]
    batches = tuple(a.reshape(-1, batch, *a.shape[1:]) for a in padded)
    out = jax.lax.map(lambda rows: jax.vmap(function)(*rows), batches)
    return out.reshape(-1, *out.shape[2:])[:count]
