"""Kernels and points in the precision of a computation, converted without losing digits."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from steinwise.kernels.base import AbstractKernel


def robust_centre(x: Any) -> Any:
    """The median of nine evenly spaced rows: a point among them that outliers do not move."""
    nine = x[np.linspace(0, len(x) - 1, 9).round().astype(int)]
    return (np if isinstance(x, np.ndarray) else jnp).median(nine, axis=0)


def in_precision_of(x: Array, kernel: AbstractKernel) -> AbstractKernel:
    """The kernel with parameters of the dtype of x: a float64 bandwidth must not widen float32."""

    def cast(leaf: Array) -> Array:
        floating = not isinstance(leaf, str) and jnp.issubdtype(jnp.result_type(leaf), jnp.floating)
        return jnp.asarray(leaf, x.dtype) if floating else leaf

    return jax.tree.map(cast, kernel)


def cast_centred(kernel: AbstractKernel, dtype: str, *points: np.ndarray) -> list[np.ndarray]:
    """Points in this precision, moved towards 0 together before they are rounded.

    They are moved only if the kernel is translation invariant.

    >>> from steinwise.kernels import RBF
    >>> cast_centred(RBF(), "float32", np.array([[1e9], [1e9 + 1]]))[0].tolist()
    [[0.0], [1.0]]
    """
    if np.dtype(dtype) == np.float64:
        return list(points)
    centre = robust_centre(points[0]) if kernel.translation_invariant else 0.0
    return [(rows - centre).astype(dtype) for rows in points]
