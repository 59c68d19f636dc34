"""Series through elementwise analytic functions, by the differential equation each one solves.

A rule takes the series of the operands from order 0, the value at order 0, which is known, and the
primitive's parameters. It returns the series of the result.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from steinwise.target.series.moving import Coefficient, Series, add, multiply, subtract
from steinwise.target.series.recurrences import (
    derivative,
    exponential,
    integrated,
    logarithm,
    power,
    product,
    product_at,
    quotient,
    solved,
    square,
    square_at,
)

Rule = Callable[[Sequence[Series], Any, dict[str, Any]], list[Coefficient]]


def _exp(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return exponential(operands[0], first)


def _exp2(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return exponential([multiply(c, math.log(2)) for c in operands[0]], first)


def _expm1(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return [first, *exponential(operands[0], first + 1)[1:]]


def _log(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return logarithm(operands[0], first)


def _log2(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    natural = logarithm(operands[0], first)
    return [first, *[multiply(c, 1 / math.log(2)) for c in natural[1:]]]


def _log1p(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return logarithm(_plus(operands[0], 1.0), first)


def _logistic(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return solved(operands[0], first, lambda y: subtract(y[-1], square_at(y, len(y) - 1)))


def _tanh(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return solved(operands[0], first, lambda y: _one_minus_square_at(y, len(y) - 1))


def _tan(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    def latest(y: list[Coefficient]) -> Coefficient:
        squared = square_at(y, len(y) - 1)
        return add(squared, 1.0) if len(y) == 1 else squared

    return solved(operands[0], first, latest)


def _pair(operands: Sequence[Series], s: Coefficient, c: Coefficient, sign: float) -> tuple:
    """s and c with s' = c x' and c' = sign s x': sine and cosine, or the hyperbolic ones."""
    slopes, sines, cosines = derivative(operands[0]), [s], [c]
    for k in range(1, len(slopes) + 1):
        next_sine = multiply(product_at(slopes, cosines, k - 1), 1 / k)
        next_cosine = multiply(product_at(slopes, sines, k - 1), sign / k)
        sines.append(next_sine)
        cosines.append(next_cosine)
    return sines, cosines


def _sin(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return _pair(operands, first, jnp.cos(_base(operands)), -1.0)[0]


def _cos(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return _pair(operands, jnp.sin(_base(operands)), first, -1.0)[1]


def _sinh(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return _pair(operands, first, jnp.cosh(_base(operands)), 1.0)[0]


def _cosh(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return _pair(operands, jnp.sinh(_base(operands)), first, 1.0)[1]


def _inverse_function(offset: float, sign: float, exponent: float, scale: float = 1.0) -> Rule:
    """y with y' = scale (offset + sign x^2)^exponent x'."""

    def rule(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
        x = operands[0]
        inner = _plus([multiply(c, sign) for c in square(x)], offset)
        slope = power(inner, exponent, inner[0] ** exponent)
        return integrated(x, first, [multiply(c, scale) for c in slope])

    return rule


def _atan2(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    """z' = (x y' - y x') / (x^2 + y^2)."""
    y, x = operands
    norm = [add(a, b) for a, b in zip(square(x), square(y), strict=True)]
    along_y = integrated(y, first, quotient(x, norm))
    along_x = integrated(x, None, quotient(y, norm))
    return [subtract(a, b) for a, b in zip(along_y, along_x, strict=True)]


def _root(exponent: float) -> Rule:
    def rule(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
        return power(operands[0], exponent, first)

    return rule


def _square(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return [first, *square(operands[0])[1:]]


def _one_minus_square(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    return [first, *[multiply(c, -1.0) for c in square(operands[0])[1:]]]


def _polynomial(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    """Of x, with coefficients that may be series too, the lowest first: by Horner's scheme."""
    x, *coefficients = operands
    out = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        out = [add(a, b) for a, b in zip(product(out, x), coefficient, strict=True)]
    return [first, *out[1:]]


def _integer_pow(operands: Sequence[Series], first: Array, params: dict) -> list[Coefficient]:
    exponent = params["y"]
    if exponent < 0:
        return power(operands[0], float(exponent), first)
    return [first, *_whole_power(operands[0], exponent)[1:]]


def _pow(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    x, exponent = operands
    if any(c is not None for c in exponent[1:]):
        logarithms = logarithm(x, jnp.log(x[0]))
        return exponential(product(exponent, logarithms), first)
    if isinstance(exponent[0], np.ndarray) and exponent[0] in range(1, 9):
        # x ** 2.0: unlike the recurrence of a power, a product does not divide by a base of 0
        return [first, *_whole_power(x, int(exponent[0]))[1:]]
    return power(x, exponent[0], first)


def _whole_power(x: Series, exponent: int) -> Series:
    """x^exponent by repeated squaring."""
    if exponent == 0:
        return [1.0] + [None] * (len(x) - 1)
    if exponent == 1:
        return x
    half = _whole_power(x, exponent // 2)
    squared = square(half)
    return product(squared, x) if exponent % 2 else squared


def _base(operands: Sequence[Series]) -> Any:
    return operands[0][0]


def _plus(x: Series, constant: float) -> list[Coefficient]:
    return [add(x[0], constant), *x[1:]]


def _one_minus_square_at(y: Series, k: int) -> Coefficient:
    squared = multiply(square_at(y, k), -1.0)
    return add(squared, 1.0) if k == 0 else squared


ELEMENTWISE: dict[str, Rule] = {
    "exp": _exp,
    "exp2": _exp2,
    "expm1": _expm1,
    "log": _log,
    "log2": _log2,
    "log1p": _log1p,
    "logistic": _logistic,
    "tanh": _tanh,
    "tan": _tan,
    "sin": _sin,
    "cos": _cos,
    "sinh": _sinh,
    "cosh": _cosh,
    "asin": _inverse_function(1.0, -1.0, -0.5),
    "acos": _inverse_function(1.0, -1.0, -0.5, -1.0),
    "atan": _inverse_function(1.0, 1.0, -1.0),
    "asinh": _inverse_function(1.0, 1.0, -0.5),
    "acosh": _inverse_function(-1.0, 1.0, -0.5),
    "atanh": _inverse_function(1.0, -1.0, -1.0),
    "atan2": _atan2,
    "sqrt": _root(0.5),
    "rsqrt": _root(-0.5),
    "cbrt": _root(1 / 3),
    "square": _square,
    "one_minus_square": _one_minus_square,
    "polynomial": _polynomial,
    "integer_pow": _integer_pow,
    "pow": _pow,
}
