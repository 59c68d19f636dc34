"""Series through elementwise functions that are put together from pieces.

Which piece it is depends on the values at order 0. At a tie of a and b everything continues from
the side a >= b. Functions made of several such pieces, for instance
``max(a, b) + log1p(exp(-|a - b|))``, then stay on one side and have the right derivatives there.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from steinwise.target.series.moving import Coefficient, Series, filled, multiply, subtract
from steinwise.target.series.rules.analytic import Rule


def _abs(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    base: Any = operands[0][0]
    sign = jnp.where(base >= 0, 1.0, -1.0).astype(first.dtype)
    return [first, *[multiply(c, sign) for c in operands[0][1:]]]


def _max(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    a, b = operands
    return _choose(a[0] >= b[0], a, b, first)


def _min(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    a, b = operands
    return _choose(a[0] < b[0], a, b, first)


def _clamp(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    low, x, high = operands
    raised = _choose(x[0] >= low[0], x, low, jnp.maximum(x[0], low[0]))
    return _choose(raised[0] <= high[0], raised, high, first)


def _select_n(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    which, *cases = operands
    out: list[Coefficient] = [first]
    for coefficients in list(zip(*cases, strict=True))[1:]:
        if all(c is None for c in coefficients):
            out.append(None)
        else:
            out.append(lax.select_n(which[0], *[filled(c, first) for c in coefficients]))
    return out


def _rem(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    """a - n b, n the whole part of a / b."""
    a, b = operands
    n = jnp.round((a[0] - first) / b[0])
    return [first, *[subtract(c, multiply(e, n)) for c, e in zip(a[1:], b[1:], strict=True)]]


def _choose(where: Array, a: Series, b: Series, first: Array) -> list[Coefficient]:
    out: list[Coefficient] = [first]
    for if_true, if_false in zip(a[1:], b[1:], strict=True):
        if if_true is None and if_false is None:
            out.append(None)
        else:
            pair = (0.0 if c is None else c for c in (if_true, if_false))
            out.append(jnp.where(where, *pair).astype(first.dtype))
    return out


ELEMENTWISE: dict[str, Rule] = {
    "abs": _abs,
    "max": _max,
    "min": _min,
    "clamp": _clamp,
    "select_n": _select_n,
    "rem": _rem,
}
