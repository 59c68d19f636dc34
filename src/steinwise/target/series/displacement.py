"""Values of a log density at points along the lines through one draw, without starting over.

What is linear in the point is computed once per line, as base and slope, and only what comes after
it once per point. Coordinates of one colour are moved at the same time, each by its own step: they
share no entry before everything is summed up, and the sums are taken line by line.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise.target.series.groups import Colouring, Group, needed_for
from steinwise.target.series.interpreter import Interpreter, Step
from steinwise.target.series.moving import Moving, Unsupported, affine, velocity
from steinwise.target.series.program import PIECEWISE_CONSTANT, Equation, Program
from steinwise.target.series.rules import ELEMENTWISE, LINEAR, RULES

# The order at which a value shows whether it is still linear in the step.
BEYOND_LINEAR = 2


def values_along(
    program: Program,
    group: Group,
    values: dict[int, Any],
    steps: Float[Array, "coordinate point"],
) -> Float[Array, "coordinate point"]:
    """log p at ``x + step e_j`` for every coordinate j of a group."""
    if group.colouring is not None:
        return _of_colours(program, group, group.colouring, values, steps)
    d = program.types[program.inputs[0]].shape[0]
    seeds = jax.nn.one_hot(group.coordinates, d, dtype=steps.dtype)
    equations = displaced_equations(program, group.moving)
    return jax.vmap(lambda seed, t: values_along_seed(program, equations, values, seed, t))(
        seeds, steps
    )


def displaced_equations(program: Program, moving: frozenset[int]) -> tuple[Equation, ...]:
    """The equations to compute anew at a point where the values `moving` have moved.

    Those that move, and all that depends on a comparison or a step of what has moved.
    """
    jumps: set[int] = set()
    chosen = []
    for equation in program.equations:
        if not jumps.isdisjoint(equation.inputs):
            jumps.update(equation.outputs)
        elif moving.isdisjoint(equation.inputs):
            continue
        elif equation.name in PIECEWISE_CONSTANT or program.sensitive.isdisjoint(equation.outputs):
            jumps.update(equation.outputs)
        elif moving.isdisjoint(equation.outputs):
            continue
        chosen.append(equation)
    return tuple(chosen)


def values_along_seed(
    program: Program,
    equations: Sequence[Equation],
    values: dict[int, Any],
    seed: Float[Array, " d"],
    t: Float[Array, " point"],
) -> Float[Array, " point"]:
    """log p at ``x + t seed``, by the equations that a line may move."""
    (start,), (end,) = program.inputs, program.outputs
    interpreter = Interpreter(ELEMENTWISE, RULES, BEYOND_LINEAR)
    linear = {start: affine(values[start], seed, BEYOND_LINEAR)}
    displaced: dict[int, Array] = {}

    def at_points(i: int) -> tuple[Any, int | None]:
        """A value at the points, and the axis of the points; None if it does not move."""
        if i in displaced:
            return displaced[i], 0
        if i not in linear:
            return values[i], None
        slope, base = velocity(linear[i]), values[i]
        return base + t.reshape(-1, *[1] * base.ndim) * slope, 0

    for equation in equations:
        moved = [i for i in equation.inputs if i in linear or i in displaced]
        if not moved:
            continue
        if displaced.keys().isdisjoint(moved) and equation.name in LINEAR:
            found = _still_linear(interpreter, program, equation, values, linear)
            if found is not None:
                linear.update(found)
                continue
        operands, axes = zip(*map(at_points, equation.inputs), strict=True)
        results = jax.vmap(partial(_bind, equation), in_axes=axes, axis_size=len(t))(*operands)
        displaced.update(zip(equation.outputs, results, strict=True))
    found, axis = at_points(end)
    return jnp.broadcast_to(found, t.shape) if axis is None else found


def _bind(equation: Equation, *operands: Array) -> list[Array]:
    """The outputs of an equation; sums over all entries as products with ones.

    XLA would fuse a sum with what is summed up, and then compute that entry by entry: a logistic
    regression takes half as long again.
    """
    if equation.name == "reduce_sum" and len(equation.params["axes"]) == operands[0].ndim:
        flat = operands[0].ravel()
        return [flat @ jnp.ones_like(flat)]
    return equation.bind(*operands)


def _still_linear(
    interpreter: Interpreter,
    program: Program,
    equation: Equation,
    values: dict[int, Any],
    linear: dict[int, Moving],
) -> dict[int, Moving] | None:
    """The outputs of an equation that are linear in the step, or None if one of them is not."""
    step = Step(
        equation,
        tuple(linear[i] if i in linear else values[i] for i in equation.inputs),
        tuple(values[i] for i in equation.outputs),
        tuple(i not in program.varying for i in equation.inputs),
    )
    try:
        results = interpreter.follow(step)
    except Unsupported:
        return None
    found = {i: r for i, r in zip(equation.outputs, results, strict=True) if r is not None}
    complete = len(found) == len(equation.outputs)
    return found if complete and all(r.is_affine for r in found.values()) else None


def _of_colours(
    program: Program,
    group: Group,
    colouring: Colouring,
    values: dict[int, Any],
    steps: Float[Array, "coordinate point"],
) -> Float[Array, "coordinate point"]:
    (start,), (end,) = program.inputs, program.outputs
    d, chosen = len(values[start]), colouring.coordinates
    place = np.full(d + 1, len(group.coordinates))
    place[group.coordinates] = np.arange(len(group.coordinates))
    lines = np.where(chosen < 0, d, chosen)
    # a row of zeros for the lines that a colour does not have
    steps_of_lines = jnp.concatenate([steps, jnp.zeros_like(steps[:1])])[place[lines]]
    before = needed_for(program, colouring.sums)

    def of_point(
        lines: Array, t: Float[Array, " line"], owners: dict[int, Array]
    ) -> Float[Array, " line"]:
        """All lines of a colour, each at one point."""
        moved = {start: values[start].at[lines].add(t, mode="drop")}
        _evaluate(before, values, moved)
        sums = {}
        for equation in colouring.sums:
            (i,) = equation.outputs
            change = _summands(equation, moved, values) - _summands(equation, {}, values)
            by_line = jax.ops.segment_sum(change.ravel(), owners[i], len(t) + 1)[:-1]
            sums[i] = values[i] + by_line

        def of_line(of_this: dict[int, Array]) -> Array:
            return _evaluate(colouring.after, values, dict(of_this)).get(end, values[end])

        return jax.vmap(of_line)(sums)

    over_points = jax.vmap(of_point, in_axes=(None, 1, None), out_axes=1)
    owners = {i: jnp.asarray(owner) for i, owner in colouring.owners.items()}
    found = jax.vmap(over_points)(jnp.asarray(lines), steps_of_lines, owners)
    where = np.empty(len(group.coordinates), dtype=int)
    where[place[chosen[chosen >= 0]]] = np.flatnonzero(chosen.ravel() >= 0)
    return found.reshape(-1, steps.shape[1])[where]


def _evaluate(
    equations: Iterable[Equation], values: dict[int, Any], moved: dict[int, Any]
) -> dict[int, Any]:
    """Add to `moved` what the equations make of moved values."""
    for equation in equations:
        if moved.keys().isdisjoint(equation.inputs):
            continue
        results = equation.bind(*[moved[i] if i in moved else values[i] for i in equation.inputs])
        moved.update(zip(equation.outputs, results, strict=True))
    return moved


def _summands(equation: Equation, moved: dict[int, Any], values: dict[int, Any]) -> Array:
    """What a sum adds up: the operand of reduce_sum, or the products of a dot product."""
    first, *rest = (moved[i] if i in moved else values[i] for i in equation.inputs)
    return first * rest[0] if equation.name == "dot_general" else first
