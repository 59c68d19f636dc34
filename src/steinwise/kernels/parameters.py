"""Parameters of kernels, checked where they enter: positive numbers, or one per coordinate."""

from collections.abc import Callable

import jax
import numpy as np
from jax.core import Tracer
from jaxtyping import ArrayLike

from steinwise._internal.validation import as_positive
from steinwise.errors import InputError


def positive_parameter(name: str, otherwise: str = "") -> Callable[[object], np.ndarray]:
    """A converter that takes positive numbers, arrays of them, and JAX tracers as they are."""

    def convert(value: object) -> np.ndarray:
        if isinstance(value, Tracer):
            return value  # type: ignore[return-value]  # a bandwidth under the caller's own jit
        array = as_positive(value)
        if array is None:
            raise InputError(f"{name} is {value!r}: expected positive finite numbers{otherwise}.")
        return value if isinstance(value, jax.Array) else array  # type: ignore[return-value]

    return convert


def require_one_or_each(parameter: ArrayLike, d: int) -> None:
    """A number, or a vector with one entry per coordinate."""
    shape = np.shape(parameter)
    if shape not in ((), (d,)):
        raise InputError(
            f"the kernel has a vector of {shape[0]} parameters for {d} coordinates: give one "
            "number, or one per coordinate."
        )
