"""Series through linear functions: sums, matrix products, conversions.

A linear function of an affine value is affine: only the slope goes through it. Of any other value,
every coefficient does.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from steinwise.target.series.interpreter import Interpreter, Step
from steinwise.target.series.moving import (
    Coefficient,
    Moving,
    Series,
    add,
    affine,
    expanded,
    filled,
    full,
    multiply,
    slope_powers,
    velocity,
)


def _linear(interpreter: Interpreter, step: Step) -> Sequence[Moving]:
    """Linear in the operands that move, all of them together."""

    def apply(parts: Sequence[Array | None]) -> Array:
        return step.bind(
            *[
                part if part is not None else _zeros_if_real(v)
                for part, v in zip(parts, step.operands, strict=True)
            ]
        )[0]

    return [_by_order(interpreter, step, apply)]


def _reduce_sum(interpreter: Interpreter, step: Step) -> Sequence[Moving]:
    value = step.moving[0]
    if step.results[0].ndim == 0 and not value.is_affine:
        return [_summed(step, value, value.coefficients)]
    return _linear(interpreter, step)


def _dot_general(interpreter: Interpreter, step: Step) -> Sequence[Moving]:
    a, b = step.operands
    if isinstance(a, Moving) and isinstance(b, Moving):
        return [_product(step, expanded(a), expanded(b), interpreter.order)]
    value: Any = a if isinstance(a, Moving) else b
    weights: Any = b if isinstance(a, Moving) else a
    if value.base.ndim == weights.ndim == 1 and not value.is_affine:
        return [_summed(step, value, [multiply(c, weights) for c in value.coefficients])]

    def apply(parts: Sequence[Array | None]) -> Array:
        return step.bind(
            *[v if p is None else p for p, v in zip(parts, step.operands, strict=True)]
        )[0]

    return [_by_order(interpreter, step, apply)]


def _summed(step: Step, value: Moving, coefficients: Sequence[Coefficient]) -> Moving:
    """The sum over all entries of sum_k c_k (s t)^k: matrix products of c_k and s^k.

    A product with ones takes a third of the time of XLA's own sum on CPUs, which is not vectorised.
    """
    slope = jnp.ones((), value.base.dtype) if value.slope is None else value.slope
    sums = tuple(
        None if c is None else jnp.vdot(filled(c, value.base), filled(power, value.base))
        for c, power in zip(coefficients, slope_powers(slope, len(coefficients)), strict=True)
    )
    return Moving(step.results[0], sums)


def _product(step: Step, a: Moving, b: Moving, order: int) -> Moving:
    """sum_i a_i b_{k-i}, each term a matrix product."""
    coefficients = []
    for k in range(1, order + 1):
        total: Coefficient = None
        for i in range(k + 1):
            left, right = a.series[i], b.series[k - i]
            if left is not None and right is not None:
                term = step.bind(filled(left, a.base), filled(right, b.base))[0]
                total = add(total, term)
        coefficients.append(total)
    return Moving(step.results[0], tuple(coefficients))


def _by_order(interpreter: Interpreter, step: Step, apply: Callable) -> Moving:
    """`apply` to the slopes of affine operands, or to the coefficients of every order."""
    if all(v.is_affine for v in step.moving):
        slopes = [velocity(v) if isinstance(v, Moving) else None for v in step.operands]
        return affine(step.results[0], apply(slopes), interpreter.order)
    operands = [full(v) if isinstance(v, Moving) else None for v in step.operands]
    coefficients = [
        apply([None if v is None else v[k] for v in operands])
        for k in range(1, interpreter.order + 1)
    ]
    return Moving(step.results[0], tuple(coefficients))


def _convert(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return [
        first,
        *[
            c if c is None or isinstance(c, float) else lax.convert_element_type(c, first.dtype)
            for c in operands[0][1:]
        ],
    ]


def _convert_step(interpreter: Interpreter, step: Step) -> Sequence[Moving | None]:
    value, result = step.moving[0], step.results[0]
    if not jnp.issubdtype(result.dtype, jnp.floating):
        return [None]
    converted = interpreter.act(step)
    slope = None if value.slope is None else lax.convert_element_type(value.slope, result.dtype)
    return [Moving(result, converted.coefficients, slope)]


def _zeros_if_real(value: Any) -> Array:
    return jnp.zeros_like(value) if jnp.issubdtype(value.dtype, jnp.floating) else value


RULES = {
    "reduce_sum": _reduce_sum,
    "dot_general": _dot_general,
    "convert_element_type": _convert_step,
    "reduce_precision": _linear,
    "cumsum": _linear,
    "scatter-add": _linear,
    "reduce_window_sum": _linear,
}
ELEMENTWISE = {"convert_element_type": _convert}
