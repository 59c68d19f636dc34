"""PyMC: transforms, named coordinates, VI, and JAX's flag."""

import os

import jax
import jax.numpy as jnp
import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import xarray

import steinwise as sw
from steinwise.adapters.containers import read_group

LABELS = (
    "mu",
    "tau",
    "share",
    "theta[north]",
    "theta[south]",
    "w.unconstrained[0]",
    "w.unconstrained[1]",
    "chol.unconstrained[0]",
    "chol.unconstrained[1]",
    "chol.unconstrained[2]",
)
PLAIN = pytensor.config.change_flags(mode="FAST_COMPILE")  # no C compiler: seconds, not minutes


@pytest.fixture(scope="module")
def model():
    with pm.Model(coords={"side": ["north", "south"]}) as model:
        mu = pm.Normal("mu")
        tau = pm.LogNormal("tau", 0.0, 0.5)
        pm.Uniform("share", 0.0, tau)  # a bound that is a parameter
        pm.Normal("theta", 0.0, 1.0, dims="side")
        pm.Dirichlet("w", np.array([2.0, 3.0, 4.0]))
        deviations = pm.HalfNormal.dist(1.0)
        pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=deviations, compute_corr=False)
        pm.Deterministic("twice", 2 * mu)
    return model


@pytest.fixture(scope="module")
def posterior(model):
    """Exact draws: without observations the posterior is the prior."""
    with PLAIN:
        found = pm.sample_prior_predictive(600, model=model, random_seed=1)
    return read_group(found, "prior")


@pytest.fixture(scope="module")
def both(posterior, model):
    return sw.from_pymc(posterior, model, independent=True)


def test_labels_are_those_of_the_summary(both):
    """Named coordinates as ArviZ prints them; a deterministic taken for a parameter."""
    samples, _ = both
    assert samples.names == LABELS
    assert samples.independent


def test_draws_go_where_the_transforms_send_them(both, posterior):
    samples, _ = both
    column = dict(zip(samples.names, samples.rows.T, strict=True))
    given = {name: posterior[name].values[0] for name in ("tau", "share", "w")}
    np.testing.assert_allclose(column["tau"], np.log(given["tau"]), rtol=1e-12)
    ratio = given["share"] / given["tau"]
    np.testing.assert_allclose(column["share"], np.log(ratio / (1 - ratio)), rtol=1e-9, atol=1e-9)
    log_w = np.log(given["w"])
    centred = log_w - log_w.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(column["w.unconstrained[0]"], centred[:, 0], rtol=1e-9, atol=1e-9)


def test_the_density_is_pymcs_with_its_jacobian(both, model):
    """The compiled log density of PyMC at the same points, and its gradient."""
    samples, target = both
    point = model.initial_point()
    ends = np.cumsum([0, *(np.size(v) for v in point.values())])
    shapes = [np.shape(v) for v in point.values()]
    with PLAIN:
        log_density, gradient = model.compile_logp(), model.compile_dlogp()
    for row in samples.rows[:20]:
        at = {
            name: row[a:b].reshape(shape)
            for name, a, b, shape in zip(point, ends[:-1], ends[1:], shapes, strict=True)
        }
        with jax.enable_x64(True):
            ours = float(target.log_density(jnp.asarray(row)))
        assert ours == pytest.approx(float(log_density(at)), abs=1e-9)
        np.testing.assert_allclose(target.score(row[None])[0], gradient(at), atol=1e-9)


def test_right_draws_fit_and_wrong_ones_do_not(both):
    samples, target = both
    some = samples.values[:, :300]
    assert not sw.check(some[0], target, alpha=0.01).rejected
    moved = some[0] + 0.7 * (np.array(LABELS) == "chol.unconstrained[1]")
    found = sw.check(moved, target, alpha=0.01, names=LABELS)
    assert found.rejected
    assert found.coordinates[LABELS.index("chol.unconstrained[1]")].adjusted_pvalue <= 0.01


def test_the_flags_of_jax_stay(both, posterior, model):
    """Importing pymc.sampling.jax turns on 64 bit, and asks XLA for 100 devices."""
    assert "xla_force_host" not in os.environ.get("XLA_FLAGS", "")
    with jax.enable_x64(True):  # the caller's own context must not become everyone's flag
        sw.from_pymc(posterior, model, independent=True)
    assert not jax.config.read("jax_enable_x64")
    assert jnp.ones(1).dtype == jnp.float32


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(0)
    x = rng.normal(size=20)
    with pm.Model() as model:
        slope = pm.Normal("slope", 0.0, 2.0)
        sigma = pm.HalfNormal("sigma", 1.0)
        pm.Normal("y", slope * x, sigma, observed=0.5 * x + 0.3 * rng.normal(size=20))
    return model


@pytest.fixture(scope="module")
def sampled(regression):
    with regression, PLAIN:
        return pm.sample(
            draws=400,
            tune=400,
            chains=2,
            cores=1,
            random_seed=2,
            progressbar=False,
            compute_convergence_checks=False,
            discard_tuned_samples=False,
        )


def test_nuts_fits_and_warm_up_is_left_alone(sampled, regression):
    """warmup_posterior and sample_stats are groups of their own."""
    samples, target = sw.from_pymc(sampled, regression)
    assert (samples.n_chains, samples.n_draws, samples.names) == (2, 400, ("slope", "sigma"))
    assert not sw.check(samples, target, alpha=0.01).rejected
    warm_up, _ = sw.from_pymc(sampled, regression, group="warmup_posterior")
    assert not np.array_equal(warm_up.values, samples.values)


def test_advi(regression):
    with regression, PLAIN:
        fit = pm.fit(3000, progressbar=False, random_seed=3)
        draws = fit.sample(400, random_seed=4)
    samples, target = sw.from_pymc(draws, regression, independent=True)
    assert repr(samples) == "Samples(400 independent draws, 2 coordinates: slope, sigma)"
    assert np.isfinite(target.score(samples.rows)).all()


class _Square(pytensor.graph.op.Op):
    """A black box with a gradient, which PyTensor cannot translate to JAX."""

    def make_node(self, x):
        x = pt.as_tensor_variable(x)
        return pytensor.graph.basic.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):  # noqa: ARG002
        outputs[0][0] = np.asarray(inputs[0] ** 2)

    def grad(self, inputs, gradients):
        return [2 * inputs[0] * gradients[0]]


def test_what_jax_does_not_have_runs_in_pytensor():
    with pm.Model() as model, PLAIN:
        x = pm.Flat("x", shape=2)
        pm.Potential("normal", -_Square()(x).sum() / 2)
        draws = np.random.default_rng(0).normal(size=(1, 300, 2))
        posterior = xarray.Dataset({"x": (("chain", "draw", "i"), draws)})
        _, target = sw.from_pymc(posterior, model, independent=True)
    np.testing.assert_allclose(target.score(draws[0]), -draws[0])
    values, slopes = target.line_values(draws[0], np.array([0]), draws[0][:, :1, None])
    np.testing.assert_allclose(values[:, 0, 0], -(draws[0] ** 2).sum(axis=1) / 2)
    np.testing.assert_allclose(slopes[:, 0, 0], -draws[0][:, 0])


def test_discrete_parameters_are_refused_by_name():
    with pm.Model() as model:
        pm.Poisson("count", 3.0)
    posterior = xarray.Dataset({"count": (("chain", "draw"), np.ones((1, 50), dtype=int))})
    with pytest.raises(sw.InputError, match="discrete parameters cannot be checked: count"):
        sw.from_pymc(posterior, model)


def test_a_draw_at_its_bound_is_named(posterior, model):
    broken = posterior.copy(deep=True)
    broken["tau"][0, 3] = 0.0
    with pytest.raises(sw.InputError, match=r"\(tau\).*at its bound"):
        sw.from_pymc(broken, model)


def test_what_is_refused(posterior, model, regression):
    with pytest.raises(sw.InputError, match="the draws have no slope, sigma"):
        sw.from_pymc(posterior, regression)
    with pytest.raises(sw.InputError, match=r"shape \(1,\), and the model has theta of shape"):
        sw.from_pymc(posterior.isel(side=[0]), model)
    with pytest.raises(sw.InputError, match=r"expected a pymc.Model"):
        sw.from_pymc(model, posterior)
