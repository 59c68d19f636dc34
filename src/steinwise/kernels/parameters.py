"""Checks of the parameters of kernels: positive numbers, or one per coordinate."""

from collections.abc import Callable

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import ArrayLike

from steinwise._internal.counting import counted
from steinwise._internal.validation import as_positive
from steinwise.errors import InputError


def positive_parameter(name: str, alternative: str = "") -> Callable[[object], np.ndarray]:
    """A converter for positive numbers and arrays of them; JAX tracers pass through.

    `alternative` is added to the error message: what else may be given.
    """

    def convert(value: object) -> np.ndarray:
        if isinstance(value, Tracer):
            return value  # type: ignore[return-value]  # a bandwidth under the caller's own jit
        array = as_positive(value)
        if array is None:
            raise InputError(
                f"{name} is {value!r}: expected positive finite numbers, from 1e-70 to "
                f"1e70{alternative}."
            )
        return value if isinstance(value, jax.Array) else array  # type: ignore[return-value]

    return convert


def require_parameter_shape(parameter: ArrayLike, d: int) -> None:
    """Require a number, or a vector with one entry per coordinate."""
    shape = np.shape(parameter)
    if shape not in ((), (d,)):
        raise InputError(
            f"the kernel has a vector of {counted(shape[0], 'parameter')} for "
            f"{counted(d, 'coordinate')}: pass one number, or one per coordinate."
        )
