"""What an adapter knows is recognised: `sw.check(mcmc)`, `sw.check(idata, model)`.

Objects of other libraries are known by the names of their classes, so that none of these libraries
is imported to find out.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import steinwise
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.results.refreshed import Refreshed
from steinwise.target import AbstractTarget

CONTAINERS = (("arviz", "InferenceData"), ("xarray", "DataTree"), ("xarray", "Dataset"))
STAN_MODELS = (("bridgestan", "StanModel"), ("stan", "Model"))
STAN_FITS = (("stan", "Fit"), ("cmdstanpy", ""))
WITH_MODEL = (
    "pass the model that they come from: sw.check(idata, model) with a PyMC model, sw.check(fit, "
    "model) with a Stan model (bridgestan.StanModel, or PyStan's). For NumPyro pass the MCMC "
    'itself, sw.check(mcmc); for a density of your own sw.from_arviz(idata, "unconstrained", '
    "target=log_density)."
)


def recognised(draws: Any, target: Any, independent: bool | None = None) -> tuple[Any, Any]:
    """Draws and density by the adapter that takes what was passed; unchanged where none does.

    >>> import numpy as np, steinwise as sw
    >>> pair = sw.Samples.of(np.random.default_rng(0).normal(size=(50, 2))), sw.Target(np.sum)
    >>> recognised(pair, None) == pair
    True
    """
    _refuse_fit(draws)
    _refuse_refreshed(draws)
    _refuse_swapped(draws, target)
    if target is None:
        return _by_itself(draws)
    adapter = _adapter_of(draws, target)
    if adapter is not None:
        return adapter(draws, target, independent=independent)
    if _is(draws, ("numpyro", "MCMC"), ("emcee", "EnsembleSampler")):
        kind = type(draws).__name__
        raise InputError(
            f"draws is of type {kind}, which has a density of its own, and target of type "
            f"{type(target).__name__}. Pass the {kind} alone; to compare its draws with another "
            "density, pass them as an array (chain, draw, d) on the space of that density."
        )
    if _is(draws, *CONTAINERS, *STAN_FITS):
        raise InputError(
            f"draws is of type {type(draws).__name__}, on the scale of a model, and target of type "
            f"{type(target).__name__}: {WITH_MODEL}"
        )
    if isinstance(draws, Mapping):
        raise InputError(_about_dict(draws))
    return draws, target


def is_pair(draws: Any) -> bool:
    """Whether this is the pair that an adapter returns: draws and their density."""
    return isinstance(draws, tuple) and len(draws) == 2 and _is_density(draws[1])


def brings_density(draws: Any) -> bool:
    """Whether no density need be passed with these draws."""
    return is_pair(draws) or _is(draws, ("numpyro", "MCMC"), ("emcee", "EnsembleSampler"))


def is_model(target: Any) -> bool:
    """Whether this is a model of a library, whose density depends on the form of the draws."""
    return _is(target, ("pymc", "Model"), ("numpyro", "MCMC"), *STAN_MODELS)


def _by_itself(draws: Any) -> tuple[Any, Any]:
    """What brings its own density, or an error that says what is missing."""
    if is_pair(draws):
        return draws
    if _is(draws, ("numpyro", "MCMC")):
        return steinwise.from_numpyro(draws)
    if _is(draws, ("emcee", "EnsembleSampler")):
        return steinwise.from_emcee(draws)
    if _is(draws, *CONTAINERS, *STAN_FITS):
        raise InputError(
            f"draws is of type {type(draws).__name__}, without a density: {WITH_MODEL}"
        )
    if isinstance(draws, Mapping):
        raise InputError(_about_dict(draws))
    raise InputError(
        "target is of type NoneType: expected sw.check(draws, log_density), where log_density is a "
        "JAX function of one draw, or a target such as sw.Gaussian(mean, covariance). Only what "
        "brings its density goes alone: sw.check(mcmc) of NumPyro, or the pair that an adapter "
        "returns."
    )


def _adapter_of(draws: Any, target: Any) -> Callable[..., tuple[Any, Any]] | None:
    """The adapter for draws and a model of its library."""
    if _is(target, ("pymc", "Model")):
        return steinwise.from_pymc
    if _is(target, *STAN_MODELS):
        return steinwise.from_stan
    if _is(target, ("numpyro", "MCMC")) and _is(draws, *CONTAINERS):
        return steinwise.from_arviz
    if hasattr(draws, "position") and _is(draws, ("blackjax", "")) and callable(target):
        return steinwise.from_blackjax
    owner = getattr(target, "__self__", target)  # of a method, such as distribution.log_prob
    if _is(owner, ("torch", "Module"), ("torch", "Distribution")):
        log_prob = target if owner is not target else getattr(target, "log_prob", target)
        return partial(_from_torch, log_prob=log_prob)
    return None


def _from_torch(
    draws: Any, _: Any, *, log_prob: Callable, independent: bool | None
) -> tuple[Any, Any]:
    return steinwise.from_torch(draws, log_prob, independent=independent)


def _refuse_fit(draws: Any) -> None:
    """Refuse a variational fit, from which draws have yet to be taken."""
    if _is(draws, ("numpyro", "SVI"), ("numpyro", "SVIRunResult"), ("numpyro", "AutoGuide")):
        raise InputError(
            f"draws is of type {type(draws).__name__}, which does not hold both its parameters and "
            "its data: sw.check(*sw.from_numpyro(svi, params=svi_result.params, args=(...))), with "
            "the arguments of svi.run after the number of steps."
        )
    if _is(draws, ("pymc", "Approximation")):
        raise InputError(
            "draws is a PyMC approximation, not draws: sw.check(approximation.sample(1000), model, "
            "independent=True)."
        )


def _refuse_refreshed(draws: Any) -> None:
    if isinstance(draws, Refreshed):
        raise InputError(
            "draws is what sw.refresh returned: its draws are refreshed.samples, and "
            "refreshed.settled says whether they have arrived. sw.summary takes them; a check "
            "along lines does not, since the coordinates that were moved last fit their lines "
            "whatever the draws were: check the draws as they were before."
        )


def _refuse_swapped(draws: Any, target: Any) -> None:
    swapped = _is_density(draws) or _is(draws, ("pymc", "Model"), *STAN_MODELS)
    if not swapped or _is_density(target):
        return
    if target is None:
        raise InputError(
            f"draws is of type {type(draws).__name__}, which is a density, and there are no draws: "
            "expected sw.check(draws, target)."
        )
    raise InputError(
        f"draws is of type {type(draws).__name__}, and target of type {type(target).__name__}: the "
        "arguments are swapped. The draws come first: sw.check(draws, target)."
    )


def _about_dict(draws: Mapping[Any, Any]) -> str:
    shapes = {str(name): np.shape(value) for name, value in list(draws.items())[:5]}
    return (
        f"draws is a dict of {', '.join(f'{name} {shape}' for name, shape in shapes.items())}: "
        "parameters by name, which may be on another scale than the density. If it comes from "
        "NumPyro's mcmc.get_samples(), pass the MCMC itself, sw.check(mcmc); if from "
        "guide.sample_posterior or Predictive, sw.check(*sw.from_numpyro(svi, "
        "params=svi_result.params, args=(...))), which draws from the guide; if from a Stan fit, "
        "sw.check(*sw.from_stan(draws, model)); if it holds the positions of a BlackJAX run, or "
        "any tree of real parameters with a density of one such tree, "
        "sw.check(*sw.from_blackjax(draws, logdensity_fn)). Else concatenate the parameters to one "
        "array whose last axis is the coordinate."
    )


def _is_density(thing: Any) -> bool:
    # a Samples or an array is not callable
    # nor is a class, such as MCMC in place of an MCMC, a density
    return isinstance(thing, AbstractTarget) or (
        callable(thing) and not isinstance(thing, Samples | type) and not hasattr(thing, "position")
    )


def _is(thing: Any, *classes: tuple[str, str]) -> bool:
    """Whether a thing is of one of these classes: the package, and the name, "" for any."""
    return any(
        _package(known) == package and name in ("", known.__name__)
        for known in type(thing).__mro__
        for package, name in classes
    )


def _package(known: type) -> str:
    return str(known.__module__).partition(".")[0]
