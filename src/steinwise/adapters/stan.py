"""Stan: models of BridgeStan, and of PyStan 3, whose compiled module is called directly."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from steinwise._internal.optional import require
from steinwise._internal.options import known_options
from steinwise.adapters.common import (
    Variable,
    by_rows,
    host_target,
    labels,
    require_parameters,
    with_models_scale,
)
from steinwise.adapters.containers import read_group, variables
from steinwise.adapters.kept_scores import cmdstan_scores, with_kept_scores
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.target import AbstractTarget

STAN_ERRORS = (RuntimeError, ValueError)  # raised where Stan rejects a point
# A point of the unconstrained space (this number in every coordinate) and a step from it, at which
# no transform saturates: every coordinate visibly moves the entries that depend on it.
PROBE, PROBE_STEP = 0.1, 0.5


class StanFunctions(NamedTuple):
    """What BridgeStan and PyStan have in common."""

    entries: list[tuple[str, tuple[int, ...]]]  # the parameters, entry by entry, in Stan's order
    unconstrain: Callable[[Mapping[str, np.ndarray]], np.ndarray]
    constrain: Callable[[np.ndarray], np.ndarray]
    value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]]


@known_options
def from_stan(
    fit: Any, model: Any, *, group: str = "posterior", independent: bool | None = None
) -> tuple[Samples, AbstractTarget]:
    """Draws and density of a Stan model, on Stan's unconstrained space.

    Parameters
    ----------
    fit
        A PyStan fit, a CmdStanPy fit, a dict of arrays (chain, draw, ...), or a container that
        `sw.from_arviz` takes. Transformed parameters, generated quantities and saved warm-up are
        left out.
    model
        A `bridgestan.StanModel` with the data, or the PyStan model that made the fit.
    group
        The group of a container that holds the draws.
    independent
        True if the draws are independent, as those of ADVI or Pathfinder are.

    Returns
    -------
    Samples, Target
        Entries are counted from 0, as in ArviZ: Stan's ``theta[1]`` is ``theta[0]``. Gradients in
        CmdStan's diagnostic files (``save_latent_dynamics=True``) are the scores of the draws, and
        are not evaluated again.

    Examples
    --------
    With BridgeStan and CmdStanPy, where `data` is the same file in both::

        model = bridgestan.StanModel("model.stan", data="data.json")
        result = sw.check(fit, model)  # which is sw.check(*sw.from_stan(fit, model))
    """
    samples, target = unconstrained(_draws(fit, group), model, independent)
    return with_kept_scores(samples, target, cmdstan_scores(fit, samples.n_draws)), target


def unconstrained(
    draws: Mapping[str, Variable], model: Any, independent: bool | None
) -> tuple[Samples, AbstractTarget]:
    """Constrained draws of the parameters, and the density, on the unconstrained space."""
    chains, count = next(iter(draws.values())).values.shape[:2]
    positions = [(c, i) for c in range(chains) for i in range(count)]

    def draw(position: tuple[int, int]) -> dict[str, np.ndarray]:
        return {name: variable.values[position] for name, variable in draws.items()}

    stan = _stan(model, draw((0, 0)))
    shapes: dict[str, tuple[int, ...]] = {}
    for name, index in stan.entries:  # the last entry of a parameter has the largest indices
        shapes[name] = tuple(i + 1 for i in index)
    require_parameters(draws, shapes)
    flat = np.array([_unconstrain(stan, draw(position), position) for position in positions])
    names = _labels(stan, flat.shape[1], draws)
    samples = Samples.of(flat.reshape(chains, count, -1), names=names, independent=independent)
    entries = np.stack([draws[name].values[(..., *index)] for name, index in stan.entries], axis=2)

    def constrain(x: np.ndarray) -> np.ndarray:
        return np.array([stan.constrain(row) for row in x])

    samples = with_models_scale(samples, _entry_labels(stan, draws), entries, constrain)
    stan.value_and_gradient(samples.rows[0])  # at a draw an error is an error, not density 0
    return samples, host_target(by_rows(stan.value_and_gradient, STAN_ERRORS))


def _stan(model: Any, first_draw: Mapping[str, np.ndarray]) -> StanFunctions:
    if hasattr(model, "param_unconstrain"):
        return _bridgestan(model)
    if hasattr(model, "unconstrain_pars"):
        return _pystan(model, first_draw)
    raise InputError(
        f"the model is of type {type(model).__name__}: expected a bridgestan.StanModel, which can "
        'evaluate densities (pip install "steinwise[stan]"), or a PyStan model. The order is '
        "from_stan(fit, model)."
    )


def _bridgestan(model: Any) -> StanFunctions:
    entries = [_entry(name) for name in model.param_names()]

    def unconstrain(draw: Mapping[str, np.ndarray]) -> np.ndarray:
        return model.param_unconstrain(np.array([float(draw[n][i]) for n, i in entries]))

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        return model.log_density_gradient(x, propto=True, jacobian=True)

    return StanFunctions(entries, unconstrain, model.param_constrain, value_and_gradient)


def _pystan(model: Any, first_draw: Mapping[str, np.ndarray]) -> StanFunctions:
    """PyStan's own methods start a web server for every call, at 600 times the cost."""
    models = require("httpstan.models", "stan", "from_stan")
    compiled = models.import_services_extension_module(model.model_name)
    data = model.data

    def unconstrain(draw: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.array(compiled.transform_inits(data, {n: v.tolist() for n, v in draw.items()}))

    def constrain(x: np.ndarray) -> np.ndarray:
        return np.array(compiled.write_array(data, x.tolist(), False, False))

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        point = x.tolist()
        gradient = compiled.log_prob_grad(data, point, True)
        return compiled.log_prob(data, point, True), np.array(gradient)

    # after the parameters come transformed parameters and generated quantities
    entries = [_entry(name) for name in model.constrained_param_names]
    stan = StanFunctions(entries, unconstrain, constrain, value_and_gradient)
    dim = len(_unconstrain(stan, first_draw, (0, 0)))
    return stan._replace(entries=entries[: len(constrain(np.full(dim, PROBE)))])


def _unconstrain(
    stan: StanFunctions, draw: Mapping[str, np.ndarray], position: tuple[int, int]
) -> np.ndarray:
    try:
        return stan.unconstrain(draw)
    except STAN_ERRORS as error:
        raise InputError(
            f"Stan cannot unconstrain draw {position[1]} of chain {position[0]}: {error} Likely "
            "causes: a parameter that is not among the draws; a draw at its bound; draws that were "
            "rounded in a text file and break a constraint (write them with sig_figs=18)."
        ) from error


def _entry(name: str) -> tuple[str, tuple[int, ...]]:
    """Stan's name of an entry as a parameter and an index from 0.

    >>> _entry("L.2.1")
    ('L', (1, 0))
    """
    parameter, *index = name.split(".")
    if ":" in name or not all(i.isdigit() for i in index):
        raise InputError(f"{name} is part of a tuple or a complex number: neither is supported.")
    return parameter, tuple(int(i) - 1 for i in index)


def _entry_labels(stan: StanFunctions, draws: Mapping[str, Variable]) -> list[str]:
    """The names of the entries of all parameters."""
    return [
        label
        for name, index in stan.entries
        for label in labels(
            name, [(axis[i],) for axis, i in zip(draws[name].index, index, strict=True)]
        )
    ]


def _labels(stan: StanFunctions, dim: int, draws: Mapping[str, Variable]) -> list[str]:
    """The names of the unconstrained coordinates.

    Stan does not say to which parameter a coordinate belongs, so each is moved to see which
    entries change. The first of these is an entry of its parameter, since a bound can only depend
    on parameters declared before. The transform of a parameter is elementwise if every coordinate
    moves one entry, each a different one.
    """
    at = np.full(dim, PROBE)
    before = np.asarray(stan.constrain(at))
    moved: dict[str, list[list[tuple[int, ...]]]] = {}  # by parameter, for each coordinate
    for k in range(dim):
        after = np.asarray(stan.constrain(at + PROBE_STEP * (np.arange(dim) == k)))
        changed = [stan.entries[i] for i in np.flatnonzero(after != before)]
        owner = changed[0][0]
        moved.setdefault(owner, []).append([index for name, index in changed if name == owner])
    names = []
    for owner, entries in moved.items():
        distinct = {entry[0] for entry in entries}
        total = sum(name == owner for name, _ in stan.entries)
        if all(len(entry) == 1 for entry in entries) and len(distinct) == len(entries) == total:
            axes = draws[owner].index
            for ((*index,),) in entries:
                names += labels(owner, [(axis[i],) for axis, i in zip(axes, index, strict=True)])
        else:
            names += labels(f"{owner}.unconstrained", [tuple(map(str, range(len(entries))))])
    return names


def _draws(fit: Any, group: str) -> dict[str, Variable]:
    if hasattr(fit, "constrained_param_names") and hasattr(fit, "num_chains"):
        return _pystan_draws(fit)
    if hasattr(fit, "draws_xr"):  # CmdStanPy
        return variables(fit.draws_xr())
    if isinstance(fit, Mapping) and not hasattr(fit, "data_vars") and not hasattr(fit, "children"):
        return {name: Variable.of(values) for name, values in fit.items()}
    return variables(read_group(fit, group))


def _pystan_draws(fit: Any) -> dict[str, Variable]:
    warm_up = -(-fit.num_warmup // fit.num_thin) if fit.save_warmup else 0
    draws = {}
    for name, shape in zip(fit.param_names, fit.dims, strict=True):
        values = np.reshape(fit[name], (*shape, -1, fit.num_chains))  # (..., draw, chain)
        draws[name] = Variable.of(np.moveaxis(values, (-1, -2), (0, 1))[:, warm_up:])
    return draws
