"""PyMC: MCMC and variational inference, in any of the containers of ArviZ."""

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import jax
import numpy as np

from steinwise._internal.compiled import precision
from steinwise._internal.optional import require
from steinwise._internal.options import known_options
from steinwise._internal.warn import warn_user
from steinwise.adapters.common import (
    Block,
    Variable,
    by_rows,
    flat_entries,
    host_target,
    labels,
    require_parameters,
    samples_of,
    split,
    split_rows,
    with_models_scale,
)
from steinwise.adapters.containers import has_group, read_group, variables
from steinwise.adapters.edges import Space, require_space
from steinwise.adapters.kept_scores import nutpie_scores, with_kept_scores
from steinwise.adapters.pymc_ranges import (
    at_draws,
    bounded_variables,
    is_discrete,
    ranges_of_integers,
)
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, TargetError
from steinwise.target import AbstractTarget, Target
from steinwise.target.support import AbstractSupport, discrete_among, integers, real

# The least values of PyMC's discrete distributions, by the names of their random variables. Above
# what they can take, as beyond the number of a binomial one, PyMC's own density is 0.
BINARY, COUNTS = integers(0, 1), integers(0, None)
LOWEST = {
    **dict.fromkeys(("poisson", "binomial", "nbinom", "negative_binomial"), COUNTS),
    "beta_binomial": COUNTS,
    "hypergeometric": COUNTS,
    "geometric": integers(1, None),
}


@known_options
def from_pymc(
    idata: Any,
    model: Any,
    *,
    group: str = "posterior",
    independent: bool | None = None,
    space: Space = "unconstrained",
) -> tuple[Samples, AbstractTarget]:
    """Draws and density of a PyMC model, on the space that PyMC samples in.

    Discrete variables, such as the assignments of a mixture or a change point, stay as they are,
    with the support that their distribution has.

    Parameters
    ----------
    idata
        The result of `pm.sample` or of `pm.fit(...).sample(n)`: an InferenceData, a DataTree or a
        Dataset, or the path of a file of one of them. Deterministics are left out.
    model
        The `pm.Model`.
    group
        The group that holds the draws.
    independent
        True for draws of variational inference, which come as one chain but are independent. A
        warning says so where draws look like these.
    space
        "unconstrained": variables go through PyMC's transforms, and the density has their Jacobian.
        "constrained": they stay on their own scale, and the density is that of the model. That
        takes variables whose entries have ranges of their own, and no simplex, for example.

    Returns
    -------
    Samples, Target
        The density runs in JAX where PyTensor can translate the model, otherwise in PyTensor.
        Gradients that nutpie stored (``store_gradient=True``) are the scores of the draws, and are
        not evaluated again. JAX's precision flag is left unchanged. (PyTensor sets it once per
        process, when it first uses JAX. If that happens here, set it yourself before you use one of
        PyMC's JAX samplers.)

    Examples
    --------
    >>> import steinwise as sw
    >>> import xarray
    >>> import pymc as pm
    >>> import numpy as np
    >>> with pm.Model() as model:
    ...     tau = pm.HalfNormal("tau")
    >>> tau = np.abs(np.random.default_rng(0).normal(size=(2, 300)))
    >>> posterior = xarray.Dataset({"tau": (("chain", "draw"), tau)})
    >>> samples, target = sw.from_pymc(posterior, model)
    >>> sw.check(samples, target).rejected
    False
    """
    pymc = require("pymc", "pymc", "from_pymc")
    if not isinstance(model, pymc.Model):
        raise InputError(
            f"the model is of type {type(model).__name__}: expected a pymc.Model. The order is "
            "from_pymc(idata, model)."
        )
    require_space(space)
    draws = variables(read_group(idata, group))
    if independent is None and _looks_like_a_fit(idata, group):
        warn_user(
            "these draws are one chain without sampler statistics, as those of pm.fit(...).sample "
            "are, and were taken for a chain. If they are from pm.fit, pass independent=True; if "
            "from a sampler, independent=False. For one of several sets of sw.compare, pass "
            "sw.from_pymc(idata, model, independent=True) in its place."
        )
    if independent and group == "posterior" and has_group(idata, "sample_stats"):
        warn_user(
            "independent=True, and these draws have sampler statistics, as those of pm.sample "
            "have: a chain that is taken for independent draws gets false alarms. For one of "
            "several sets of sw.compare, pass sw.from_pymc(idata, model, independent=True) in its "
            "place, and leave the option out."
        )
    if space == "constrained":
        return constrained(draws, model, independent)
    samples, target = unconstrained(draws, model, independent)
    kept = nutpie_scores(idata) if group == "posterior" else None
    return with_kept_scores(samples, target, kept), target


def _looks_like_a_fit(idata: Any, group: str) -> bool:
    """Whether a container has one chain, and nothing from a sampler of chains."""
    if not has_group(idata, group) or group != "posterior" or has_group(idata, "sample_stats"):
        return False
    return read_group(idata, group).sizes.get("chain") == 1


def unconstrained(
    draws: Mapping[str, Variable], model: Any, independent: bool | None
) -> tuple[Samples, AbstractTarget]:
    """Constrained draws of the free variables of a model, and its density, unconstrained."""
    return _entered(draws, model, {}, independent)


def constrained(
    draws: Mapping[str, Variable], model: Any, independent: bool | None
) -> tuple[Samples, AbstractTarget]:
    """Draws of the free variables of a model, and its density, on their own scale."""
    _require_all(draws, model)
    supports = bounded_variables(draws, model)
    conditioning = require("pymc.model.transform.conditioning", "pymc", "from_pymc")
    plain = conditioning.remove_value_transforms(model)
    order = [rv.name for rv in model.free_RVs]
    plain.free_RVs.sort(key=lambda rv: order.index(rv.name))  # of a copy, which is ours
    return _entered(draws, plain, supports, independent)


def _require_all(draws: Mapping[str, Variable], model: Any) -> None:
    free = model.free_RVs
    shapes = model.eval_rv_shapes()
    require_parameters(draws, {rv.name: shapes[rv.name] for rv in free})


def _entered(
    draws: Mapping[str, Variable],
    model: Any,
    bounded: Mapping[str, list[AbstractSupport]],
    independent: bool | None,
) -> tuple[Samples, AbstractTarget]:
    """Draws and density on the space of the model's own value variables."""
    _require_all(draws, model)
    free = model.free_RVs
    blocks = _blocks(draws, model)
    value_shapes = [block.shape for block in blocks]
    known = {**bounded, **ranges_of_integers(draws, model)}
    support = _supports(model, value_shapes, known)
    samples = samples_of(blocks, independent, discrete_among(support, [""] * len(support)))
    names = [label for rv in free for label in labels(rv.name, draws[rv.name].index)]
    entries = flat_entries([draws[rv.name].values for rv in free])
    samples = with_models_scale(samples, names, entries, _constrain(model, value_shapes))
    try:
        target = Target(_jax_log_density(model, value_shapes), support=support)
        target.prepare(samples.dim)
    except (NotImplementedError, TargetError):  # an operation that JAX does not have
        return samples, _pytensor_target(model, value_shapes, support)
    return samples, target


def _supports(
    model: Any, shapes: list[tuple[int, ...]], known: Mapping[str, list[AbstractSupport]]
) -> list[AbstractSupport]:
    """Discrete variables by what is known of their distributions; all others but some are real."""
    supports: list[AbstractSupport] = []
    for rv, shape in zip(model.free_RVs, shapes, strict=True):
        if rv.name in known:
            supports += known[rv.name]
            continue
        one: AbstractSupport = real
        if is_discrete(rv):
            # outside of its support the model's own density is 0, wherever that may end
            name = str(getattr(rv.owner.op, "name", ""))
            one = BINARY if name == "bernoulli" else LOWEST.get(name, integers(None, None))
        supports += [one] * int(np.prod(shape))
    return supports


def _blocks(draws: Mapping[str, Variable], model: Any) -> list[Block]:
    """The draws of all free variables, each through its transform to the real line."""
    free = model.free_RVs
    transforms = [model.rvs_to_transforms[rv] for rv in free]
    forward = [
        rv if transform is None else transform.forward(rv, *rv.owner.inputs)
        for rv, transform in zip(free, transforms, strict=True)
    ]
    found = at_draws(forward, draws, model)
    blocks = []
    for rv, transform, value, values in zip(free, transforms, forward, found, strict=True):
        alone = _elementwise(transform, value, rv)
        blocks.append(Block.of(rv.name, values, draws[rv.name], elementwise=alone))
    return blocks


def _constrain(model: Any, shapes: list[tuple[int, ...]]) -> Callable[[np.ndarray], np.ndarray]:
    """From unconstrained draws (n, d) to the entries of all free variables, (n, entry)."""
    pytensor = require("pytensor", "pymc", "from_pymc")

    @cache  # compiled when a summary first asks
    def function() -> Any:
        free = model.replace_rvs_by_values(model.free_RVs)
        return pytensor.function(
            model.value_vars, free, on_unused_input="ignore", mode="FAST_COMPILE"
        )

    def constrain(x: np.ndarray) -> np.ndarray:
        dtypes = [value.dtype for value in model.value_vars]
        parts = zip(split_rows(x, shapes), dtypes, strict=True)
        columns = [part.astype(dtype) for part, dtype in parts]
        rows = [function()(*row) for row in zip(*columns, strict=True)]
        return np.array([np.concatenate([np.ravel(value) for value in row]) for row in rows])

    return constrain


def _elementwise(transform: Any, value: Any, rv: Any) -> bool:
    """Whether the transform acts on each entry separately: its Jacobian has a factor for each."""
    if transform is None:
        return True
    return value.ndim == rv.ndim == transform.log_jac_det(value, *rv.owner.inputs).ndim


def _jax_log_density(model: Any, shapes: list[tuple[int, ...]]) -> Any:
    with _jax_unchanged(), precision():
        to_jax = require("pymc.sampling.jax", "pymc", "from_pymc")
        function = to_jax.get_jaxified_graph(inputs=model.value_vars, outputs=[model.logp()])

    discrete = [is_discrete(value) for value in model.value_vars]

    def log_density(x: Any) -> Any:
        parts = zip(split(x, shapes), discrete, strict=True)
        return function(*(part.astype(int) if whole else part for part, whole in parts))[0]

    return log_density


def _pytensor_target(
    model: Any, shapes: list[tuple[int, ...]], support: list[AbstractSupport]
) -> AbstractTarget:
    names = [value.name for value in model.value_vars]
    log_density = model.compile_logp()
    if any(map(is_discrete, model.value_vars)):
        dtypes = [value.dtype for value in model.value_vars]

        def values(x: np.ndarray) -> np.ndarray:
            def point(row: np.ndarray) -> dict[str, np.ndarray]:
                parts = zip(names, split(row, shapes), dtypes, strict=True)
                return {name: np.asarray(part).astype(dtype) for name, part, dtype in parts}

            return np.array([float(log_density(point(row))) for row in x])

        return Target.from_log_density(values, support=support)
    gradient = model.compile_dlogp()

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        point = dict(zip(names, split(x, shapes), strict=True))
        return float(log_density(point)), gradient(point)

    evaluate = by_rows(value_and_gradient, (ArithmeticError, np.linalg.LinAlgError))
    return host_target(evaluate, support)


@contextmanager
def _jax_unchanged() -> Iterator[None]:
    """Undo what importing `pymc.sampling.jax` does: 64 bit for everyone, and 100 devices."""
    with ThreadPoolExecutor(1) as thread:  # in which no context manager of the caller is active
        wide = thread.submit(lambda: jax.config.jax_enable_x64).result()  # type: ignore[attr-defined]
    flags = os.environ.get("XLA_FLAGS")
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", wide)
        if flags is None:
            os.environ.pop("XLA_FLAGS", None)
        else:
            os.environ["XLA_FLAGS"] = flags
