"""One kernel per coordinate or block: from a single kernel, or from a list."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array

from steinwise._internal.counting import counted
from steinwise.errors import InputError
from steinwise.kernels.base import AbstractKernel
from steinwise.kernels.parameters import require_parameter_shape


def one_per_coordinate(kernel: AbstractKernel, d: int) -> AbstractKernel:
    """The kernel as d univariate kernels: every parameter becomes a vector of length d."""

    def spread(leaf: Array) -> Array:
        leaf = jnp.asarray(leaf)
        require_parameter_shape(leaf, d)
        return jnp.broadcast_to(leaf, (d,))

    return jax.tree.map(spread, kernel)


def require_kernels(kernel: object) -> None:
    """Require one kernel, or a sequence of them."""
    kernels = kernel if isinstance(kernel, Sequence) else [kernel]
    if not kernels or not all(isinstance(k, AbstractKernel) for k in kernels):
        raise InputError(
            f"kernel is {kernel!r}: expected a kernel such as sw.kernels.RBF(1.0), or a list of "
            "kernels, one per coordinate (or per block)."
        )


def as_kernels(kernel: AbstractKernel | Sequence[AbstractKernel], groups: int) -> list | None:
    """The user's kernels, one per coordinate or block; None if there is one for all."""
    if isinstance(kernel, AbstractKernel):
        return None
    if len(kernel) != groups:
        raise InputError(
            f"{counted(len(kernel), 'kernel was', 'kernels were')} given for "
            f"{counted(groups, 'coordinate or block', 'coordinates or blocks')}."
        )
    return list(kernel)
