"""NumPyro: MCMC, and SVI with its guide."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from steinwise._internal.compiled import precision
from steinwise._internal.optional import require
from steinwise._internal.random import stream
from steinwise.adapters.common import (
    Block,
    Variable,
    refuse_discrete,
    require_parameters,
    samples_of,
    split,
)
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.target import AbstractTarget, Target


class Model(NamedTuple):
    """A NumPyro model with the arguments of its run."""

    function: Callable[..., Any]
    args: tuple
    kwargs: Mapping[str, Any]


def from_numpyro(
    mcmc_or_svi: Any,
    *,
    params: Mapping[str, Any] | None = None,
    args: tuple | None = None,
    kwargs: Mapping[str, Any] | None = None,
    n_draws: int = 1000,
    seed: Any = 0,
) -> tuple[Samples, AbstractTarget]:
    """Draws and density of a NumPyro run, on the unconstrained space of its latent sites.

    Deterministic and observed sites are left out; a discrete latent site is refused.

    Parameters
    ----------
    mcmc_or_svi
        An MCMC that has run, or an SVI.
    params
        For an SVI: the learned parameters of its guide, `svi.run(...).params`.
    args, kwargs
        The arguments of the model: for an SVI those of `svi.run` after the number of steps. For
        an MCMC they are known from its run.
    n_draws, seed
        For an SVI: the number of draws to take from the guide, and their seed.

    Returns
    -------
    Samples, Target
        For ``sw.check(*sw.from_numpyro(mcmc))``. Draws of a guide are independent.

    Examples
    --------
    >>> import jax, steinwise as sw
    >>> import numpyro
    >>> from numpyro.infer import MCMC, NUTS
    >>> def model():
    ...     numpyro.sample("tau", numpyro.distributions.HalfNormal(1.0))
    >>> mcmc = MCMC(NUTS(model), num_warmup=200, num_samples=500, progress_bar=False)
    >>> mcmc.run(jax.random.key(0))
    >>> samples, target = sw.from_numpyro(mcmc)
    >>> samples
    Samples(1 chain x 500 draws, 1 coordinate: tau)
    """
    infer = require("numpyro.infer", "numpyro", "from_numpyro")
    if isinstance(mcmc_or_svi, infer.MCMC):
        model = model_of(mcmc_or_svi, args, kwargs)
        draws = mcmc_or_svi.get_samples(group_by_chain=True)
        return unconstrained({n: Variable.of(v) for n, v in draws.items()}, model, None)
    if not isinstance(mcmc_or_svi, infer.SVI):
        raise InputError(
            f"from_numpyro got a {type(mcmc_or_svi).__name__}: expected a numpyro.infer.MCMC that "
            "has run, or a numpyro.infer.SVI with params=."
        )
    svi = mcmc_or_svi
    if params is None:
        raise InputError(
            "an SVI needs the learned parameters of its guide: pass params=svi.run(...).params."
        )
    model = Model(svi.model, args or (), {**svi.static_kwargs, **(kwargs or {})})
    key = jax.random.key(int(stream(seed, "guide").integers(2**31)))
    guide = infer.Predictive(svi.guide, params=dict(params), num_samples=n_draws)
    try:
        draws = guide(key, *model.args, **model.kwargs)
    except TypeError as error:
        raise InputError(
            f"the guide failed on its arguments: {error}. Pass args= and kwargs= as to svi.run."
        ) from error
    return unconstrained({n: Variable.of(v[None]) for n, v in draws.items()}, model, True)


def model_of(mcmc: Any, args: tuple | None = None, kwargs: Mapping | None = None) -> Model:
    """The model of an MCMC, with the arguments that it ran with."""
    if getattr(mcmc, "_states", None) is None:
        raise InputError("the MCMC has not run: call mcmc.run(key, ...) first.")
    function = mcmc.sampler.model
    if function is None:
        raise InputError(
            "the MCMC ran on a potential function, without a model. Its draws are already "
            "unconstrained: sw.check(draws, lambda x: -potential_fn(x)), draws (chain, draw, d)."
        )
    return Model(
        function, mcmc._args if args is None else args, mcmc._kwargs if kwargs is None else kwargs
    )


def unconstrained(
    draws: Mapping[str, Variable], model: Model, independent: bool | None
) -> tuple[Samples, AbstractTarget]:
    """Constrained draws of the sites of a model, and its density, on the unconstrained space."""
    util = require("numpyro.infer.util", "numpyro", "from_numpyro")
    handlers = require("numpyro.handlers", "numpyro", "from_numpyro")
    sites = _latent_sites(draws, model)
    function = handlers.seed(model.function, rng_seed=0)  # some models ask for a key
    constrained = {name: draws[name].values for name in sites}

    def unconstrain(draw: dict[str, Any]) -> dict[str, Any]:
        return util.unconstrain_fn(function, model.args, model.kwargs, draw)

    free = _map_draws(unconstrain, constrained)
    blocks = {
        name: Block.of(name, free[name], draws[name], elementwise=_elementwise(site["fn"].support))
        for name, site in sites.items()
    }
    shapes = [block.shape for block in blocks.values()]

    def log_density(x: Any) -> Any:
        position = dict(zip(blocks, split(x, shapes), strict=True))
        return -util.potential_energy(function, model.args, model.kwargs, position)

    return samples_of(blocks.values(), independent), Target(log_density)


def _latent_sites(draws: Mapping[str, Variable], model: Model) -> dict[str, dict[str, Any]]:
    """The latent sites of the model in the order of its code."""
    handlers = require("numpyro.handlers", "numpyro", "from_numpyro")
    first = {name: variable.values[0, 0] for name, variable in draws.items()}
    substituted = handlers.seed(handlers.substitute(model.function, data=first), rng_seed=0)
    try:
        trace = handlers.trace(substituted).get_trace(*model.args, **model.kwargs)
    except TypeError as error:
        raise InputError(
            f"the model failed on its arguments: {error}. Pass args= and kwargs= as to run()."
        ) from error
    for name, site in trace.items():
        if site["type"] == "plate" and site["args"][1] not in (None, site["args"][0]):
            raise InputError(
                f"the plate {name} takes {site['args'][1]} of {site['args'][0]} at random, so the "
                "density changes from call to call. Pass args= or kwargs= that make it take all."
            )
    latent = {n: s for n, s in trace.items() if s["type"] == "sample" and not s["is_observed"]}
    refuse_discrete([name for name, site in latent.items() if site["fn"].support.is_discrete])
    require_parameters(draws, {n: np.shape(s["value"]) for n, s in latent.items()}, "the model")
    return latent


def _map_draws(function: Callable, draws: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """A function of one draw applied to all draws, in 64 bit unless the model cannot."""
    mapped = jax.jit(jax.vmap(jax.vmap(function)))
    with precision():
        try:
            wide = {name: np.asarray(values, np.float64) for name, values in draws.items()}
            return jax.tree.map(np.asarray, mapped(wide))
        except TypeError:  # a carry or a branch that is fixed in 32 bit
            pass
    return jax.tree.map(np.asarray, mapped(draws))


def _elementwise(support: Any) -> bool:
    """Whether the transform to the support acts on each entry separately."""
    distributions = require("numpyro.distributions", "numpyro", "from_numpyro")
    transform = distributions.biject_to(support)
    while isinstance(transform, distributions.transforms.IndependentTransform):
        transform = transform.base_transform
    return transform.domain.event_dim == 0 and transform.codomain.event_dim == 0
