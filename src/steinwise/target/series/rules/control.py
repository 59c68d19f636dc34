"""Series through loops and branches, which carry them through the jaxprs inside.

A `while` loop has no rule: how often it runs may depend on the line. One that does not move is
evaluated as it is.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from steinwise.target.series.interpreter import Interpreter, Operand, Step
from steinwise.target.series.moving import Moving, full
from steinwise.target.series.program import Program, flatten


def _scan(interpreter: Interpreter, step: Step) -> Sequence[Moving | None]:
    """A scan whose carry, inputs and outputs hold coefficients as well, wherever they move."""
    params = step.equation.params
    n_constants, n_carry = _counts(params)
    body = flatten(params["jaxpr"])
    constants = step.operands[:n_constants]
    start = step.operands[n_constants : n_constants + n_carry]
    inputs = step.operands[n_constants + n_carry :]
    moves = [isinstance(v, Moving) for v in step.operands]
    moves_out = _moving_outputs(body, moves, n_constants, n_carry)

    def one(carry: list, xs: list) -> tuple[list, list]:
        operands = [*constants, *map(_unpacked, carry), *map(_unpacked, xs)]
        results = interpreter.carry_through(body, operands)
        packed = [
            _packed(v, moving, interpreter.order)
            for v, moving in zip(results, moves_out, strict=True)
        ]
        return packed[:n_carry], packed[n_carry:]

    carry, outputs = lax.scan(
        one,
        [
            _packed(v, moving, interpreter.order)
            for v, moving in zip(start, moves_out[:n_carry], strict=True)
        ],
        [_packed(v, isinstance(v, Moving), interpreter.order) for v in inputs],
        length=params["length"],
        reverse=params["reverse"],
        unroll=params["unroll"],
    )
    return [
        Moving(result, tuple(packed[1:])) if len(packed) > 1 else None
        for packed, result in zip((*carry, *outputs), step.results, strict=True)
    ]


def _counts(params: dict[str, Any]) -> tuple[int, int]:
    """How many operands of a scan are constants, and how many its carry."""
    if "ft_in" in params:  # since JAX 0.12
        constants, carry, _ = params["ft_in"].unpack()
        return len(constants), len(carry)
    return params["num_consts"], params["num_carry"]


def _moving_outputs(body: Program, moves: list[bool], n_constants: int, n_carry: int) -> list[bool]:
    """Which outputs of a loop's body move, once a carry that moves has gone round."""
    moves = list(moves)
    while True:
        moved = body.moved_from(i for i, m in zip(body.inputs, moves, strict=True) if m)
        out = [i in moved for i in body.outputs]
        carry = slice(n_constants, n_constants + n_carry)
        joined = [a or b for a, b in zip(moves[carry], out[:n_carry], strict=True)]
        if joined == moves[carry]:
            return joined + out[n_carry:]
        moves[carry] = joined


def _cond(interpreter: Interpreter, step: Step) -> Sequence[Moving | None]:
    """The branch that is taken at order 0."""
    which, *operands = step.operands
    branches = [flatten(branch) for branch in step.equation.params["branches"]]
    moves = [isinstance(v, Moving) for v in operands]
    moves_out = [
        any(flags)
        for flags in zip(*[_moved_outputs(branch, moves) for branch in branches], strict=True)
    ]

    def taken(branch: Program) -> Any:
        def run(*packed: list) -> list:
            results = interpreter.carry_through(branch, [_unpacked(v) for v in packed])
            return [
                _packed(v, moving, interpreter.order)
                for v, moving in zip(results, moves_out, strict=True)
            ]

        return run

    packed = [
        _packed(v, moving, interpreter.order) for v, moving in zip(operands, moves, strict=True)
    ]
    results = lax.switch(which, [taken(branch) for branch in branches], *packed)
    return [
        Moving(base, tuple(found[1:])) if len(found) > 1 else None
        for found, base in zip(results, step.results, strict=True)
    ]


def _moved_outputs(program: Program, moves: Sequence[bool]) -> list[bool]:
    moved = program.moved_from(i for i, m in zip(program.inputs, moves, strict=True) if m)
    return [i in moved for i in program.outputs]


def _packed(value: Operand, moving: bool, order: int) -> list[Array]:
    """The coefficients of a value from order 0, or the value alone if it does not move."""
    if isinstance(value, Moving):
        return full(value)
    return [value] + [jnp.zeros_like(value)] * order if moving else [value]


def _unpacked(packed: Sequence[Array]) -> Operand:
    return Moving(packed[0], tuple(packed[1:])) if len(packed) > 1 else packed[0]


RULES = {"scan": _scan, "cond": _cond}
