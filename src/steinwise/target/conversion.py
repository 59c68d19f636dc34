"""A target from whatever a user passes as one."""

from typing import Any

from steinwise.errors import InputError
from steinwise.target.autodiff import Target
from steinwise.target.base import AbstractTarget


def as_target(target: Any) -> AbstractTarget:
    """A target, or a plain log density as a new target.

    Never one that was made before: what a function reads from outside may have changed since.
    """
    if isinstance(target, AbstractTarget):
        return target
    if callable(target):
        density: Any = target
        return Target(density)
    raise InputError(
        f"target is of type {type(target).__name__}: expected a log density (a JAX-traceable "
        "function of one draw), sw.Target(...), sw.Target.from_score(...), "
        "sw.Target.from_log_density(...), sw.Target.at_draws(scores) or sw.Gaussian(...)."
    )
