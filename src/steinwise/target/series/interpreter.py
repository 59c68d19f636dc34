"""Carrying series through the equations of a program."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import jax.numpy as jnp
from jaxtyping import Array

from steinwise.target.series.moving import (
    Coefficient,
    Moving,
    Unsupported,
    expanded,
)
from steinwise.target.series.program import PIECEWISE_CONSTANT, Equation, Program

Operand: TypeAlias = Moving | Array


class Step(NamedTuple):
    """An equation to carry series through."""

    equation: Equation
    operands: tuple[Operand, ...]
    results: tuple[Array, ...]  # at order 0
    fixed: tuple[bool, ...]  # operands that are the same for all draws

    @property
    def moving(self) -> tuple[Moving, ...]:
        return tuple(operand for operand in self.operands if isinstance(operand, Moving))

    def bind(self, *operands: Any) -> list[Array]:
        return self.equation.bind(*operands)


ElementwiseRule = Callable[[Sequence[Sequence[Coefficient]], Any, dict], list[Coefficient]]
StepRule = Callable[["Interpreter", Step], Sequence[Moving | None]]


@dataclass(frozen=True, eq=False)
class Interpreter:
    """The rules, the order of the series, and what is known about the lines that move.

    Parameters
    ----------
    elementwise
        Rules of functions that act entry by entry: coefficients in, coefficients out.
    rules
        Rules of all other primitives, which see slopes and shapes as well.
    order
        The last order of the series.
    remembered
        Coefficients computed before, by what they were computed from. Lines of another kind through
        the same draw share them as long as they differ only in their slopes.
    """

    elementwise: dict[str, ElementwiseRule]
    rules: dict[str, StepRule]
    order: int
    remembered: dict[Any, Any] = field(default_factory=dict)

    def carry(
        self,
        program: Program,
        equations: Iterable[Equation],
        values: dict[int, Any],
        moving: dict[int, Moving],
        may_move: frozenset[int],
    ) -> dict[int, Moving]:
        """Add to `moving` the values that the equations move, as far as they are in `may_move`."""
        for equation in equations:
            moves = any(i in moving for i in equation.inputs)
            if (
                not moves
                or equation.name in PIECEWISE_CONSTANT
                or may_move.isdisjoint(equation.outputs)
            ):
                continue
            step = Step(
                equation,
                tuple(moving[i] if i in moving else values[i] for i in equation.inputs),
                tuple(values[i] for i in equation.outputs),
                tuple(i not in program.varying for i in equation.inputs),
            )
            for i, result in zip(equation.outputs, self.follow(step), strict=True):
                if result is not None and i in may_move:
                    moving[i] = result
        return moving

    def follow(self, step: Step) -> Sequence[Moving | None]:
        """The series of the outputs of one equation."""
        name = step.equation.name
        if any(jnp.iscomplexobj(result) for result in step.results):
            raise Unsupported(name)
        if name in self.rules:
            return self.rules[name](self, step)
        if name in self.elementwise:
            return [self.act(step)]
        raise Unsupported(name)

    def act(self, step: Step) -> Moving:
        """An elementwise function: it acts on the coefficients, and the slope stays as it is."""
        operands, slope = aligned(step.operands)
        rest = (None,) * self.order
        series = [v.series if isinstance(v, Moving) else (v, *rest) for v in operands]
        coefficients = self.remember(
            (step.equation, *[c for one in series for c in one]),
            lambda: self.elementwise[step.equation.name](
                series, step.results[0], step.equation.params
            ),
        )
        return Moving(step.results[0], tuple(coefficients[1:]), slope)

    def remember(self, sources: tuple, compute: Callable[[], Any]) -> Any:
        """What `compute` returns, computed once for the same sources."""
        key = tuple(s if isinstance(s, float) else id(s) for s in sources)
        if key not in self.remembered:
            self.remembered[key] = (sources, compute())  # keeps the sources, and so their ids
        return self.remembered[key][1]

    def carry_through(self, program: Program, operands: Sequence[Operand]) -> list[Operand]:
        """The outputs of a program inside an equation: the body of a loop, or a branch."""
        values = program.evaluate([v.base if isinstance(v, Moving) else v for v in operands])
        moving = {
            i: v for i, v in zip(program.inputs, operands, strict=True) if isinstance(v, Moving)
        }
        self.carry(program, program.equations, values, moving, program.sensitive)
        return [moving[i] if i in moving else values[i] for i in program.outputs]


def aligned(operands: Sequence[Operand]) -> tuple[list[Operand], Array | None]:
    """Operands whose series have one slope, and that slope; multiplied out if slopes differ."""
    slopes = [v.slope for v in operands if isinstance(v, Moving)]
    if all(slope is slopes[0] for slope in slopes):
        return list(operands), slopes[0]
    return [expanded(v) if isinstance(v, Moving) else v for v in operands], None
