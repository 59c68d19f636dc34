"""Series through primitives that only move entries around: every output entry is an input entry.

They act on coefficients and on slopes alike, so the slope stays apart. Entries that come from
nowhere (padding, a gather out of bounds) and from values that do not move get slope 0.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array

from steinwise.target.series.interpreter import Interpreter, Step
from steinwise.target.series.moving import Coefficient, Moving, filled


def _rearrange(interpreter: Interpreter, step: Step) -> Sequence[Moving]:
    """Any such primitive, whatever its number of operands and outputs."""
    movable = [jnp.issubdtype(_base(v).dtype, jnp.floating) for v in step.operands]
    slopes = [v.slope for v in step.moving]
    keeps_slope = any(slope is not None for slope in slopes)

    def apply(coefficients: Sequence[Coefficient]) -> list[Array]:
        return step.equation.filling(0).bind(
            *[
                filled(c, _base(v)) if m else v
                for c, v, m in zip(coefficients, step.operands, movable, strict=True)
            ]
        )

    def at_order(k: int) -> list[Coefficient]:
        parts = [v.coefficients[k - 1] if isinstance(v, Moving) else None for v in step.operands]
        ones = [p for p, v in zip(parts, step.operands, strict=True) if isinstance(v, Moving)]
        if all(p is None for p in ones):
            return [None] * len(step.results)
        if keeps_slope and all(isinstance(p, float) and p == ones[0] for p in ones):
            return [ones[0]] * len(step.results)  # what does not move has slope 0
        sources = (step.equation, k, *parts)
        return interpreter.remember(sources, lambda: apply(parts))

    orders = [at_order(k) for k in range(1, interpreter.order + 1)]
    new_slopes: list[Array | None] = [None] * len(step.results)
    if keeps_slope:
        parts = [
            None if not isinstance(v, Moving) else 1.0 if v.slope is None else v.slope
            for v in step.operands
        ]
        new_slopes = list(apply(parts))
    return [
        Moving(result, tuple(orders[k][i] for k in range(interpreter.order)), new_slopes[i])
        for i, result in enumerate(step.results)
    ]


def _base(value: Moving | Array) -> Array:
    return value.base if isinstance(value, Moving) else value


RULES = dict.fromkeys(
    [
        "reshape",
        "broadcast_in_dim",
        "transpose",
        "squeeze",
        "expand_dims",
        "slice",
        "rev",
        "copy",
        "copy_p",
        "split",
        "concatenate",
        "pad",
        "stack",
        "unstack",
        "tile",
        "gather",
        "dynamic_slice",
        "scatter",
        "dynamic_update_slice",
        "optimization_barrier",
    ],
    _rearrange,
)
