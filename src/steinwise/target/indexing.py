"""Reads outside an array, which JAX answers with the nearest entry.

A density of three coordinates takes draws of two without complaint: `x[2]` is `x[1]` then, and
correct draws are rejected. So the density is tried on one draw, with its indices checked.
"""

from collections.abc import Callable

import jax
import numpy as np
from jax.experimental import checkify
from jaxtyping import Float

from steinwise._internal.compiled import precision
from steinwise.errors import TargetError

READS = ("dynamic_slice", "gather[")  # in a jaxpr; indices that are known to be inside make neither
# Where these occur, someone chose what happens outside (x.at[i].get(mode=...)), or wrote to an
# array, where JAX leaves out what is outside: then an index outside may be meant.
CHOSEN = ("GatherScatterMode.FILL_OR_DROP", "GatherScatterMode.CLIP")


def require_indices_inside(
    log_density: Callable, draw: Float[np.ndarray, " d"], wide: bool
) -> None:
    """Raise where the density reads outside an array on this draw.

    Densities that cannot be transformed for the purpose are not checked.
    """
    x = draw.astype(np.float64 if wide else np.float32)
    with precision(wide):
        jaxpr = str(jax.make_jaxpr(log_density)(x))
        if not any(read in jaxpr for read in READS) or any(mode in jaxpr for mode in CHOSEN):
            return
        checked = checkify.checkify(log_density, errors=checkify.index_checks)
        try:
            error, _ = jax.jit(checked)(x)
        except Exception:  # not every function can be transformed; those that run are tested below
            return
        found = error.get()
    if found:
        raise TargetError(
            f"on a draw of shape {draw.shape} the log density reads outside an array: "
            f"{found.strip().splitlines()[0]} JAX takes the nearest entry instead, without a word. "
            f"Does the density expect another number of coordinates than the {len(draw)} of the "
            "draws? Where it is meant, say so: x.at[i].get(mode='clip')."
        )
