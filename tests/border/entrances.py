"""The public functions and classes, found by inspection, with the roles of their arguments."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from operator import attrgetter
from typing import Any, Literal, get_args, get_origin

import numpy as np

import steinwise as sw
from steinwise._internal.lazy import modules_of_names
from steinwise.optimise.point_search import STARTS
from tests.border import roles
from tests.border.roles import Role, choice, some_of, whole

# An argument of this name has this role, whatever function it belongs to ...
ROLES: dict[str, Role] = {
    "alpha": roles.LEVEL,
    "balanced": roles.FLAG,
    "bandwidth": roles.BANDWIDTH,
    "bandwidths": roles.BANDWIDTHS,
    "bases": some_of("shape", "shift", "tails"),
    "batch_length": whole(),
    "bias": roles.AT_LEAST_0.also(*roles.refused(1, 1.5)),
    "bins": whole(2),
    "blocks": roles.BLOCKS,
    "candidates": whole(STARTS),
    "chains": whole(10),
    "cells": whole(2),
    "components": whole(),
    "conditional": roles.CONDITIONAL,
    "conditionals": roles.BLOCK_DRAWS,
    "contexts": some_of("alone", "dependence", "interaction"),
    "coordinate": roles.COORDINATE,
    "coordinates": roles.COORDINATES,
    "covariance": roles.COVARIANCE,
    "data": roles.DATA,
    "degree": whole(),
    "degrees_of_freedom": roles.POSITIVE,
    "directions": roles.FLAG,
    "draws": roles.DRAWS,
    "dtype": choice("float64", "float32"),
    "effort": choice("quick", "standard", "full"),
    "entropy": roles.AT_LEAST_0,
    "epochs": whole(0),
    "evaluations": roles.POSITIVE.also(*roles.refused(0.5)),
    "every_line": roles.FLAG,
    "exponent": roles.POSITIVES,
    "false_alarm": roles.SHARE,
    "features": whole(),
    "fn": roles.FUNCTION,
    "functions": roles.FUNCTIONS,
    "gamma": roles.POSITIVE.also(*roles.refused(1.5)),
    "gradient": roles.FUNCTION,
    "graph": roles.GRAPH,
    "hidden": whole(),
    "host": roles.FLAG,
    "indent": whole(0).or_none(),
    "independent": roles.FLAG,
    "init": roles.FUNCTION,
    "k": whole(),
    "keep": roles.FUNCTION,
    "kernel": roles.KERNEL,
    "landmarks": whole(),
    "largest": whole(),
    "learning_rate": roles.POSITIVE,
    "left": roles.KERNEL,
    "level": roles.SHARE,
    "linear": roles.FLAG,
    "lines": roles.FUNCTION,
    "locations": roles.LOCATIONS,
    "log_density": roles.FUNCTION,
    "log_likelihood": roles.FUNCTION,
    "log_prior": roles.FUNCTION,
    "m": whole(),
    "max_iterations": whole(),
    "mean": roles.MEAN,
    "memory": roles.MEMORY,
    "method": Role("ksd", roles.refused("ksdd", "", None, 3, sw.methods.KSD, ["ksd"], object())),
    "models": roles.MODELS,
    "modes": roles.FLAG,
    "n_atoms": whole(),
    "n_bootstrap": whole().also(*roles.refused(10**30, 10**12, words=("n_bootstrap",))),
    "n_draws": whole(),
    "names": roles.NAMES,
    "new_data": roles.FLAG,
    "noisy": roles.FLAG,
    "optimise": roles.FLAG,
    "other": roles.COORDINATE,
    "points": whole(),
    "pooled": roles.FLAG,
    "position": roles.FUNCTION,
    "preconditioner": roles.PRECONDITIONER,
    "prior": roles.FUNCTION,
    "progress": roles.FLAG,
    "quantiles": roles.QUANTILES,
    "regularised": roles.FLAG,
    "repetitions": whole(10),
    "reverse": roles.FUNCTION,
    "right": roles.KERNEL,
    "sampler": roles.FUNCTION,
    "scale": roles.POSITIVES,
    "score": roles.FUNCTION,
    "scores": roles.SCORES,
    "seed": roles.SEED,
    "simulate": roles.FUNCTION,
    "size": whole(),
    "source": roles.SOURCE,
    "split": roles.SPLIT,
    "splits": whole(),
    "standardise": roles.FLAG,
    "start": roles.START,
    "step": roles.FUNCTION,
    "step_size": roles.POSITIVE,
    "steps": whole(),
    "strength": roles.SHARE,
    "summary": roles.SUMMARY,
    "support": roles.SUPPORT,
    "sweeps": whole(),
    "target": roles.TARGET,
    "target_draws": roles.TARGET_DRAWS,
    "theta0": roles.THETA,
    "thin": whole(),
    "ties": roles.AT_LEAST_0,
    "tolerance": roles.SHARE,
    "train": roles.SHARE,
    "value": roles.POSITIVES,
    "warmup": whole(0),
    "waves": whole(),
}
# ... but for these, where the same word means something else
DIRECTIONS = Role(
    None,
    roles.refused(
        3, "a", [], np.zeros(3), np.full((2, 2), np.nan), object(), words=("directions",)
    ),
)
MODE_STARTS = Role(
    None,
    roles.refused(3, "a", [], np.zeros(3), np.zeros((0, 2)), np.full((2, 2), np.nan), object()),
)
ROLES_OF_ONE: dict[tuple[str, str], Role] = {
    ("Comparison.difference", "name"): roles.SET_NAME,
    ("Comparison.difference", "other"): roles.SET_NAME,
    ("Target", "conditionals"): roles.FUNCTION,
    ("Target.from_log_density", "conditionals"): roles.FUNCTION,
    ("compare", "draws"): roles.SETS,
    ("conditionals.Transported", "bins"): whole().also(*roles.refused(3, 64)),
    ("conditionals.Auto", "candidates"): roles.STAND_INS,
    ("graphs.coupled_blocks", "draws"): roles.PLACES,
    ("graphs.couplings", "draws"): roles.PLACES,
    ("graphs.markov_graph", "draws"): roles.PLACES,
    ("kccsd", "kernel"): roles.KERNELS,
    ("methods.KCCSD", "kernel"): roles.KERNELS,
    ("methods.RFSD", "locations"): roles.LOCATIONS.also(*roles.refused(3)),
    ("methods.SlicedKSD", "directions"): DIRECTIONS,
    ("methods.Transported", "starts"): MODE_STARTS,
    ("points", "draws"): roles.PLACES,
    ("rfsd", "locations"): roles.LOCATIONS.also(*roles.refused(3)),
    ("summary", "sweeps"): whole().or_none(),
    ("support.integers", "high"): roles.WHOLE_END,
    ("support.integers", "low"): roles.WHOLE_END,
    ("support.interval", "high"): replace(roles.INTERVAL_END, good=1.0),
    ("support.interval", "low"): replace(roles.INTERVAL_END, good=0.0),
    ("support.values", "values"): roles.SUPPORT_VALUES,
    ("testing.ExactTarget", "mean"): roles.MOMENTS,
    ("testing.ExactTarget", "name"): roles.MODEL_NAME,
    ("testing.ExactTarget", "names"): roles.TUPLE_OF_NAMES,
    ("testing.ExactTarget", "sd"): roles.MOMENTS.also(*roles.refused([0.0, 1.0], [1.0, -1.0])),
    ("testing.SimulatedModel", "name"): roles.MODEL_NAME,
    ("testing.SimulatedModel", "names"): roles.TUPLE_OF_NAMES,
    ("testing.SimulatedModel", "prior"): replace(roles.FUNCTION, good=roles.simulated),
    ("testing.SimulatedModel", "simulate"): replace(roles.FUNCTION, good=roles.simulated),
    ("testing.assert_calibrated", "model"): roles.SIMULATED_MODEL,
    ("testing.assert_invariant", "functions"): roles.FUNCTIONS_OF_A_POINT,
    ("testing.assert_invariant", "target"): roles.EXACT_TARGET,
    ("testing.assert_posterior_step", "model"): roles.SIMULATED_MODEL,
    ("testing.check_calibration", "model"): roles.SIMULATED_MODEL,
    ("testing.check_invariance", "functions"): roles.FUNCTIONS_OF_A_POINT,
    ("testing.check_invariance", "target"): roles.EXACT_TARGET,
    ("testing.check_posterior_step", "model"): roles.SIMULATED_MODEL,
    ("thin", "draws"): roles.PLACES,
}

# have a default, or follow one that has, for draws that bring their own; plain draws need them
BROUGHT = ("target", "m")

# What no bad value is passed to, and why.
# records that the library makes, and a table that it looks up methods in
RECORDS = {"Samples", "conditionals.Atoms", "conditionals.TrainingData", "kernels.Parts"}
RECORDS |= {"methods.by_name"}
ADAPTERS = {name for name in modules_of_names("steinwise") if name.startswith("from_")}
NAMESPACES = ("conditionals", "graphs", "kernels", "methods", "samplers", "support", "testing")
TRACED = "functional"  # runs under the caller's jit, where values are not known

# Classes whose methods users call with arguments, and an object of each.
OBJECTS: dict[str, Callable[[], Any]] = {
    "CheckResult": lambda: sw.check(roles.X, GAUSSIAN, n_bootstrap=99),
    "Comparison": lambda: sw.compare(roles.SETS.good, GAUSSIAN, method="ksd"),
    "Discrepancy": lambda: sw.ksd(roles.X, GAUSSIAN),
    "ParameterFit": lambda: sw.fit_parameters(quadratic, roles.X, {"a": 1.0}),
    "samplers.MetropolisWithinGibbs": lambda: sw.samplers.MetropolisWithinGibbs(
        roles.FUNCTION.good, scale=1.0
    ),
}
CONSTRUCTORS = (
    "Samples.of",
    "Target.at_draws",
    "Target.from_log_density",
    "Target.from_score",
)
INTERNAL = {"step", "conditional_draw"}  # of samplers: called under jit
# **options of the one are arguments of the other
FORWARDED = {
    "assert_fits": "check",
    "testing.assert_calibrated": "testing.check_calibration",
    "testing.assert_invariant": "testing.check_invariance",
    "testing.assert_posterior_step": "testing.check_posterior_step",
}
GAUSSIAN = sw.Gaussian(np.zeros(roles.D), np.eye(roles.D))


def quadratic(theta: Any, x: Any) -> Any:
    return -theta["a"] * (x**2).sum()


@cache
def object_of(name: str) -> Any:
    return OBJECTS[name]()


@dataclass(frozen=True)
class Entrance:
    """A public function, the roles of its arguments, and arguments that are right."""

    name: str
    function: Callable
    arguments: dict[str, Role | None]
    required: tuple[str, ...]

    def call(self, argument: str, value: Any) -> Any:
        """Call the function with one argument of ours, and the least of others, all right."""
        given = {name: self.arguments[name].good for name in self.required}  # type: ignore[union-attr]
        return self.function(**{**given, argument: value})


@cache
def entrances() -> dict[str, Entrance]:
    """Every public function and class by its name below `steinwise`, and every method for users."""
    found = [_entrance(name, one) for name, one in _public()]
    for name in CONSTRUCTORS:
        owner, method = name.split(".")
        found.append(_entrance(name, getattr(getattr(sw, owner), method)))
    for name in OBJECTS:
        owner = sw
        for part in name.split("."):
            owner = getattr(owner, part)
        for method, function in inspect.getmembers(owner, inspect.isfunction):
            if not method.startswith("_") and method not in INTERNAL:
                found.append(_entrance(f"{name}.{method}", function, owner=name))
    return {one.name: one for one in found if one.arguments}


def _entrance(name: str, function: Callable, owner: str = "") -> Entrance:
    parameters = dict(inspect.signature(function).parameters)
    if name in FORWARDED:
        parameters = {**inspect.signature(attrgetter(FORWARDED[name])(sw)).parameters, **parameters}
    parameters.pop("self", None)
    starred = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = {key: one for key, one in parameters.items() if one.kind not in starred}

    def call(**arguments: Any) -> Any:
        if owner:
            return function(object_of(owner), **arguments)
        made = function(**arguments)
        if name.startswith("methods."):  # some options depend on the draws
            return sw.check(roles.X, roles.TARGET.good, method=made, independent=True)
        return made

    return Entrance(
        name,
        call,
        {key: _role(name, one) for key, one in parameters.items()},
        tuple(key for key, one in parameters.items() if key in BROUGHT or one.default is one.empty),
    )


def _role(entrance: str, parameter: inspect.Parameter) -> Role | None:
    if get_origin(parameter.annotation) is Literal:
        role = choice(*get_args(parameter.annotation))
    else:
        role = ROLES_OF_ONE.get((entrance, parameter.name)) or ROLES.get(parameter.name)
    may_be_none = parameter.default is None and parameter.name not in BROUGHT
    return role.or_none() if role is not None and may_be_none else role


def _public() -> Iterator[tuple[str, Callable]]:
    for name in modules_of_names("steinwise"):
        if name not in (*ADAPTERS, *NAMESPACES, *RECORDS, TRACED) and _is_called(getattr(sw, name)):
            yield name, getattr(sw, name)
    for namespace in NAMESPACES:
        module = getattr(sw, namespace)
        home = "" if hasattr(module, "__all__") else module.__name__
        for name in getattr(module, "__all__", dir(module)):
            one, full = getattr(module, name), f"{namespace}.{name}"
            imported = home and getattr(one, "__module__", "") != home
            if not (name.startswith("_") or imported or full in RECORDS) and _is_called(one):
                yield full, one


def _is_called(one: Any) -> bool:
    """Whether users call it: a function, or a class of which they make objects."""
    if not isinstance(one, type):
        return inspect.isfunction(one)
    made_by_us = one.__module__.startswith("steinwise.results.") or issubclass(one, Exception)
    return (
        not made_by_us and not inspect.isabstract(one) and not one.__name__.startswith("Abstract")
    )
