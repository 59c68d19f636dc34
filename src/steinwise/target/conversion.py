"""A target from whatever a user passes as one."""

import inspect
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
    if hasattr(target, "as_target") and not isinstance(target, type):
        return as_target(target.as_target())  # a sw.testing.ExactTarget, which is imported by none
    _refuse_numpyro(target)
    if callable(target):
        density: Any = target
        return Target(density)
    raise InputError(
        f"target is of type {type(target).__name__}: expected a log density (a JAX-traceable "
        "function of one draw), sw.Target(...), sw.Target.from_score(...), "
        "sw.Target.from_log_density(...), sw.Target.at_draws(scores) or sw.Gaussian(...)."
    )


def _refuse_numpyro(target: Any) -> None:
    """Refuse a distribution or a model of NumPyro, which can be called and give no density."""
    kinds = type(target).__mro__
    if any(_is_numpyros(kind) and kind.__name__ == "Distribution" for kind in kinds):
        raise InputError(
            f"target is the distribution {type(target).__name__}: expected its log density, a "
            "function of one draw. Pass its .log_prob; for several coordinates that of a "
            "distribution with an event shape, such as Normal(mean, sd).to_event(1)."
        )
    if inspect.isfunction(target) and _samples_by_numpyro(target):
        raise InputError(
            f"target is a NumPyro model ({target.__name__}), which samples its parameters: "
            "expected a log density, a function of one draw. Pass the run that the draws come "
            "from: sw.check(mcmc), or for a variational fit sw.check(*sw.from_numpyro(svi, "
            "params=svi_result.params, args=(...)))."
        )


def _samples_by_numpyro(function: Any) -> bool:
    """Whether the code of a function names NumPyro and its `sample`."""
    if "sample" not in function.__code__.co_names:
        return False
    used = inspect.getclosurevars(function)
    return any(map(_is_numpyros, [*used.globals.values(), *used.nonlocals.values()]))


def _is_numpyros(thing: Any) -> bool:
    """Whether this is the package, or something of it."""
    home = getattr(thing, "__name__" if inspect.ismodule(thing) else "__module__", "")
    return str(home).partition(".")[0] == "numpyro"
