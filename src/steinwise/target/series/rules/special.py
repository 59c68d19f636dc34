"""Series through error and gamma functions."""

import math
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array
from scipy.special import bernoulli

from steinwise.target.series.moving import Coefficient, Series, multiply
from steinwise.target.series.recurrences import (
    composed,
    exponential,
    integrated,
    product_at,
    solved,
    square,
    square_at,
)
from steinwise.target.series.rules.analytic import Rule

# Stirling's series is used SHIFT above the argument, with so many terms that the first one left out
# is below 1e-16 of the sum at all orders to 10.
SHIFT = 16
STIRLING_TERMS = 11


def _erf(sign: float) -> Rule:
    """y' = sign 2 / sqrt(pi) exp(-x^2) x'."""

    def rule(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
        x = operands[0]
        exponent = [multiply(c, -1.0) for c in square(x)]
        slope = sign * 2 / math.sqrt(math.pi) * jnp.exp(exponent[0])
        return integrated(x, first, exponential(exponent, slope))

    return rule


def _erf_inv(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    """y' = w x' with w = sqrt(pi) / 2 exp(y^2), that is w' = w (y^2)'."""
    w: list[Coefficient] = [math.sqrt(math.pi) / 2 * jnp.exp(first * first)]
    slopes: list[Coefficient] = []  # of y^2

    def latest(y: list[Coefficient]) -> Coefficient:
        k = len(y) - 1
        if k > 0:
            slopes.append(multiply(square_at(y, k), float(k)))
            w.append(multiply(product_at(slopes, w, k - 1), 1 / k))
        return w[k]

    return solved(operands[0], first, latest)


def _lgamma(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    x = operands[0]
    higher = log_gamma_coefficients(jnp.asarray(x[0]), len(x) - 1)
    return composed([first, lax.digamma(x[0]), *higher], x)


def _digamma(operands: Sequence[Series], first: Array, _: dict) -> list[Coefficient]:
    x = operands[0]
    higher = log_gamma_coefficients(jnp.asarray(x[0]), len(x))
    return composed([first, *[k * c for k, c in enumerate(higher, 2)]], x)


def log_gamma_coefficients(x: Array, order: int) -> list[Array]:
    """The Taylor coefficients of log Gamma at x > 0, of orders 2 to `order`; NaN elsewhere.

    With z = x + n, of order k,

        (-1)^k [sum_{i < n} (x + i)^-k / k + z^(1-k) / (k (k-1)) + z^-k / (2 k)
                + sum_j B_2j (2j + k - 2)! / ((2j)! k!) z^(1-k-2j)],

    sums of positive numbers but for the last, small one. All orders share a few divisions and no
    other function: JAX's polygamma has a series of powers for each order, which takes seconds to
    compile.
    """
    orders = np.arange(2, order + 1)

    def add_shift(i: Array, sums: tuple[Array, ...]) -> tuple[Array, ...]:
        inverse = 1 / (x + i)
        term, out = inverse, []
        for total in sums:
            term = term * inverse
            out.append(total + term)
        return tuple(out)

    shifted = lax.fori_loop(0, SHIFT, add_shift, tuple(jnp.zeros_like(x) for _ in orders))
    inverse = 1 / (x + SHIFT)
    squared = inverse * inverse
    tail = jnp.zeros((len(orders), *x.shape), x.dtype)  # of all orders at once
    for ways in reversed(_stirling_factors(order)):
        tail = squared * (tail + ways.reshape(-1, *[1] * x.ndim).astype(x.dtype))
    valid = jnp.where(x > 0, 1.0, np.nan).astype(x.dtype)
    out, z_power = [], valid * inverse  # z^(1 - k)
    for k, total, rest in zip(orders.tolist(), shifted, tail, strict=True):
        stirling = z_power * (1 / (k * (k - 1)) + inverse / (2 * k) + rest)
        out.append((-1.0) ** k * (total / k + stirling))
        z_power = z_power * inverse
    return out


def _stirling_factors(order: int) -> list[np.ndarray]:
    """B_2j (2j + k - 2)! / ((2j)! k!), an array over k from 2 for every j from 1."""
    numbers = bernoulli(2 * STIRLING_TERMS)
    factorial = math.factorial
    return [
        np.array(
            [
                numbers[2 * j] * (factorial(2 * j + k - 2) / (factorial(2 * j) * factorial(k)))
                for k in range(2, order + 1)
            ]
        )
        for j in range(1, STIRLING_TERMS + 1)
    ]


ELEMENTWISE: dict[str, Rule] = {
    "erf": _erf(1.0),
    "erfc": _erf(-1.0),
    "erf_inv": _erf_inv,
    "lgamma": _lgamma,
    "digamma": _digamma,
}
