"""Squared distances and inner products between all pairs of rows, as products of matrices."""

import jax.numpy as jnp
from jaxtyping import Array


def squared_distances(x: Array, y: Array) -> Array:
    """|x_i - y_l|^2 for all pairs of rows."""
    squared = _product_of_columns([-2 * x, _sums(x**2), 1.0], [y, 1.0, _sums(y**2)])
    return jnp.maximum(squared, 0.0)


def along_difference(x: Array, y: Array, bx: Array, by: Array, less: Array | float) -> Array:
    """<x - y, by - bx> - less, for all pairs of rows."""
    left = [x, bx, -_sums(bx * x) - less, 1.0]
    return _product_of_columns(left, [by, y, 1.0, -_sums(by * y)])


def _sums(rows: Array) -> Array:
    return jnp.sum(rows, axis=1, keepdims=True)


def _product_of_columns(left: list, right: list) -> Array:
    """A matrix product of columns side by side; 1.0 is a column of ones."""

    def beside(parts: list) -> Array:
        rows = parts[0]
        ones = jnp.ones((len(rows), 1), rows.dtype)
        return jnp.concatenate([ones if isinstance(part, float) else part for part in parts], 1)

    return beside(left) @ beside(right).T
