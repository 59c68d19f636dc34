"""A target from whatever a user passes as one."""

import functools
import types
from typing import Any

from steinwise.errors import InputError
from steinwise.target.autodiff import Target
from steinwise.target.base import AbstractTarget


def as_target(target: Any) -> AbstractTarget:
    """A target, or a plain log density as a target."""
    if isinstance(target, AbstractTarget):
        return target
    if isinstance(target, types.FunctionType):
        return _target_of_function(target)
    if callable(target):
        density: Any = target
        return Target(density)
    raise InputError(
        f"target is of type {type(target).__name__}: expected a log density (a JAX-traceable "
        "function of one draw), sw.Target(...), sw.Target.from_score(...) or sw.Gaussian(...)."
    )


@functools.lru_cache(maxsize=16)  # the last few functions need not be compiled again
def _target_of_function(function: types.FunctionType) -> Target:
    return Target(function)
