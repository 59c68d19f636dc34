"""How a JAX log density can be differentiated: found out once, by abstract evaluation."""

import functools
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from steinwise.errors import SteinwiseWarning, TargetError

FORWARD, REVERSE = "forward", "reverse"


class Plan(NamedTuple):
    """How the density can be differentiated, found out once by abstract evaluation."""

    wide: bool  # in 64 bit; otherwise in 32 bit, the caller's precision when the plan was made
    dtype: str
    score: str  # FORWARD or REVERSE
    line: str


def precision(wide: bool) -> AbstractContextManager:
    return jax.enable_x64(wide)


def gradient(log_density: Callable, mode: str) -> Callable:
    return jax.grad(log_density) if mode == REVERSE else jax.jacfwd(log_density)


def on_line(p: Callable, mode: str, x: Array, j: Array, y: Array) -> tuple[Array, Array]:
    """log p and its derivative along coordinate j, at x with x_j replaced by y."""
    return _value_and_derivative(lambda t: p(x.at[j].set(t)), mode, y)


def on_direction(
    p: Callable, mode: str, x: Array, direction: Array, step: Array
) -> tuple[Array, Array]:
    return _value_and_derivative(lambda t: p(x + t * direction), mode, step)


def _value_and_derivative(line: Callable, mode: str, t: Array) -> tuple[Array, Array]:
    if mode == FORWARD:
        return jax.jvp(line, (t,), (jnp.ones_like(t),))
    return jax.value_and_grad(line)(t)


def block_gradient(log_density: Callable, mode: str) -> Callable:
    def at(x: Array, block: Array, y: Array) -> Array:
        return gradient(lambda t: log_density(x.at[block].set(t)), mode)(y)

    return at


# -- finding out how the density can be differentiated -------------------------------------------


def make_plan(log_density: Callable, d: int) -> Plan:
    """Try 64 bit, then the caller's precision; forward mode for lines, reverse for scores."""
    ambient_is_wide = jax.dtypes.canonicalize_dtype(np.float64) == np.float64
    first_error: Exception | None = None
    for wide in (True,) if ambient_is_wide else (True, False):
        with precision(wide):
            try:
                jax.eval_shape(log_density, jax.ShapeDtypeStruct((d,), _float(wide)))
            except Exception as error:  # kept, and raised below if nothing else works
                first_error = first_error or error
                continue
            _check_shape(log_density, d, wide)
            score = _first_that_traces(
                {m: gradient(log_density, m) for m in (REVERSE, FORWARD)}, (d,), wide
            )
            line = _first_that_traces(
                {
                    m: functools.partial(_at_zero, functools.partial(on_line, log_density, m))
                    for m in (FORWARD, REVERSE)
                },
                (d,),
                wide,
            )
        if not wide:
            warnings.warn(
                "the log density cannot be traced in 64 bit (a float32 scan carry, cond branch or "
                f"literal dtype inside it: {_first_line(first_error)}). It is evaluated in "
                "float32, so scores carry about 7 digits. Let its dtypes follow its input, "
                "x.dtype, to have 64 bit.",
                SteinwiseWarning,
                stacklevel=2,
            )
        return Plan(wide, "float64" if wide else "float32", score, line)
    raise TargetError(
        f"the log density failed on one draw of shape ({d},): {type(first_error).__name__}: "
        f"{_first_line(first_error)} It must take one draw, not a batch, and use jax.numpy. Does "
        f"it expect another number of coordinates than the {d} of the draws? A function that only "
        "runs in NumPy or PyTorch goes in by sw.Target.from_score."
    ) from first_error


def _float(wide: bool) -> type:
    return np.float64 if wide else np.float32


def _at_zero(derivative: Callable, x: Array) -> Array:
    return derivative(x, jnp.int32(0), x[0])


def _first_line(error: Exception | None) -> str:
    return (str(error).strip().splitlines() or [""])[0]


def _check_shape(log_density: Callable, d: int, wide: bool) -> None:
    out = jax.eval_shape(log_density, jax.ShapeDtypeStruct((d,), _float(wide)))
    if not isinstance(out, jax.ShapeDtypeStruct) or out.shape != ():
        raise TargetError(
            f"the log density returned {out!r} for one draw of shape ({d},): expected a scalar, "
            "shape (). Sum over the coordinates (jnp.sum), or drop the batch axis: it is called "
            "with one draw at a time."
        )
    if not jnp.issubdtype(out.dtype, jnp.floating):
        raise TargetError(f"the log density returned dtype {out.dtype}: expected a real float.")


def _first_that_traces(candidates: dict[str, Callable], shape: tuple, wide: bool) -> str:
    errors = []
    for mode, function in candidates.items():
        try:
            # under vmap, as it will run: forward mode through a custom_vjp fails only there
            jax.eval_shape(jax.vmap(function), jax.ShapeDtypeStruct((1, *shape), _float(wide)))
        except Exception as error:  # both are reported below
            errors.append(error)
        else:
            return mode
    raise TargetError(
        "the log density can be evaluated but not differentiated, neither in forward nor in "
        f"reverse mode: {_first_line(errors[0])} / {_first_line(errors[1])} Give its score by "
        "sw.Target.from_score, or its conditional scores by lines=."
    ) from errors[0]


def check_lines(lines: Callable, d: int, plan: Plan, block: int | None = None) -> None:
    """Try `lines` on a coordinate, or on a block of some size."""
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
