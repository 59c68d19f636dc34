"""NumPyro: MCMC, with discrete sites or without, and SVI with its guide."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from steinwise._internal.escaping import clause_of
from steinwise._internal.optional import require
from steinwise._internal.options import known_options
from steinwise._internal.random import stream
from steinwise.adapters.common import (
    NAMES_SHOWN,
    Block,
    Variable,
    flat_entries,
    labels,
    samples_of,
    split,
    split_rows,
    with_models_scale,
)
from steinwise.adapters.edges import Space, require_space
from steinwise.adapters.numpyro_sites import (
    NumPyroModel,
    SiteValues,
    elementwise,
    is_discrete,
    latent_sites,
    map_draws,
    site_supports,
)
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.target import AbstractTarget, Target
from steinwise.target.support import AbstractSupport, discrete_among, real


@known_options
def from_numpyro(
    mcmc_or_svi: Any,
    *,
    params: Any = None,
    args: tuple | None = None,
    kwargs: Mapping[str, Any] | None = None,
    n_draws: int = 1000,
    seed: Any = 0,
    space: Space = "unconstrained",
) -> tuple[Samples, AbstractTarget]:
    """Draws and density of a NumPyro run, on the unconstrained space of its latent sites.

    Deterministic and observed sites are left out. Discrete latent sites (of DiscreteHMCGibbs,
    MixedHMC or HMCGibbs) stay as they are, with the support that their distribution has.

    Parameters
    ----------
    mcmc_or_svi
        An MCMC that has run, or an SVI. Its guide may be a function or one of
        `numpyro.infer.autoguide`; from `AutoLaplaceApproximation` come draws of the normal
        distribution around the mode, and `AutoDelta`, a point, is refused.
    params
        For an SVI: what `svi.run(...)` returned, or its `.params`, the learned parameters of the
        guide.
    args, kwargs
        The arguments of the model: for an SVI those of `svi.run` after the number of steps. For
        an MCMC they are known from its run.
    n_draws
        For an SVI: the number of draws to take from the guide.
    seed
        For an SVI: the seed of these draws.
    space
        "unconstrained": sites go through NumPyro's transforms, and the density has their Jacobian.
        "constrained": they stay on their own scale, and the density is that of the model. That
        takes sites whose entries have ranges of their own, and no simplex, for example.

    Returns
    -------
    Samples, Target
        For ``sw.check(*sw.from_numpyro(mcmc))``, which is ``sw.check(mcmc)``. Draws of a guide are
        independent.

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
    require_space(space)
    enter = unconstrained if space == "unconstrained" else constrained
    if isinstance(mcmc_or_svi, infer.MCMC):
        model = model_of(mcmc_or_svi, args, kwargs)
        draws = mcmc_or_svi.get_samples(group_by_chain=True)
        return enter({n: Variable.of(v) for n, v in draws.items()}, model, None)
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
    learned = getattr(params, "params", params)  # of what svi.run returned
    if not isinstance(learned, Mapping):
        raise InputError(
            f"params is of type {type(params).__name__}: expected what svi.run(...) returned, or a "
            "dict of the guide's parameters, svi.get_params(svi_state)."
        )
    model = NumPyroModel(svi.model, args or (), {**svi.static_kwargs, **(kwargs or {})})
    key = jax.random.key(int(stream(seed, "guide").integers(2**31)))
    found = _guide_draws(svi.guide, dict(learned), model, n_draws, key)
    draws = {name: Variable.of(values[None]) for name, values in found.items()}
    _refuse_points(draws, model, getattr(svi.guide, "__name__", type(svi.guide).__name__))
    return enter(draws, model, True)


def _guide_draws(
    guide: Any, params: SiteValues, model: NumPyroModel, n_draws: int, key: Any
) -> SiteValues:
    """Independent draws of a guide by site, with auxiliary sites of its own."""
    infer = require("numpyro.infer", "numpyro", "from_numpyro")
    autoguide = require("numpyro.infer.autoguide", "numpyro", "from_numpyro")
    predictive = infer.Predictive(guide, params=params, num_samples=n_draws)
    try:
        draws = predictive(key, *model.args, **model.kwargs)
    except TypeError as error:
        raise InputError(
            f"the guide failed on its arguments: {clause_of(error)}. Pass args= and "
            "kwargs= as to svi.run."
        ) from error
    if isinstance(guide, autoguide.AutoLaplaceApproximation):
        # trained as a point, the mode; what it stands for is a normal distribution around that
        return guide.sample_posterior(key, params, sample_shape=(n_draws,))
    return draws


def _refuse_points(draws: Mapping[str, Variable], model: NumPyroModel, guide: str) -> None:
    """Refuse draws of a guide that has a point in place of a distribution for some sites."""
    sites = list(latent_sites(draws, model))
    points = [name for name in sites if (draws[name].values == draws[name].values[:, :1]).all()]
    if not points or draws[points[0]].values.shape[1] == 1:
        return
    fix = (
        "There is no distribution to check: fit AutoNormal, AutoMultivariateNormal or, for a "
        "normal distribution around the mode, AutoLaplaceApproximation."
        if len(points) == len(sites)
        else "To check the other sites given these values, pass an SVI of the model with the sites "
        "fixed: numpyro.handlers.condition(model, data={...})."
    )
    raise InputError(
        f"the guide ({guide}) has a point, and no distribution, for "
        f"{', '.join(points[:NAMES_SHOWN])}: all of its draws are equal. {fix}"
    )


def model_of(mcmc: Any, args: tuple | None = None, kwargs: Mapping | None = None) -> NumPyroModel:
    """The model of an MCMC, with the arguments that it ran with."""
    if getattr(mcmc, "_states", None) is None:
        raise InputError("the MCMC has not run: call mcmc.run(key, ...) first.")
    function = mcmc.sampler.model
    if function is None:
        raise InputError(
            "the MCMC ran on a potential function, without a model. Its draws are already "
            "unconstrained: sw.check(draws, lambda x: -potential_fn(x)), draws (chain, draw, d)."
        )
    return NumPyroModel(
        function,
        mcmc._args if args is None else args,
        mcmc._kwargs if kwargs is None else kwargs,
        of_run=args is None and kwargs is None,
    )


def unconstrained(
    draws: Mapping[str, Variable], model: NumPyroModel, independent: bool | None
) -> tuple[Samples, AbstractTarget]:
    """Draws of the latent sites of a model, and its density, on the unconstrained space.

    Discrete sites stay as they are: the model is conditioned on them.
    """
    util = require("numpyro.infer.util", "numpyro", "from_numpyro")
    sites = latent_sites(draws, model)
    given = {name: draws[name].values for name in sites}
    discrete = [name for name, site in sites.items() if is_discrete(site)]
    supports, left_open = site_supports(sites, given, discrete, model)
    arguments = model.args, model.kwargs

    def unconstrain(draw: SiteValues) -> SiteValues:
        whole, other = _divided(draw, discrete)
        return whole | util.unconstrain_fn(_conditioned(model, whole), *arguments, other)

    def constrain(position: SiteValues) -> SiteValues:
        whole, other = _divided(position, discrete)
        return whole | util.constrain_fn(_conditioned(model, whole), *arguments, other)

    free = map_draws(unconstrain, given)
    layout = _Layout.of(draws, free, sites, supports)

    def log_density(x: Any) -> Any:
        position = layout.values(x)
        whole, other = _divided(position, discrete)
        value = -util.potential_energy(_conditioned(model, whole), *arguments, other)
        return _where_possible(value, constrain(position), discrete, model) if left_open else value

    def on_the_models_scale(x: np.ndarray) -> np.ndarray:
        found = map_draws(constrain, layout.rows(x))
        return flat_entries([found[name] for name in sites])[0]

    names = [label for name in sites for label in labels(name, draws[name].index)]
    entries = flat_entries([given[name] for name in sites])
    samples = with_models_scale(layout.samples(independent), names, entries, on_the_models_scale)
    return samples, Target(log_density, support=layout.support)


def constrained(
    draws: Mapping[str, Variable], model: NumPyroModel, independent: bool | None
) -> tuple[Samples, AbstractTarget]:
    """Draws of the latent sites of a model, and its density, on their own scale."""
    util = require("numpyro.infer.util", "numpyro", "from_numpyro")
    sites = latent_sites(draws, model)
    given = {name: draws[name].values for name in sites}
    discrete = [name for name, site in sites.items() if is_discrete(site)]
    supports, left_open = site_supports(sites, given, list(sites), model)
    layout = _Layout.of(draws, given, sites, supports)

    def log_density(x: Any) -> Any:
        position = layout.values(x)
        value, _ = util.log_density(model.seeded, model.args, dict(model.kwargs), position)
        return _where_possible(value, position, discrete, model) if left_open else value

    return layout.samples(independent), Target(log_density, support=layout.support)


@dataclass(frozen=True, eq=False)
class _Layout:
    """The coordinates of a target: which entries of which sites they are, and where they live."""

    blocks: dict[str, Block]
    kinds: dict[str, type]  # of discrete sites: bool or int
    support: list[AbstractSupport]

    @classmethod
    def of(
        cls,
        draws: Mapping[str, Variable],
        values: Mapping[str, np.ndarray],
        sites: Mapping[str, dict[str, Any]],
        supports: Mapping[str, list[AbstractSupport]],
    ) -> "_Layout":
        """For values of sites on some scale; those without supports are real."""
        blocks, every = {}, []
        for name, site in sites.items():
            own_label = name in supports or elementwise(site["fn"].support)
            blocks[name] = Block.of(name, values[name], draws[name], elementwise=own_label)
            entries = int(np.prod(blocks[name].shape))
            every += supports.get(name, [real] * entries)
        kinds = {
            name: bool if draws[name].values.dtype.kind == "b" else int
            for name, site in sites.items()
            if is_discrete(site)
        }
        return cls(blocks, kinds, every)

    @property
    def _shapes(self) -> list[tuple[int, ...]]:
        return [block.shape for block in self.blocks.values()]

    def values(self, x: Any) -> SiteValues:
        """The sites of one draw (d,), discrete ones as whole numbers."""
        parts = zip(self.blocks, split(x, self._shapes), strict=True)
        return {n: part.astype(self.kinds.get(n, part.dtype)) for n, part in parts}

    def rows(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """The sites of draws (n, d), as one chain."""
        parts = zip(self.blocks, split_rows(x, self._shapes), strict=True)
        return {n: part[None].astype(self.kinds.get(n, part.dtype)) for n, part in parts}

    def samples(self, independent: bool | None) -> Samples:
        discrete = discrete_among(self.support, [""] * len(self.support))
        return samples_of(self.blocks.values(), independent, discrete)


def _divided(values: SiteValues, discrete: list[str]) -> tuple[SiteValues, SiteValues]:
    """Discrete sites, and all others."""
    return {name: values[name] for name in discrete}, {
        name: value for name, value in values.items() if name not in discrete
    }


def _conditioned(model: NumPyroModel, values: SiteValues) -> Callable[..., Any]:
    """The model with these sites given: their density still counts, no transform is asked for."""
    if not values:
        return model.seeded
    handlers = require("numpyro.handlers", "numpyro", "from_numpyro")
    return handlers.condition(model.seeded, data=values)


def _where_possible(value: Any, draw: SiteValues, discrete: list[str], model: NumPyroModel) -> Any:
    """A log density, or that of 0 where a discrete site is beyond its ends.

    NumPyro's own may have any value there: that of a categorical site takes the nearest category.
    """
    trace = model.trace(draw)
    inside = [jnp.all(trace[name]["fn"].support(draw[name])) for name in discrete]
    return jnp.where(jnp.all(jnp.stack(inside)), value, -jnp.inf)
