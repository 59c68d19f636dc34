"""A value that moves along a line: its Taylor series, with the slope kept apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import jax.numpy as jnp
from jaxtyping import Array

# An array that broadcasts to the shape of the base, a float, or None for zero. Any, because
# arithmetic on such a union cannot be typed.
Coefficient: TypeAlias = Any
Series: TypeAlias = Sequence[Coefficient]  # from order 0


class Unsupported(Exception):
    """There is no series through a primitive; the message is the primitive's name."""


@dataclass(frozen=True, eq=False)
class Moving:
    """``base + sum_k coefficients[k - 1] (slope t)^k`` for k from 1 to the order.

    As long as only elementwise functions act on ``base + slope t``, the coefficients depend on the
    base alone: they are the same for all lines through a draw, and only the slopes differ. A slope
    of None is 1.
    """

    base: Array
    coefficients: tuple[Coefficient, ...]
    slope: Array | None = None

    @property
    def series(self) -> tuple[Coefficient, ...]:
        return (self.base, *self.coefficients)

    @property
    def is_affine(self) -> bool:
        return all(c is None for c in self.coefficients[1:])


def affine(base: Array, slope: Array, order: int) -> Moving:
    """``base + slope t``."""
    return Moving(base, (1.0,) + (None,) * (order - 1), slope)


def velocity(value: Moving) -> Array:
    """The coefficient of t, of the shape of the base."""
    first = value.coefficients[0]
    product = multiply(first, value.slope) if value.slope is not None else first
    return filled(product, value.base)


def filled(coefficient: Coefficient, like: Array) -> Array:
    """A coefficient as an array of the shape and dtype of the base."""
    if coefficient is None:
        return jnp.zeros_like(like)
    return jnp.broadcast_to(jnp.asarray(coefficient, like.dtype), like.shape)


def expanded(value: Moving) -> Moving:
    """The same with the slope multiplied into the coefficients."""
    if value.slope is None:
        return value
    powers = slope_powers(value.slope, len(value.coefficients))
    products = tuple(map(multiply, value.coefficients, powers))
    return Moving(value.base, products)


def slope_powers(slope: Array, order: int) -> list[Array]:
    """slope, slope^2, ... up to the order."""
    powers = [slope]
    while len(powers) < order:
        powers.append(powers[-1] * slope)
    return powers


def full(value: Moving) -> list[Array]:
    """All coefficients of t from order 0, each an array of the shape of the base."""
    return [filled(c, value.base) for c in expanded(value).series]


def add(a: Coefficient, b: Coefficient) -> Coefficient:
    if a is None:
        return b
    return a if b is None else a + b


def subtract(a: Coefficient, b: Coefficient) -> Coefficient:
    if b is None:
        return a
    return -b if a is None else a - b


def multiply(a: Coefficient, b: Coefficient) -> Coefficient:
    if a is None or b is None:
        return None
    if isinstance(a, float) and a == 1:
        return b
    return a if isinstance(b, float) and b == 1 else a * b
