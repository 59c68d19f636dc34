"""Where the variables of a PyMC model live on their own scale, by the transforms that they have."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from steinwise._internal.optional import require
from steinwise.adapters.common import Variable
from steinwise.adapters.edges import bounded_supports, discrete_supports, refuse_joint_support
from steinwise.target.support import AbstractSupport


def is_discrete(variable: Any) -> bool:
    return variable.dtype.startswith(("int", "uint", "bool"))


def bounded_variables(
    draws: Mapping[str, Variable], model: Any
) -> dict[str, list[AbstractSupport]]:
    """The supports of all entries of those variables that PyMC transforms."""
    transforms = {rv: model.rvs_to_transforms[rv] for rv in model.free_RVs if not is_discrete(rv)}
    ends = {rv: _ends(rv, one) for rv, one in transforms.items() if one is not None}
    found = _ends_at_draws(ends, draws, model)
    return {name: bounded_supports(name, *both) for name, both in found.items()}


def ranges_of_integers(
    draws: Mapping[str, Variable], model: Any
) -> dict[str, list[AbstractSupport]]:
    """The supports of categories, and of variables that are uniform between two whole numbers.

    Beyond the last category, what a model takes by its number may not exist.
    """
    ends = {}
    for rv in model.free_RVs:
        kind = getattr(rv.owner.op, "name", "")
        if kind == "discrete_uniform":
            ends[rv] = rv.owner.op.dist_params(rv.owner)
        elif kind == "categorical":
            (probabilities,) = rv.owner.op.dist_params(rv.owner)
            ends[rv] = 0, probabilities.shape[-1] - 1
    found = _ends_at_draws(ends, draws, model)
    # PyMC's density is 0 beyond an open end
    return {name: discrete_supports(*both)[0] for name, both in found.items()}


def _ends_at_draws(
    ends: Mapping[Any, tuple[Any, Any]], draws: Mapping[str, Variable], model: Any
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The ends of all entries of some variables at every draw, by the variables' names."""
    if not ends:
        return {}
    found = iter(at_draws([end for pair in ends.values() for end in pair], draws, model))
    shapes = {rv.name: draws[rv.name].values.shape for rv in ends}
    return {
        name: (_broadcast(next(found), shape), _broadcast(next(found), shape))
        for name, shape in shapes.items()
    }


def _broadcast(ends: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Ends (chain, draw, ...) of a variable whose entries may share them."""
    missing = (1,) * (len(shape) - ends.ndim)
    return np.broadcast_to(ends.reshape(*ends.shape[:2], *missing, *ends.shape[2:]), shape)


def _ends(rv: Any, transform: Any) -> tuple[Any, Any]:
    """The ends of a variable's entries: numbers, or expressions of PyTensor."""
    general = require("pymc.logprob.transforms", "pymc", "from_pymc")
    own = require("pymc.distributions.transforms", "pymc", "from_pymc")
    known = {
        general.LogTransform: (0.0, np.inf),
        own.LogExpM1: (0.0, np.inf),
        general.LogOddsTransform: (0.0, 1.0),
        general.CircularTransform: (-np.pi, np.pi),
    }
    if type(transform) in known:
        return known[type(transform)]
    if not isinstance(transform, general.IntervalTransform):
        refuse_joint_support(rv.name, f"of PyMC's transform {transform.name!r}")
    low, high = transform.args_fn(*rv.owner.inputs)
    return -np.inf if low is None else low, np.inf if high is None else high


def at_draws(expressions: list[Any], draws: Mapping[str, Variable], model: Any) -> list[np.ndarray]:
    """Numbers or expressions of a model's free variables at all draws, each (chain, draw, ...)."""
    pytensor = require("pytensor", "pymc", "from_pymc")
    tensor = require("pytensor.tensor", "pymc", "from_pymc")
    free = model.free_RVs
    outputs = [tensor.as_tensor_variable(expression) for expression in expressions]
    # a bound may be another free variable, so all of them are inputs
    function = pytensor.function(free, outputs, on_unused_input="ignore", mode="FAST_COMPILE")
    given = [draws[rv.name].values.astype(rv.dtype) for rv in free]
    chains, count = given[0].shape[:2]
    with np.errstate(divide="ignore", invalid="ignore"):
        # a draw at its bound is refused later, by name
        rows = [function(*(v[c, i] for v in given)) for c in range(chains) for i in range(count)]
    stacked = (np.stack(column) for column in zip(*rows, strict=True))
    return [column.reshape(chains, count, *column.shape[1:]) for column in stacked]
