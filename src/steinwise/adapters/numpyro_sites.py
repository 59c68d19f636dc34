"""The latent sites of a NumPyro model: which there are, and where they live."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from steinwise._internal.compiled import precision
from steinwise._internal.escaping import clause_of
from steinwise._internal.optional import require
from steinwise.adapters.common import NAMES_SHOWN, Variable, require_parameters
from steinwise.adapters.edges import bounded_supports, discrete_supports, refuse_joint_support
from steinwise.errors import InputError
from steinwise.target.support import AbstractSupport

SiteValues = dict[str, Any]  # of sites, by name


class NumPyroModel(NamedTuple):
    """A NumPyro model with the arguments of its run."""

    function: Callable[..., Any]
    args: tuple
    kwargs: Mapping[str, Any]
    of_run: bool = False  # whether the arguments are known from a run, and not from the user

    @property
    def seeded(self) -> Callable[..., Any]:
        """The function where some site asks for a key."""
        handlers = require("numpyro.handlers", "numpyro", "from_numpyro")
        return handlers.seed(self.function, rng_seed=0)

    def trace(self, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """All sites where the latent ones have these values."""
        handlers = require("numpyro.handlers", "numpyro", "from_numpyro")
        substituted = handlers.seed(handlers.substitute(self.function, data=values), rng_seed=0)
        return handlers.trace(substituted).get_trace(*self.args, **self.kwargs)


class Ends(NamedTuple):
    """The least and the largest value of every entry of a site; infinite where there is none."""

    low: Any
    high: Any


def latent_sites(draws: Mapping[str, Variable], model: NumPyroModel) -> dict[str, dict[str, Any]]:
    """The latent sites of the model in the order of its code."""
    # arrays of JAX: a scan in the model takes entries of them at a traced index
    first = {name: jnp.asarray(variable.values[0, 0]) for name, variable in draws.items()}
    try:
        trace = model.trace(first)
    except TypeError as error:
        raise InputError(
            f"the model failed on its arguments: {clause_of(error)}. Pass args= and "
            "kwargs= as to run()."
        ) from error
    for name, site in trace.items():
        if site["type"] == "plate" and site["args"][1] not in (None, site["args"][0]):
            raise InputError(
                f"the plate {name} takes {site['args'][1]} of {site['args'][0]} at random, so the "
                "density changes from call to call. Pass args= or kwargs= that make it take all."
            )
    latent = {n: s for n, s in trace.items() if s["type"] == "sample" and not s["is_observed"]}
    _require_data([name for name in latent if name not in draws], model)
    summed_out = [n for n, s in latent.items() if is_discrete(s) and n not in draws]
    if summed_out:
        raise InputError(
            f"the draws have no {', '.join(summed_out[:NAMES_SHOWN])}: discrete sites that the "
            "sampler summed out. The density here is that of all sites: draw them as well "
            "(numpyro.infer.DiscreteHMCGibbs), or write the model without them (MixtureSameFamily)."
        )
    shapes = {name: np.shape(site["value"]) for name, site in latent.items()}
    require_parameters(draws, shapes, run=", with the arguments of its run (args=, kwargs=)")
    return latent


def _require_data(missing: Sequence[str], model: NumPyroModel) -> None:
    """Refuse arguments that leave out the data: what was observed is a latent site then."""
    if not missing or model.of_run:
        return
    bound = inspect.signature(model.function).bind(*model.args, **model.kwargs)
    bound.apply_defaults()
    unset = [name for name, value in bound.arguments.items() if value is None]
    if unset:
        raise InputError(
            f"the draws have no {', '.join(missing[:NAMES_SHOWN])}, which the model samples where "
            f"it is called with {', '.join(f'{name}=None' for name in unset[:NAMES_SHOWN])}: data "
            "that were observed in the fit? Pass all arguments of the fit, args=(...) and "
            f"kwargs={{...}}, such as kwargs={{{unset[0]!r}: ...}}."
        )


def is_discrete(site: dict[str, Any]) -> bool:
    return bool(site["fn"].support.is_discrete)


def elementwise(support: Any) -> bool:
    """Whether the transform to the support acts on each entry separately."""
    if support.is_discrete:
        return True
    distributions = require("numpyro.distributions", "numpyro", "from_numpyro")
    transform = distributions.biject_to(support)
    while isinstance(transform, distributions.transforms.IndependentTransform):
        transform = transform.base_transform
    return transform.domain.event_dim == 0 and transform.codomain.event_dim == 0


def site_supports(
    sites: dict[str, dict[str, Any]],
    draws: dict[str, np.ndarray],
    chosen: list[str],
    model: NumPyroModel,
) -> tuple[dict[str, list[AbstractSupport]], bool]:
    """The supports of all entries of some sites, on their own scale.

    And whether a discrete one has an end that depends on other sites, and is left open.
    """
    for name in chosen:
        if _ends(sites[name]["fn"].support) is None:
            refuse_joint_support(name, sites[name]["fn"].support)

    def ends_of(draw: SiteValues) -> dict[str, Ends]:
        trace = model.trace(draw)
        found = {}
        for name in chosen:
            ends = _ends(trace[name]["fn"].support)
            assert ends is not None
            shape = jnp.shape(draw[name])
            found[name] = Ends(*(jnp.broadcast_to(jnp.asarray(end, float), shape) for end in ends))
        return found

    supports: dict[str, list[AbstractSupport]] = {}
    left_open = False
    for name, ends in (map_draws(ends_of, draws) if chosen else {}).items():
        if is_discrete(sites[name]):
            supports[name], some = discrete_supports(*ends)
            left_open |= some
        else:
            supports[name] = bounded_supports(name, *ends)
    return supports, left_open


def _ends(support: Any) -> Ends | None:
    """The ends of a constraint that holds for each entry by itself; None of another one."""
    constraints = require("numpyro.distributions.constraints", "numpyro", "from_numpyro")
    if isinstance(support, constraints.independent):
        return _ends(support.base_constraint)
    if support is constraints.boolean:
        return Ends(0, 1)
    if support is constraints.real:
        return Ends(-np.inf, np.inf)
    if isinstance(support, (constraints.integer_interval, constraints.interval)):
        return Ends(support.lower_bound, support.upper_bound)
    if isinstance(support, (constraints.integer_greater_than, constraints.greater_than)):
        return Ends(support.lower_bound, np.inf)
    if isinstance(support, constraints.less_than):
        return Ends(-np.inf, support.upper_bound)
    return None


def map_draws(function: Callable[[SiteValues], Any], draws: dict[str, np.ndarray]) -> Any:
    """A function of one draw applied to all draws, in 64 bit unless the model cannot."""
    mapped = jax.jit(jax.vmap(jax.vmap(function)))
    with precision():
        try:
            wide = {
                name: values.astype(np.float64) if values.dtype.kind == "f" else values
                for name, values in draws.items()
            }
            return jax.tree.map(np.asarray, mapped(wide))
        except TypeError:  # a carry or a branch that is fixed in 32 bit
            pass
    return jax.tree.map(np.asarray, mapped(draws))
