"""First calls of the user's functions: errors name the function that failed."""

from collections.abc import Callable
from typing import Any

import jax

from steinwise.errors import InputError, TargetError

IN_NUMPY = "A function in NumPy, called with a Generator, needs host=True."
IN_JAX = "Its arguments are in NumPy, since host=True; a function in JAX needs host=False."


def traced(call: str, function: Callable, *arguments: Any, hint: str = "") -> Any:
    """The shapes that a JAX function returns; `call` is how it is called: "step(key, x)"."""
    try:
        return jax.eval_shape(function, *arguments)
    except (InputError, TargetError):
        raise
    except Exception as error:
        raise _failed(f"{call} could not be traced by JAX", call, error, hint) from error


def called(call: str, function: Callable, *arguments: Any, hint: str = "") -> Any:
    """What a function of the user's returns."""
    try:
        return function(*arguments)
    except (InputError, TargetError):
        raise
    except Exception as error:
        raise _failed(f"{call} failed", call, error, hint) from error


def require_one_number(call: str, shapes: Any) -> None:
    """Require that a traced function returns a single number."""
    if getattr(shapes, "size", 0) != 1:
        came = getattr(shapes, "shape", None)
        came = f"has shape {came}" if came is not None else f"is of type {type(shapes).__name__}"
        raise InputError(f"{call} {came}: expected one number.")


def _failed(what: str, call: str, error: Exception, hint: str) -> InputError:
    reason = (str(error).strip().splitlines() or [""])[0]
    told = f"{what}: {type(error).__name__}: {reason}".rstrip(". :")
    return InputError(f"{told}. Expected a function that is called as {call}. {hint}".rstrip())
