"""Series through sums and products, which keep an affine value affine where they can."""

from collections.abc import Sequence

from steinwise.target.series.interpreter import Interpreter, Step
from steinwise.target.series.moving import (
    Coefficient,
    Moving,
    Series,
    add,
    affine,
    multiply,
    subtract,
    velocity,
)
from steinwise.target.series.recurrences import product, quotient, square


def _add(interpreter: Interpreter, step: Step) -> Sequence[Moving]:
    """Two affine values with different slopes are one with the sum of the slopes."""
    moving = step.moving
    if len(moving) == 2 and moving[0].slope is not moving[1].slope:
        if all(value.is_affine for value in moving):
            slope = step.bind(*map(velocity, moving))[0]
            return [affine(step.results[0], slope, interpreter.order)]
    elif len(moving) == 1 and step.equation.name != "sub":
        return [Moving(step.results[0], moving[0].coefficients, moving[0].slope)]
    return [interpreter.act(step)]


def _add_series(operands: Sequence[Series], first: Coefficient, _: dict) -> list[Coefficient]:
    return [first, *map(add, operands[0][1:], operands[1][1:])]


def _sub_series(operands: Sequence[Series], first: Coefficient, _: dict) -> list[Coefficient]:
    return [first, *map(subtract, operands[0][1:], operands[1][1:])]


def _mul_series(operands: Sequence[Series], first: Coefficient, _: dict) -> list[Coefficient]:
    a, b = operands
    if all(c is e for c, e in zip(a, b, strict=True)):
        return [first, *square(a)[1:]]
    return [first, *product(a, b)[1:]]


def _div_series(operands: Sequence[Series], first: Coefficient, _: dict) -> list[Coefficient]:
    a, b = operands
    if any(c is not None for c in b[1:]):
        return quotient(a, b, first)
    return [first, *[None if c is None else c / b[0] for c in a[1:]]]


def _neg_series(operands: Sequence[Series], first: Coefficient, _: dict) -> list[Coefficient]:
    return [first, *[multiply(c, -1.0) for c in operands[0][1:]]]


RULES = {"add": _add, "add_any": _add, "sub": _add}
ELEMENTWISE = {
    "add": _add_series,
    "add_any": _add_series,
    "sub": _sub_series,
    "mul": _mul_series,
    "div": _div_series,
    "neg": _neg_series,
}
