"""ArviZ, xarray, netCDF, zarr: draws, with a model or with "unconstrained" and a density."""

from collections.abc import Mapping, Sequence
from typing import Any

from steinwise._internal.escaping import printable
from steinwise._internal.options import known_options
from steinwise.adapters.common import Block, Variable, samples_of
from steinwise.adapters.containers import read_group, variables
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.target import AbstractTarget, as_target

LIBRARIES = ("numpyro", "pymc", "stan", "bridgestan")


@known_options
def from_arviz(
    container: Any,
    model_or_space: Any,
    *,
    target: Any = None,
    var_names: Sequence[str] | str | None = None,
    coords: Mapping[str, Any] | None = None,
    group: str = "posterior",
    independent: bool | None = None,
) -> tuple[Samples, AbstractTarget]:
    """Draws from an ArviZ container, with the density that they are to be checked against.

    A container holds only draws, and those of a posterior are constrained (a standard deviation is
    positive). So the model is needed as well, which knows its transforms and its density; or else
    "unconstrained" and the density of exactly these coordinates.

    Parameters
    ----------
    container
        An InferenceData, a DataTree, an xarray Dataset, or the path of a netCDF or zarr file.
    model_or_space
        A PyMC model, a BridgeStan or PyStan model, a NumPyro MCMC; or "unconstrained".
    target
        Only with "unconstrained": the density, as in `sw.check`. It takes the coordinates in the
        order of `var_names`; within a variable, the last axis varies fastest.
    var_names
        The variables. A model needs all of its parameters, since its density is their joint
        density: a subset is refused. With "unconstrained" they give the order of the coordinates,
        and are required if there is more than one variable.
    coords
        The labels to keep along dimensions: along chain and draw, or with "unconstrained" along
        any dimension.
    group
        The group of the container that holds the draws.
    independent
        True if the draws are independent, as those of variational inference are.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> import xarray
    >>> z = np.random.default_rng(0).normal(size=(4, 250, 2))
    >>> posterior = xarray.Dataset({"z": (("chain", "draw", "school"), z)})
    >>> normal = sw.Gaussian([0, 0], np.eye(2))
    >>> samples, target = sw.from_arviz(posterior, "unconstrained", target=normal)
    >>> samples
    Samples(4 chains x 250 draws, 2 coordinates: z[0], z[1])
    """
    if isinstance(model_or_space, str) and model_or_space != "unconstrained":
        raise InputError(
            f"the space is {model_or_space!r}: expected 'unconstrained' with target=, or the model "
            "that the draws come from, which knows its transforms."
        )
    draws = variables(read_group(container, group, var_names, coords))
    if isinstance(model_or_space, str):
        return _already_unconstrained(draws, target, var_names, independent)
    if target is not None:
        raise InputError(
            "target= belongs to the space 'unconstrained'; a model has a density of its own."
        )
    return _with_model(draws, model_or_space, independent)


def _already_unconstrained(
    draws: dict[str, Variable], target: Any, var_names: object, independent: bool | None
) -> tuple[Samples, AbstractTarget]:
    if target is None:
        raise InputError(
            "draws alone cannot be checked: pass target=, a log density of the unconstrained "
            "coordinates (Jacobian included), or the model instead of 'unconstrained'."
        )
    if len(draws) > 1 and var_names is None:
        raise InputError(
            f"the draws have the variables {', '.join(map(printable, draws))}: pass var_names= in "
            "the order in which the density takes them."
        )
    discrete = [name for name, variable in draws.items() if variable.values.dtype.kind in "iub"]
    if discrete:
        raise InputError(f"{printable(discrete[0])} is discrete: leave it out of var_names.")
    blocks = [Block.of(n, v.values, v, elementwise=True) for n, v in draws.items()]
    return samples_of(blocks, independent), as_target(target)


def _with_model(
    draws: dict[str, Variable], model: Any, independent: bool | None
) -> tuple[Samples, AbstractTarget]:
    library = next((name for name in LIBRARIES if _comes_from(model, name)), None)
    if library == "pymc":
        from steinwise.adapters.pymc import unconstrained

        return unconstrained(draws, model, independent)
    if library == "numpyro":
        from steinwise.adapters.numpyro import model_of, unconstrained

        return unconstrained(draws, model_of(model), independent)
    if library is not None or hasattr(model, "param_unconstrain"):
        from steinwise.adapters.stan import unconstrained

        return unconstrained(draws, model, independent)
    hint = "Pass the model that the draws come from (PyMC, Stan, a NumPyro MCMC)."
    if callable(model) or isinstance(model, AbstractTarget):
        hint = (
            "A density does not say how the parameters were transformed. If the draws are already "
            "unconstrained: sw.from_arviz(container, 'unconstrained', target=density)."
        )
    raise InputError(f"the model is of type {type(model).__name__}. {hint}")


def _comes_from(model: Any, library: str) -> bool:
    return any(base.__module__.split(".")[0] == library for base in type(model).__mro__)
