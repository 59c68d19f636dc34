"""What the survey of samplers asks of a library: a recipe for each of its samplers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from steinwise.testing import ExactTarget

DRAWS = 10_000  # of all chains together
ADAPTATION = 1000  # steps, the default of NumPyro and PyMC


class Recipe(NamedTuple):
    """How a sampler is run on a target.

    `make(target)` gives a function of the number of steps from one draw to the next, whose value is
    the draws (chain, draw, coordinate), and the settings in words.
    """

    make: Callable[[ExactTarget], tuple[Callable[[int], np.ndarray], str]]
    biased: bool = False  # by design: it has no accept or reject decision
    only: tuple[str, ...] | None = None  # targets that it is for
    most_thinning: int = 50  # steps from one draw to the next


def on_host(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A JAX function as one of NumPy arrays in 64 bit, for samplers that are not made of JAX."""
    compiled = jax.jit(function)

    def call(x: Any) -> Any:
        with jax.enable_x64(True):
            return jax.tree.map(np.asarray, compiled(np.asarray(x, np.float64)))

    return call
