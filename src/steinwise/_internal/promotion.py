"""Functions that run whatever the user has set for JAX's promotion of ranks and dtypes.

With "raise" and "strict" JAX raises where (n, d) meets (d,) or float32 meets float64. The settings
change no number. They are meant for the user's code, and ours relies on both.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import jax

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def with_promotion(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Let ranks and dtypes be promoted within a function."""

    @wraps(function)
    def promoting(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
            return function(*args, **kwargs)

    return promoting
