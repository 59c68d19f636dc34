"""Squared distances and inner products between all pairs of rows, as matrix products."""

import jax.numpy as jnp
from jaxtyping import Array


def squared_distances(x: Array, y: Array) -> Array:
    """|x_i - y_l|^2 for all pairs of rows."""
    squared = _product_of_columns([-2 * x, _row_sums(x**2), 1.0], [y, 1.0, _row_sums(y**2)])
    return jnp.maximum(squared, 0.0)


def along_difference(x: Array, y: Array, bx: Array, by: Array, offset: Array | float) -> Array:
    """<x_i - y_l, by_l - bx_i> - offset for all pairs of rows."""
    left = [x, bx, -_row_sums(bx * x) - offset, 1.0]
    return _product_of_columns(left, [by, y, 1.0, -_row_sums(by * y)])


def _row_sums(rows: Array) -> Array:
    return jnp.sum(rows, axis=1, keepdims=True)


def _product_of_columns(left: list, right: list) -> Array:
    """The product A B^T of two lists of columns; 1.0 is a column of ones.

    Terms that depend on a row or a column alone are extra columns, so that all is one product.
    """

    def join(columns: list) -> Array:
        rows = columns[0]
        ones = jnp.ones((len(rows), 1), rows.dtype)
        return jnp.concatenate([ones if isinstance(c, float) else c for c in columns], 1)

    return join(left) @ join(right).T
