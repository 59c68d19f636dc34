"""How a JAX log density can be differentiated, found out once by abstract evaluation.

Abstract evaluation traces the function without computing anything, so a density that fails does so
here, with a message that names the likely cause, before any draw is evaluated.
"""

import functools
import warnings
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from steinwise._internal.compiled import precision
from steinwise.errors import SteinwiseWarning, TargetError
from steinwise.target.derivatives import FORWARD, REVERSE, along_coordinate, gradient


class DifferentiationPlan(NamedTuple):
    """The precision and the modes of differentiation in which a density can be traced."""

    wide: bool  # 64 bit; otherwise 32 bit, the caller's precision when the plan was made
    dtype: str
    score: str  # the mode for the gradient: FORWARD or REVERSE
    line: str  # the mode for slopes along lines


def plan_differentiation(log_density: Callable, d: int) -> DifferentiationPlan:
    """Try 64 bit, then the caller's precision; reverse mode first for scores, forward for lines."""
    ambient_is_wide = jax.dtypes.canonicalize_dtype(np.float64) == np.float64
    first_error: Exception | None = None
    for wide in (True,) if ambient_is_wide else (True, False):
        with precision(wide):
            try:
                jax.eval_shape(log_density, jax.ShapeDtypeStruct((d,), _float(wide)))
            except Exception as error:  # kept, and raised below if nothing else works
                first_error = first_error or error
                continue
            _check_output(log_density, d, wide)
            score = _first_mode_that_traces(
                {mode: gradient(log_density, mode) for mode in (REVERSE, FORWARD)}, d, wide
            )
            line = _first_mode_that_traces(
                {
                    mode: functools.partial(_along_first_coordinate, log_density, mode)
                    for mode in (FORWARD, REVERSE)
                },
                d,
                wide,
            )
        if not wide:
            warnings.warn(
                "the log density cannot be traced in 64 bit (a float32 scan carry, cond branch or "
                f"literal dtype inside it: {_first_line(first_error)}). It is evaluated in "
                "float32, so scores carry about 7 digits. To have 64 bit, let its dtypes follow "
                "that of its input, x.dtype.",
                SteinwiseWarning,
                stacklevel=2,
            )
        return DifferentiationPlan(wide, "float64" if wide else "float32", score, line)
    raise TargetError(
        f"the log density failed on one draw of shape ({d},): {type(first_error).__name__}: "
        f"{_first_line(first_error)} It must take one draw, not a batch, and use jax.numpy. Does "
        f"it expect another number of coordinates than the {d} of the draws? A function that runs "
        "only in NumPy or PyTorch can be passed to sw.Target.from_score."
    ) from first_error


def check_lines(
    lines: Callable, d: int, plan: DifferentiationPlan, block: int | None = None
) -> None:
    """Try the user's `lines(x, j, y)` on one coordinate, or on a block of this size."""
    shape = () if block is None else (block,)
    kind = "an integer j and a scalar y" if block is None else f"a block: j and y of shape {shape}"
    with precision(plan.wide):
        x = jax.ShapeDtypeStruct((d,), _float(plan.wide))
        j = jax.ShapeDtypeStruct(shape, np.int32)
        y = jax.ShapeDtypeStruct(shape, _float(plan.wide))
        try:
            out = jax.eval_shape(lines, x, j, y)
        except Exception as error:
            raise TargetError(
                f"lines(x, j, y) failed on x of shape ({d},), {kind}: {_first_line(error)} It must "
                "be JAX-traceable in all three."
            ) from error
    if getattr(out, "shape", None) != shape:
        raise TargetError(
            f"lines(x, j, y) returned {out!r} on x of shape ({d},), {kind}: expected shape "
            f"{shape}, the derivative of the log density along j at x with x_j replaced by y."
        )


def _check_output(log_density: Callable, d: int, wide: bool) -> None:
    out = jax.eval_shape(log_density, jax.ShapeDtypeStruct((d,), _float(wide)))
    if not isinstance(out, jax.ShapeDtypeStruct) or out.shape != ():
        raise TargetError(
            f"the log density returned {out!r} for one draw of shape ({d},): expected a scalar, "
            "shape (). Sum over the coordinates (jnp.sum), or drop the batch axis: it is called "
            "with one draw at a time."
        )
    if not jnp.issubdtype(out.dtype, jnp.floating):
        raise TargetError(f"the log density returned dtype {out.dtype}: expected a real float.")


def _first_mode_that_traces(derivatives: dict[str, Callable], d: int, wide: bool) -> str:
    errors = []
    for mode, derivative in derivatives.items():
        try:
            # under vmap, as it will run: forward mode through a custom_vjp fails only there
            jax.eval_shape(jax.vmap(derivative), jax.ShapeDtypeStruct((1, d), _float(wide)))
        except Exception as error:  # both are reported below
            errors.append(error)
        else:
            return mode
    raise TargetError(
        "the log density can be evaluated but not differentiated, neither in forward nor in "
        f"reverse mode: {_first_line(errors[0])} / {_first_line(errors[1])} Pass its score to "
        "sw.Target.from_score, or its conditional scores as lines=."
    ) from errors[0]


def _along_first_coordinate(log_density: Callable, mode: str, x: Array) -> tuple[Array, Array]:
    return along_coordinate(log_density, mode, x, jnp.int32(0), x[0])


def _float(wide: bool) -> type:
    return np.float64 if wide else np.float32


def _first_line(error: Exception | None) -> str:
    return (str(error).strip().splitlines() or [""])[0]
