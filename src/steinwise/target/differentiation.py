"""How a JAX log density can be differentiated, found out once by abstract evaluation.

Abstract evaluation traces the function without computing anything, so a density that fails does so
here, with a message that names the likely cause, before any draw is evaluated.
"""

import functools
import inspect
import sys
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from steinwise._internal.compiled import precision
from steinwise._internal.constants import constants_are_reliable
from steinwise._internal.warn import warn_user
from steinwise.errors import TargetError
from steinwise.target.derivatives import FORWARD, REVERSE, along_coordinate, gradient


class DifferentiationPlan(NamedTuple):
    """The precision and the modes of differentiation in which a density can be traced."""

    wide: bool  # 64 bit; otherwise 32 bit, the caller's precision when the plan was made
    dtype: str
    score: str  # the mode for the gradient: FORWARD or REVERSE
    line: str  # the mode for slopes along lines
    no_derivative: str = ""  # why there is neither, where only values can be computed


def plan_differentiation(log_density: Callable, d: int) -> DifferentiationPlan:
    """Try 64 bit, then the caller's precision; reverse mode first for scores, forward for lines."""
    ambient_is_wide = jax.dtypes.canonicalize_dtype(np.float64) == np.float64
    first_error: Exception | None = None
    for wide in (True,) if ambient_is_wide else (True, False):
        with precision(wide):
            try:
                _trace(log_density, d, wide)
            except Exception as error:  # kept, and raised below if nothing else works
                first_error = first_error or error
                continue
            _check_output(log_density, d, wide)
            scores = {mode: gradient(log_density, mode) for mode in (REVERSE, FORWARD)}
            lines = {
                mode: functools.partial(_along_first_coordinate, log_density, mode)
                for mode in (FORWARD, REVERSE)
            }
            score, no_derivative = _first_mode_that_traces(scores, d, wide)
            line, no_slope = _first_mode_that_traces(lines, d, wide)
        if not wide:
            warn_user(
                "the log density cannot be traced in 64 bit (a float32 scan carry, cond branch or "
                f"literal dtype inside it: {_first_line(first_error)}). It is evaluated in "
                "float32, so scores carry about 7 digits. To have 64 bit, let its dtypes follow "
                "that of its input, x.dtype."
            )
        no_derivative = no_derivative or no_slope
        if no_derivative:
            _require_values(log_density, d, wide, no_derivative)
            warn_user(
                f"{no_derivative} Only its values are used, as with sw.Target.from_log_density: "
                "the default method needs no more, at a higher cost."
            )
        dtype = "float64" if wide else "float32"
        return DifferentiationPlan(wide, dtype, score, line, no_derivative)
    if _raised_by_torch(first_error):
        raise TargetError(
            f"the log density is PyTorch's: on a JAX draw of shape ({d},) it raised "
            f"{type(first_error).__name__}: {_first_line(first_error)}. "
            "sw.check(*sw.from_torch(draws, log_prob)) takes it as it is."
        ) from first_error
    if isinstance(first_error, jax.errors.TracerArrayConversionError):
        raise TargetError(
            "the log density uses NumPy where jax.numpy is needed: on one JAX draw of shape "
            f"({d},) it raised TracerArrayConversionError. Write it with import jax.numpy as np; "
            "or pass a NumPy function of draws (n, d) that returns n values to "
            "sw.Target.from_log_density."
        ) from first_error
    if isinstance(first_error, jax.errors.ConcretizationTypeError):
        raise TargetError(_about_python_values(first_error, d)) from first_error
    required = _required_arguments(log_density)
    if isinstance(first_error, TypeError) and len(required) > 1:
        raise TargetError(_about_arguments(required, d)) from first_error
    raise TargetError(
        f"the log density failed on one draw of shape ({d},): {type(first_error).__name__}: "
        f"{_first_line(first_error).removesuffix('.')}. It must take one draw, not a batch, and "
        f"use jax.numpy. Does it expect another number of coordinates than the {d} of the draws? "
        "A function that runs only in NumPy or PyTorch can be passed to sw.Target.from_score or "
        ".from_log_density."
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


def check_conditionals(conditionals: Callable, d: int, plan: DifferentiationPlan) -> None:
    """Try the user's `conditionals(x, j)` on one coordinate."""
    with precision(plan.wide):
        x = jax.ShapeDtypeStruct((d,), _float(plan.wide))
        j = jax.ShapeDtypeStruct((), np.int32)
        try:
            out = jax.eval_shape(conditionals, x, j)
        except Exception as error:
            raise TargetError(
                f"conditionals(x, j) failed on one draw of shape ({d},) and an integer j: "
                f"{type(error).__name__}: {_first_line(error).removesuffix('.')}. It takes these "
                "two, JAX traces it in both, and it returns the log probabilities of all values of "
                "coordinate j."
            ) from error
    if len(getattr(out, "shape", ())) != 1:
        raise TargetError(
            f"conditionals(x, j) returned {_described(out)} for one draw of shape ({d},): expected "
            "shape (k,), a log probability for each of the k values of coordinate j. It is called "
            "with one draw at a time."
        )


def _trace(log_density: Callable, d: int, wide: bool) -> None:
    """Raise what tracing the density raises."""
    jax.eval_shape(log_density, jax.ShapeDtypeStruct((d,), _float(wide)))
    if constants_are_reliable():
        return
    # otherwise an array of the wrong precision shows only when a derivative is compiled
    rows = jax.ShapeDtypeStruct((1, d), _float(wide))
    try:
        jax.jit(jax.vmap(gradient(log_density, REVERSE))).lower(rows)
    except Exception:  # a while loop, perhaps, which forward mode can do
        jax.jit(jax.vmap(gradient(log_density, FORWARD))).lower(rows)


def _check_output(log_density: Callable, d: int, wide: bool) -> None:
    out = jax.eval_shape(log_density, jax.ShapeDtypeStruct((d,), _float(wide)))
    if out is None:
        raise TargetError(
            "the log density returned None: expected a number. Is its return statement missing?"
        )
    if not isinstance(out, jax.ShapeDtypeStruct) or out.shape != ():
        raise TargetError(
            f"the log density returned {_described(out)} for one draw of shape ({d},): expected a "
            "scalar, shape (). Sum over the coordinates (jnp.sum), or drop the batch axis: it is "
            "called with one draw at a time."
        )
    if not jnp.issubdtype(out.dtype, jnp.floating):
        raise TargetError(f"the log density returned dtype {out.dtype}: expected a real float.")


def _described(out: Any) -> str:
    """What a function returns, by its traced output."""
    if isinstance(out, jax.ShapeDtypeStruct):
        return f"an array of shape {out.shape}"
    return f"a {type(out).__name__}"


def _first_mode_that_traces(
    derivatives: dict[str, Callable], d: int, wide: bool
) -> tuple[str, str]:
    """The mode, and "" or why there is none."""
    errors = []
    for mode, derivative in derivatives.items():
        try:
            # under vmap, as it will run: forward mode through a custom_vjp fails only there
            jax.eval_shape(jax.vmap(derivative), jax.ShapeDtypeStruct((1, d), _float(wide)))
        except Exception as error:  # the message below has those of both modes
            errors.append(error)
        else:
            return mode, ""
    why = " / ".join(dict.fromkeys(_first_line(error).rstrip(".") for error in errors))
    return "", (
        "the log density can be evaluated but not differentiated, neither in forward nor in "
        f"reverse mode: {why}. Its score can be passed to sw.Target.from_score."
    )


def _require_values(log_density: Callable, d: int, wide: bool, no_derivative: str) -> None:
    """Raise unless the density can at least be evaluated at many draws at once."""
    with precision(wide):
        try:
            jax.eval_shape(jax.vmap(log_density), jax.ShapeDtypeStruct((1, d), _float(wide)))
        except Exception as error:
            raise TargetError(
                f"{no_derivative} Nor can it be evaluated at many draws at once (jax.vmap): "
                f"{_first_line(error).rstrip('.')}. A NumPy function of draws (n, d) that returns "
                "n values can be passed to sw.Target.from_log_density."
            ) from error


def _along_first_coordinate(log_density: Callable, mode: str, x: Array) -> tuple[Array, Array]:
    return along_coordinate(log_density, mode, x, jnp.int32(0), x[0])


def _float(wide: bool) -> type:
    return np.float64 if wide else np.float32


def _raised_by_torch(error: Exception | None) -> bool:
    """Whether PyTorch raised an error; its compiled functions have no frame, but a phrase."""
    frames = traceback.walk_tb(None if error is None else error.__traceback__)
    modules = [str(frame.f_globals.get("__name__", "")) for frame, _ in frames]
    inside = any(module.partition(".")[0] == "torch" for module in modules)
    return inside or ("torch" in sys.modules and "must be Tensor" in str(error))


def _required_arguments(function: Callable) -> list[str]:
    """The names of the arguments that a function cannot be called without."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin
        return []
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [one.name for one in parameters if one.kind in kinds and one.default is one.empty]


def _about_arguments(required: list[str], d: int) -> str:
    """What to do about a density that needs more than the draw.

    >>> print(_about_arguments(["a", "b"], 2))
    the log density takes 2 arguments, a and b: expected a function of one array, the draw. Unpack
    it inside: a, b = x.
    """
    first, *others = required
    said = (
        f"the log density takes {len(required)} arguments, {', '.join([first, *others[:-1]])} and "
        f"{others[-1]}: expected a function of one array, the draw."
    )
    if len(required) == d:
        return f"{said} Unpack it inside: {', '.join(required)} = x."
    values = ", ".join(others)
    return f"{said} Give it the others before: lambda {first}: log_density({first}, {values})."


def _about_python_values(error: Exception, d: int) -> str:
    """What to do about a density that asks JAX for a value while it is traced."""
    if isinstance(error, jax.errors.TracerBoolConversionError):
        cause = "a Python if, while, and, or, min or max decides by the values of a draw"
        fix = "jnp.where(condition, a, b), jnp.minimum, jnp.maximum or jax.lax.cond"
    else:
        cause = "float(), int(), range() or the math module takes a plain number out of a draw"
        fix = "jax.numpy on the array itself"
    return (
        f"the log density failed on one draw of shape ({d},): {type(error).__name__}. JAX traces "
        f"it without values, and {cause}. Write it with {fix}; or pass a NumPy function of draws "
        "(n, d) that returns n values to sw.Target.from_log_density."
    )


def _first_line(error: Exception | None) -> str:
    return (str(error).strip().splitlines() or [""])[0]
