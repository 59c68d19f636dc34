"""Series along lines of NumPyro's and PyMC's log densities, against nested derivatives."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from numpyro.infer.util import initialize_model

from benchmarks.numpyro_models import GROUP, GROUPS, MODELS, REAL, correlation, gaussian_process
from steinwise._internal.compiled import precision
from tests.target.series.reference import assert_close, make_plan, nested_derivatives

RNG = np.random.default_rng(1)
# third derivatives of factorisations can wait for each other's threads forever in JAX on two cores
FACTORISES = {correlation, gaussian_process}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_numpyro(model):
    """A primitive of theirs that has no rule, or a wrong one."""
    with precision():
        found = initialize_model(jax.random.key(0), model, dynamic_args=False)
        start, unravel = ravel_pytree(found.param_info.z)

    def log_density(x):
        return -found.potential_fn(unravel(x))

    order = 2 if model in FACTORISES else 3
    x = np.asarray(start) * 0.2 + 0.1 * RNG.normal(size=(2, len(start)))
    chosen = np.unique(np.linspace(0, len(start) - 1, 6).astype(int))
    plan = make_plan(log_density, len(start), order)
    assert plan.supported.all(), plan.unsupported
    expected = nested_derivatives(log_density, x, np.eye(len(start))[chosen], order)
    assert_close(plan.coordinate_series(x)[:, chosen], expected, chosen)


def test_pymc():
    """The log density that PyMC compiles to JAX."""
    with warnings.catch_warnings():  # what it warns of when imported is not ours
        warnings.simplefilter("ignore")
        before = jax.config.read("jax_enable_x64")
        import pymc as pm
        from pymc.sampling.jax import get_jaxified_logp

        jax.config.update("jax_enable_x64", before)
    with pm.Model() as model:
        scale = pm.HalfNormal("scale", 1.0)
        freedom = pm.Gamma("freedom", 2.0, 0.1)
        effects = pm.Normal("effects", 0.0, scale, shape=GROUPS)
        pm.StudentT("y", nu=freedom, mu=effects[GROUP], sigma=1.0, observed=REAL)
    point = model.initial_point()
    sizes = [np.size(value) for value in point.values()]
    with precision():
        logp = get_jaxified_logp(model)

    def log_density(x):
        parts = jnp.split(x, np.cumsum(sizes)[:-1])
        shaped = [p.reshape(np.shape(v)) for p, v in zip(parts, point.values(), strict=True)]
        return logp(shaped)

    d = sum(sizes)
    x = 0.3 * RNG.normal(size=(2, d))
    plan = make_plan(log_density, d, 3)
    assert plan.supported.all(), plan.unsupported
    assert_close(plan.coordinate_series(x), nested_derivatives(log_density, x, np.eye(d), 3))
