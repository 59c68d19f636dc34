"""Derivatives of a JAX log density: the gradient, and slopes along coordinates and directions.

Forward mode fails on functions with a `custom_vjp`, reverse mode on while loops, so each derivative
is available in both modes; `differentiation` finds out which of them a density allows.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

FORWARD, REVERSE = "forward", "reverse"


def gradient(log_density: Callable, mode: str) -> Callable:
    """The gradient of a function of one point."""
    return jax.grad(log_density) if mode == REVERSE else jax.jacfwd(log_density)


def gradient_and_value(log_density: Callable, mode: str) -> Callable:
    """The gradient of a function of one point, and its value there."""

    def value_twice(x: Array) -> tuple[Array, Array]:
        value = log_density(x)
        return value, value

    return (jax.grad if mode == REVERSE else jax.jacfwd)(value_twice, has_aux=True)


def gradient_where_finite(log_density: Callable, mode: str) -> Callable:
    """The gradient of a function of one point; NaN where the function itself is not finite.

    The derivative of log(x) is 1 / x for negative x too, and that of -inf outside a support is 0:
    numbers that no density has.
    """
    derivative = gradient_and_value(log_density, mode)

    def at(x: Array) -> Array:
        slopes, value = derivative(x)
        # slopes that are not finite themselves say which coordinate is to blame
        usable = jnp.isfinite(value) | ~jnp.isfinite(slopes).all()
        return jnp.where(usable, slopes, jnp.nan)

    return at


def block_gradient(log_density: Callable, mode: str) -> Callable:
    """`at(x, block, y)`: the derivatives in a block of coordinates, at x with x_block = y."""

    def at(x: Array, block: Array, y: Array) -> Array:
        return gradient_where_finite(lambda t: log_density(x.at[block].set(t)), mode)(y)

    return at


def along_coordinate(
    log_density: Callable, mode: str, x: Array, j: Array, y: Array
) -> tuple[Array, Array]:
    """log p and its derivative along coordinate j, at x with x_j replaced by y."""
    return _value_and_slope(lambda t: log_density(x.at[j].set(t)), mode, y)


def along_direction(
    log_density: Callable, mode: str, x: Array, direction: Array, step: Array
) -> tuple[Array, Array]:
    """log p and its derivative along a direction, at x + step * direction."""
    return _value_and_slope(lambda t: log_density(x + t * direction), mode, step)


def _value_and_slope(line: Callable, mode: str, t: Array) -> tuple[Array, Array]:
    if mode == FORWARD:
        return jax.jvp(line, (t,), (jnp.ones_like(t),))
    return jax.value_and_grad(line)(t)
