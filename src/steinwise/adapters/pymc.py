"""PyMC: MCMC and variational inference, in any of the containers of ArviZ."""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from steinwise._internal.compiled import precision
from steinwise._internal.optional import require
from steinwise.adapters.common import (
    Block,
    Variable,
    by_rows,
    host_target,
    refuse_discrete,
    require_parameters,
    samples_of,
    split,
)
from steinwise.adapters.containers import read_group, variables
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, TargetError
from steinwise.target import AbstractTarget, Target


def from_pymc(
    idata: Any, model: Any, *, group: str = "posterior", independent: bool | None = None
) -> tuple[Samples, AbstractTarget]:
    """Draws and density of a PyMC model, on the space that PyMC samples in.

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
        True for draws of variational inference, which come as one chain but are independent.

    Returns
    -------
    Samples, Target
        The density runs in JAX where PyTensor can translate the model, otherwise in PyTensor.
        JAX's precision flag is left unchanged. (PyTensor sets it once per process, when it first
        uses JAX. If that happens here, set it yourself before you use one of PyMC's JAX samplers.)

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
    return unconstrained(variables(read_group(idata, group)), model, independent)


def unconstrained(
    draws: Mapping[str, Variable], model: Any, independent: bool | None
) -> tuple[Samples, AbstractTarget]:
    """Constrained draws of the free variables of a model, and its density, unconstrained."""
    free = model.free_RVs
    refuse_discrete([rv.name for rv in free if rv.dtype.startswith(("int", "uint", "bool"))])
    shapes = model.eval_rv_shapes()
    require_parameters(draws, {rv.name: shapes[rv.name] for rv in free}, "the model")
    blocks = _blocks(draws, model)
    samples = samples_of(blocks, independent)
    value_shapes = [block.shape for block in blocks]
    try:
        target = Target(_jax_log_density(model, value_shapes))
        target.prepare(samples.dim)
    except (NotImplementedError, TargetError):  # an operation that JAX does not have
        return samples, _pytensor_target(model, value_shapes)
    return samples, target


def _blocks(draws: Mapping[str, Variable], model: Any) -> list[Block]:
    """The draws of all free variables, each through its transform to the real line."""
    pytensor = require("pytensor", "pymc", "from_pymc")
    free = model.free_RVs
    transforms = [model.rvs_to_transforms[rv] for rv in free]
    forward = [
        rv if transform is None else transform.forward(rv, *rv.owner.inputs)
        for rv, transform in zip(free, transforms, strict=True)
    ]
    # a bound may be another free variable, so all of them are inputs
    function = pytensor.function(free, forward, on_unused_input="ignore", mode="FAST_COMPILE")
    given = [draws[rv.name].values.astype(rv.dtype) for rv in free]
    chains, count = given[0].shape[:2]
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # a draw at its bound is refused later, by name
        rows = [function(*(v[c, i] for v in given)) for c in range(chains) for i in range(count)]
    blocks = []
    for k, rv in enumerate(free):
        values = np.stack([row[k] for row in rows]).reshape(chains, count, *np.shape(rows[0][k]))
        alone = _elementwise(transforms[k], forward[k], rv)
        blocks.append(Block.of(rv.name, values, draws[rv.name], elementwise=alone))
    return blocks


def _elementwise(transform: Any, value: Any, rv: Any) -> bool:
    """Whether the transform acts on each entry separately: its Jacobian has a factor for each."""
    if transform is None:
        return True
    return value.ndim == rv.ndim == transform.log_jac_det(value, *rv.owner.inputs).ndim


def _jax_log_density(model: Any, shapes: list[tuple[int, ...]]) -> Any:
    with _jax_unchanged(), precision():
        to_jax = require("pymc.sampling.jax", "pymc", "from_pymc")
        function = to_jax.get_jaxified_graph(inputs=model.value_vars, outputs=[model.logp()])

    def log_density(x: Any) -> Any:
        return function(*split(x, shapes))[0]

    return log_density


def _pytensor_target(model: Any, shapes: list[tuple[int, ...]]) -> AbstractTarget:
    names = [value.name for value in model.value_vars]
    log_density, gradient = model.compile_logp(), model.compile_dlogp()

    def value_and_gradient(x: np.ndarray) -> tuple[float, np.ndarray]:
        point = dict(zip(names, split(x, shapes), strict=True))
        return float(log_density(point)), gradient(point)

    return host_target(by_rows(value_and_gradient, (ArithmeticError, np.linalg.LinAlgError)))


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
