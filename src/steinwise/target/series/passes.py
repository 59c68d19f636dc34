"""The series of all lines through one draw, a pass for every group of coordinates."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from steinwise.target.series.blocks import DRAWS_PER_BLOCK
from steinwise.target.series.groups import Colouring, Group
from steinwise.target.series.interpreter import Interpreter
from steinwise.target.series.moving import (
    Coefficient,
    Moving,
    Unsupported,
    affine,
    expanded,
    filled,
)
from steinwise.target.series.program import Equation, Program, trace
from steinwise.target.series.recurrences import product
from steinwise.target.series.rules import ELEMENTWISE, RULES


def direction_block(program: Program, n_directions: int, order: int) -> Program:
    """The series along directions through a block of draws: a program of (draws, directions)."""
    (d,), dtype = program.types[program.inputs[0]].shape, program.types[program.inputs[0]].dtype
    may_move = program.moved_from(program.inputs)

    def of_draw(x: Array, directions: Array) -> Array:
        values = program.evaluate([x])
        found = along_seeds(program, program.equations, values, directions, may_move, order, {})
        return _with_values(values[program.outputs[0]], found)

    return trace(
        jax.vmap(of_draw, (0, None)),
        jax.ShapeDtypeStruct((DRAWS_PER_BLOCK, d), dtype),
        jax.ShapeDtypeStruct((n_directions, d), dtype),
    )


def coordinate_block(
    program: Program, groups: Sequence[Group], order: int
) -> tuple[Program, list[tuple[str, Group]]]:
    """The series along all coordinates through a block of draws; groups whose series is unknown.

    These have NaN, and are named with a primitive that their series would have to go through.
    """
    (d,), dtype = program.types[program.inputs[0]].shape, program.types[program.inputs[0]].dtype
    lines = np.concatenate([group.lines for group in groups])
    place = np.argsort(lines)[np.count_nonzero(lines < 0) :]
    refused: list[tuple[str, Group]] = []

    def of_draw(x: Array) -> Array:
        values = program.evaluate([x])
        remembered: dict = {}
        parts = []
        for group in groups:
            try:
                parts.append(lines_of_group(program, group, values, order, remembered))
            except Unsupported as error:
                refused.append((str(error), group))
                parts.append(jnp.full((len(group.lines), order), jnp.nan, x.dtype))
        return _with_values(values[program.outputs[0]], jnp.concatenate(parts)[place])

    block = trace(jax.vmap(of_draw), jax.ShapeDtypeStruct((DRAWS_PER_BLOCK, d), dtype))
    return block, refused


def _with_values(value: Array, found: Float[Array, "line order"]) -> Float[Array, "line all"]:
    """The coefficients from order 0 on."""
    return jnp.concatenate([jnp.broadcast_to(value, (len(found), 1)), found], axis=1)


def lines_of_group(
    program: Program, group: Group, values: dict[int, Any], order: int, remembered: dict
) -> Float[Array, "line order"]:
    """The coefficients of orders 1 to `order` along every coordinate in `group.lines`."""
    if group.moving.isdisjoint(program.outputs):
        return jnp.zeros((len(group.lines), order), values[program.inputs[0]].dtype)
    if group.colouring is None:
        d = program.types[program.inputs[0]].shape[0]
        seeds = jax.nn.one_hot(group.coordinates, d, dtype=values[program.inputs[0]].dtype)
        return along_seeds(program, group.equations, values, seeds, group.moving, order, remembered)
    return _coloured(program, group, group.colouring, values, order, remembered)


def along_seeds(
    program: Program,
    equations: Sequence[Equation],
    values: dict[int, Any],
    seeds: Float[Array, "line d"],
    may_move: frozenset[int],
    order: int,
    remembered: dict,
) -> Float[Array, "line order"]:
    """The coefficients of orders 1 to `order` of ``x + t seed``, for every seed."""
    (start,), (end,) = program.inputs, program.outputs
    interpreter = Interpreter(ELEMENTWISE, RULES, order, remembered)

    def along(seed: Float[Array, " d"]) -> Float[Array, " order"]:
        moving = {start: affine(values[start], seed, order)}
        interpreter.carry(program, equations, values, moving, may_move)
        return _coefficients(moving.get(end), values[end], order)

    return along(seeds[0])[None] if len(seeds) == 1 else jax.vmap(along)(seeds)


def _coloured(
    program: Program,
    group: Group,
    colouring: Colouring,
    values: dict[int, Any],
    order: int,
    remembered: dict,
) -> Float[Array, "line order"]:
    (start,), (end,) = program.inputs, program.outputs
    n_colours, n_lines = colouring.coordinates.shape
    interpreter = Interpreter(ELEMENTWISE, RULES, order, remembered)

    def of_colour(seed: Array, owners: dict[int, Array]) -> Float[Array, "line order"]:
        moving = {start: affine(values[start], seed, order)}
        interpreter.carry(program, colouring.before, values, moving, group.moving)
        sums = {}
        for equation in colouring.sums:
            i = equation.outputs[0]
            summands = _summands(interpreter, equation, values, moving)
            sums[i] = _sums_by_owner(summands, owners[i], n_lines)

        def of_line(sums_of_line: dict[int, tuple]) -> Float[Array, " order"]:
            summed = {i: Moving(values[i], sums_of_line[i]) for i in sums}
            inner = Interpreter(ELEMENTWISE, RULES, order, remembered)
            inner.carry(program, colouring.after, values, summed, group.moving)
            return _coefficients(summed.get(end), values[end], order)

        return jax.vmap(of_line)(sums)

    d = len(values[start])
    lines = colouring.coordinates
    seeds = np.zeros((n_colours, d + 1))
    seeds[np.arange(n_colours)[:, None], lines] = 1  # the last column is for lines that are not
    seeds = jnp.asarray(seeds[:, :d], values[start].dtype)
    owners = {i: jnp.asarray(owner) for i, owner in colouring.owners.items()}
    if n_colours == 1:
        found = of_colour(seeds[0], {i: owner[0] for i, owner in owners.items()})[None]
    else:
        found = jax.vmap(of_colour)(seeds, owners)
    return found.reshape(-1, order)


def _summands(
    interpreter: Interpreter,
    equation: Equation,
    values: dict[int, Any],
    moving: dict[int, Moving],
) -> Moving:
    """What a sum adds up: the operand of reduce_sum, or the products of a dot product."""
    operands: list[Any] = [moving.get(i, values[i]) for i in equation.inputs]
    if equation.name == "reduce_sum":
        return expanded(operands[0])
    bases = [v.base if isinstance(v, Moving) else v for v in operands]
    rest = (None,) * interpreter.order
    series = [expanded(v).series if isinstance(v, Moving) else (v, *rest) for v in operands]
    base = bases[0] * bases[1]
    return Moving(base, tuple(product(*series)[1:]))


def _sums_by_owner(
    value: Moving, owners: Int[Array, " entry"], n_lines: int
) -> tuple[Coefficient, ...]:
    """The sums of the entries that belong to each line, for every order."""

    def summed(coefficient: Coefficient) -> Float[Array, " line"] | None:
        if coefficient is None:
            return None
        entries = filled(coefficient, value.base).ravel()
        return jax.ops.segment_sum(entries, owners, n_lines + 1)[:-1]

    return tuple(map(summed, value.coefficients))


def _coefficients(value: Moving | None, base: Array, order: int) -> Float[Array, " order"]:
    if value is None:
        return jnp.zeros(order, base.dtype)
    return jnp.stack([filled(c, base) for c in expanded(value).coefficients])
