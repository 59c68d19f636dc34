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


def test_parameters_are_known_on_the_scale_of_the_model(both, posterior):
    """A bound that is a parameter, a simplex, a matrix: constrained and back, in the same order."""
    samples, _ = both
    scale = samples.constrained
    simplex, matrix = [f"w[{k}]" for k in range(3)], [f"chol[{k}]" for k in range(3)]
    assert scale.names == ("tau", "share", *simplex, *matrix)
    given = [posterior[name].values[0].reshape(600, -1) for name in ("tau", "share", "w", "chol")]
    found = scale.values(samples.rows)
    np.testing.assert_allclose(found, np.concatenate(given, axis=1), rtol=1e-7, atol=1e-9)


def test_a_summary_is_on_the_scale_of_the_model():
    """tau, whose mean is that of a half-normal distribution, not log tau."""
    with pm.Model() as model:
        pm.HalfNormal("tau")
    draws = np.abs(np.random.default_rng(0).normal(size=(1, 600)))
    posterior = xarray.Dataset({"tau": (("chain", "draw"), draws)})
    answers = sw.summary(*sw.from_pymc(posterior, model, independent=True), sweeps=1)
    tau = answers["tau"]
    assert [quantity.name for quantity in answers.quantities] == ["tau"]
    assert tau.mean == pytest.approx(draws.mean())
    assert abs(tau.corrected_mean - np.sqrt(2 / np.pi)) <= tau.corrected_mean_uncertainty


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
    assert found["chol.unconstrained[1]"].adjusted_pvalue <= 0.01


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
    with pytest.warns(sw.SteinwiseWarning, match=r"as those of pm\.fit.*pass independent=True"):
        chain, _ = sw.from_pymc(draws, regression)
    with pytest.warns(sw.SteinwiseWarning, match=r"as those of pm\.fit") as caught:
        sw.check(draws, regression, effort="quick")
    assert caught[0].filename == __file__  # not a line of ours
    assert not chain.independent
    assert not sw.from_pymc(draws, regression, independent=False)[0].independent  # and no warning
    samples, target = sw.from_pymc(draws, regression, independent=True)
    assert repr(samples) == "Samples(400 independent draws, 2 coordinates: slope, sigma)"
    assert np.isfinite(target.score(samples.rows)).all()


def test_sets_of_which_one_is_a_fit(sampled, regression):
    """Catches an option for the fit that is applied to the run, and its pair that is refused."""
    with regression, PLAIN:
        draws = pm.fit(3000, progressbar=False, random_seed=3).sample(400, random_seed=4)
    pair = sw.from_pymc(draws, regression, independent=True)
    found = sw.compare({"NUTS": sampled, "ADVI": pair}, regression, effort="quick")
    assert (found["NUTS"].draws.n_chains, found["NUTS"].draws.independent) == (2, False)
    assert found["ADVI"].draws.independent
    with pytest.raises(sw.InputError, match="every set brings its density"):
        sw.compare({"NUTS": sw.from_pymc(sampled, regression), "ADVI": pair}, regression)
    with pytest.warns(sw.SteinwiseWarning, match="independent=True, and these draws have sampler"):
        sw.from_pymc(sampled, regression, independent=True)


class _Square(pytensor.graph.op.Op):
    """A black box with a gradient, which PyTensor cannot translate to JAX."""

    def make_node(self, x):
        x = pt.as_tensor_variable(x)
        return pytensor.graph.basic.Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):  # noqa: ARG002
        outputs[0][0] = np.asarray(inputs[0] ** 2)

    def grad(self, inputs, gradients):
        return [2 * inputs[0] * gradients[0]]


@pytest.mark.filterwarnings("ignore:.*should implement `pullback`:FutureWarning")  # PyTensor 3
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


def test_discrete_variables_keep_their_support():
    """Catches indices that JAX takes to the nearest, and a derivative along a count."""
    rng = np.random.default_rng(5)
    with pm.Model() as model:
        rate = pm.Gamma("rate", 3.0, 2.0)
        pm.Poisson("count", rate)
        group = pm.Categorical("group", [0.2, 0.5, 0.3])
        pm.Normal("x", group, 1.0)
    rates = rng.gamma(3.0, 0.5, size=(1, 400))
    groups = rng.choice(3, size=(1, 400), p=[0.2, 0.5, 0.3])
    drawn = {
        "rate": rates,
        "count": rng.poisson(rates),
        "group": groups,
        "x": groups + rng.normal(size=(1, 400)),
    }
    posterior = xarray.Dataset({name: (("chain", "draw"), x) for name, x in drawn.items()})
    samples, target = sw.from_pymc(posterior, model, independent=True)
    assert samples.names == ("rate", "count", "group", "x")
    assert sw.check(samples, target).pvalue > 0.05
    posterior["group"] = (("chain", "draw"), rng.choice(3, size=(1, 400)))
    samples, _ = sw.from_pymc(posterior, model, independent=True)
    found = sw.check(samples, target)
    assert {c.name for c in found.flagged} >= {"group", "x"}


@pytest.mark.parametrize("jax_has_all", [True, False])
def test_categories_end(jax_has_all):
    """Catches 64 evaluations where 2 are enough, and a mean that is taken for no category."""
    rng = np.random.default_rng(7)
    with pm.Model() as model, PLAIN:
        logit = pm.Normal("logit")
        share = pm.math.sigmoid(logit)
        group = pm.Categorical("group", pm.math.stack([1 - share, share]))
        pm.Normal("x", pt.as_tensor_variable([-1.0, 1.0])[group], 1.0)
        if not jax_has_all:
            pm.Potential("nothing", 0.0 * _Square()(logit))
        logits = rng.normal(size=(1, 60))
        groups = (rng.random((1, 60)) < 1 / (1 + np.exp(-logits))).astype(int)
        drawn = {"logit": logits, "group": groups, "x": 2 * groups - 1 + rng.normal(size=(1, 60))}
        posterior = xarray.Dataset({name: (("chain", "draw"), x) for name, x in drawn.items()})
        samples, target = sw.from_pymc(posterior, model, independent=True)
        real = sw.support.real
        assert target.support == [real, sw.support.integers(0, 1), real]
        assert sw.check(samples, target, n_bootstrap=199).pvalue > 0.05


def test_variables_on_their_own_scale():
    """Catches a Jacobian, a bound of one entry taken for all, a name that is not the model's."""
    rng = np.random.default_rng(6)
    with pm.Model() as model:
        pm.Normal("mu")
        pm.Gamma("rate", 3.0, 2.0)
        pm.Uniform("between", 0.0, np.array([1.0, 2.0]), shape=2)
        pm.Beta("share", 2.0, 2.0)
        pm.Bernoulli("flag", 0.3)
    drawn = {
        "mu": rng.normal(size=(1, 400)),
        "rate": rng.gamma(3.0, 0.5, size=(1, 400)),
        "between": rng.uniform(size=(1, 400, 2)) * [1.0, 2.0],
        "share": rng.beta(2.0, 2.0, size=(1, 400)),
        "flag": rng.binomial(1, 0.3, size=(1, 400)),
    }
    posterior = xarray.Dataset(
        {name: (("chain", "draw", "i")[: x.ndim], x) for name, x in drawn.items()}
    )
    samples, target = sw.from_pymc(posterior, model, independent=True, space="constrained")
    assert samples.names == ("mu", "rate", "between[0]", "between[1]", "share", "flag")
    interval, integers = sw.support.interval, sw.support.integers
    assert target.support == [
        sw.support.real,
        sw.support.positive,
        interval(0, 1),
        interval(0, 2),
        interval(0, 1),
        integers(0, 1),
    ]
    np.testing.assert_array_equal(samples.rows[:, 1], drawn["rate"][0])
    rows = np.tile(samples.rows[0], (5, 1))
    rows[:, 1] = samples.rows[:5, 1]
    ours = target.log_values(rows)
    assert ours is not None
    expected = 2 * np.log(rows[:, 1]) - 2 * rows[:, 1]
    np.testing.assert_allclose(ours - ours[0], expected - expected[0], atol=1e-9)
    assert sw.check(samples, target).pvalue > 0.05


def test_uniform_integers_have_their_ends():
    """A change point; entries with ends of their own; an end that is another variable."""
    rng = np.random.default_rng(0)
    with pm.Model() as model:
        pm.DiscreteUniform("t", 1, 23)
        count = pm.Binomial("count", 10, 0.5)
        pm.DiscreteUniform("some", [0, 2], [5, 9], shape=2)
        pm.DiscreteUniform("part", 0, count)
    drawn = {
        "t": rng.integers(1, 24, size=(1, 60)),
        "count": rng.integers(4, 9, size=(1, 60)),
        "some": rng.integers(2, 6, size=(1, 60, 2)),
        "part": rng.integers(0, 4, size=(1, 60)),
    }
    posterior = xarray.Dataset(
        {name: (("chain", "draw", "i")[: x.ndim], x) for name, x in drawn.items()}
    )
    _, target = sw.from_pymc(posterior, model, independent=True)
    integers = sw.support.integers
    expected = [integers(1, 23), integers(0, None), integers(0, 5), integers(2, 9)]
    assert target.support == [*expected, integers(0, None)]


def test_what_has_no_range_of_its_own_is_refused(posterior, model):
    with pytest.raises(sw.InputError, match=r"w has the support .*simplex.*space=.unconstrained"):
        sw.from_pymc(posterior, model, space="constrained")
    with pm.Model() as nested:
        pm.Uniform("share", 0.0, pm.LogNormal("tau"))
    draws = {"tau": np.full((1, 20), 1.0) + np.arange(20) / 20, "share": np.full((1, 20), 0.5)}
    some = xarray.Dataset({name: (("chain", "draw"), x) for name, x in draws.items()})
    with pytest.raises(sw.InputError, match="bounds of share depend on other parameters"):
        sw.from_pymc(some, nested, space="constrained")


def test_a_draw_at_its_bound_is_named(posterior, model):
    broken = posterior.copy(deep=True)
    broken["tau"][0, 3] = 0.0
    with pytest.raises(sw.InputError, match=r"\(tau\).*at its bound"):
        sw.from_pymc(broken, model)


def test_what_is_refused(posterior, model, regression):
    with pytest.raises(sw.InputError, match=r"have no slope, sigma.*Is this the model that"):
        sw.from_pymc(posterior, regression)
    with pytest.raises(sw.InputError, match=r"shape \(1,\), and the model has theta of shape"):
        sw.from_pymc(posterior.isel(side=[0]), model)
    with pytest.raises(sw.InputError, match=r"expected a pymc.Model"):
        sw.from_pymc(model, posterior)


def test_draws_and_model_are_recognised(both, posterior, model):
    """Catches `sw.check(idata, model)` that needs the adapter by name, or loses `independent`."""
    found = sw.check(posterior, model, independent=True)
    assert found.draws.independent
    assert found.pvalue == sw.check(*both).pvalue
    compared = sw.compare({"a": posterior, "b": posterior}, model, independent=True)
    assert compared["a"].pvalue == compared["b"].pvalue == found.pvalue
    with pytest.raises(sw.InputError, match=r"sw.check\(idata, model\)"):
        sw.check(posterior)
    with pytest.raises(sw.InputError, match="swapped"):
        sw.check(model, posterior)
