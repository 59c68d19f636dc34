"""NumPyro: transforms, sites that are not parameters, 32-bit draws, SVI."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pandas
import pytest
from numpyro.contrib.control_flow import scan
from numpyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO, autoguide
from numpyro.infer.util import initialize_model
from scipy import stats

import steinwise as sw
from steinwise.adapters.common import Variable
from steinwise.adapters.numpyro import constrained, unconstrained
from steinwise.adapters.numpyro_sites import NumPyroModel

Y = jnp.array([0.3, -0.2, 0.5])


def every_kind(y=None):
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
    tau = numpyro.sample("tau", dist.LogNormal(0.0, 0.5))
    numpyro.sample("share", dist.Uniform(0.0, tau))  # a bound that is a parameter
    numpyro.sample("w", dist.Dirichlet(jnp.array([2.0, 3.0, 4.0])))
    numpyro.sample("chol", dist.LKJCholesky(2, 2.0))
    numpyro.sample("b", dist.Normal(0.0, 1.0).expand([2, 2]).to_event(2))
    numpyro.deterministic("twice", 2 * mu)
    with numpyro.plate("data", 3):
        numpyro.sample("y", dist.Normal(mu, 1.0), obs=y)


LABELS = (
    "mu",
    "tau",
    "share",
    "w.unconstrained[0]",
    "w.unconstrained[1]",
    "chol.unconstrained[0]",
    "b[0, 0]",
    "b[0, 1]",
    "b[1, 0]",
    "b[1, 1]",
)


def _run(model, *args, draws=300, chains=2, warmup=300, **options):
    mcmc = MCMC(
        NUTS(model),
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="sequential",
        progress_bar=False,
        **options,
    )
    mcmc.run(jax.random.key(1), *args)
    return mcmc


@pytest.fixture(scope="module")
def mcmc():
    return _run(every_kind, Y)


@pytest.fixture(scope="module")
def both(mcmc):
    return sw.from_numpyro(mcmc)


def test_labels_and_shape(both):
    """A deterministic or observed site taken for a parameter; a matrix in the wrong order."""
    samples, _ = both
    assert samples.names == LABELS
    assert (samples.n_chains, samples.n_draws, samples.independent) == (2, 300, False)


def test_draws_go_where_the_transforms_send_them(both, mcmc):
    """Closed forms of the transforms, from 32-bit draws and in 64 bit."""
    samples, _ = both
    column = dict(zip(samples.names, np.moveaxis(samples.values, 2, 0), strict=True))
    given = {k: np.asarray(v, np.float64) for k, v in mcmc.get_samples(True).items()}
    assert mcmc.get_samples()["tau"].dtype == np.float32
    np.testing.assert_allclose(column["tau"], np.log(given["tau"]), rtol=1e-12)
    ratio = given["share"] / given["tau"]
    np.testing.assert_allclose(column["share"], np.log(ratio / (1 - ratio)), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(column["b[0, 1]"], given["b"][..., 0, 1])
    np.testing.assert_allclose(
        np.tanh(column["chol.unconstrained[0]"]), given["chol"][..., 1, 0], rtol=1e-6
    )


def test_parameters_are_known_on_the_scale_of_the_model(both, mcmc):
    """tau, not log tau; entries that never change are left out."""
    samples, _ = both
    scale = samples.constrained
    assert scale.names == ("tau", "share", "w[0]", "w[1]", "w[2]", "chol[1, 0]", "chol[1, 1]")
    draws = mcmc.get_samples(group_by_chain=True)
    found = scale.values(samples.rows)
    np.testing.assert_allclose(found[:, 0], np.ravel(draws["tau"]), rtol=1e-5)
    np.testing.assert_allclose(found[:, 3], np.ravel(draws["w"][..., 1]), rtol=1e-4)


def test_a_summary_is_on_the_scale_of_the_model():
    def model():
        numpyro.sample("mu", dist.Normal(0.0, 1.0))
        numpyro.sample("tau", dist.LogNormal(0.0, 0.5))

    functions = {"half": lambda x: x[:, 1] / 2, "twice": lambda x: 2 * x["tau"]}
    answers = sw.summary(*sw.from_numpyro(_run(model)), sweeps=1, functions=functions)
    assert [q.name for q in answers.quantities] == ["mu", "tau", "half", "twice"]
    assert 2 * answers["half"].mean == pytest.approx(answers["tau"].mean, rel=1e-6)
    assert answers["twice"].mean == pytest.approx(2 * answers["tau"].mean, rel=1e-6)
    assert abs(answers["tau"].mean - np.exp(0.125)) < 0.15
    with pytest.raises(sw.InputError, match=r"The row of its parameter is 'tau'"):
        _ = answers["log(tau)"]


def test_the_density_is_numpyros_with_its_jacobian(both):
    """NumPyro's own potential, which its samplers use, at the same points."""
    samples, target = both
    info = initialize_model(jax.random.key(0), every_kind, model_args=(Y,))
    x = samples.rows[:40]
    shapes = {"mu": (), "tau": (), "share": (), "w": (2,), "chol": (1,), "b": (2, 2)}
    with jax.enable_x64(True):
        ours = np.array([float(target.log_density(jnp.asarray(row))) for row in x])
        theirs, at = [], np.cumsum([0, *(int(np.prod(s)) for s in shapes.values())])
        for row in x:
            parts = zip(shapes.items(), at[:-1], at[1:], strict=True)
            position = {n: jnp.asarray(row[a:b]).reshape(s) for (n, s), a, b in parts}
            theirs.append(-float(info.potential_fn(position)))
    np.testing.assert_allclose(ours - ours[0], np.array(theirs) - theirs[0], atol=1e-9)


def test_right_draws_fit_and_wrong_ones_do_not(both):
    samples, target = both
    result = sw.check(samples, target, alpha=0.01)
    assert not result.rejected
    with pytest.raises(sw.InputError, match=r"Its entries have a row each, such as 'b\[0, 0\]'"):
        _ = result["b"]
    some = sw.check(samples, target, coordinates=["log(tau)", "b"], effort="quick")
    assert {c.name for c in some.coordinates} == {"tau", *LABELS[-4:]}
    moved = samples.values.copy()
    moved[..., LABELS.index("w.unconstrained[1]")] += 0.7
    found = sw.check(sw.Samples.of(moved, names=samples.names), target, alpha=0.01)
    assert found.rejected
    flagged = [c.name for c in found.coordinates if c.adjusted_pvalue <= 0.01]
    assert "w.unconstrained[1]" in flagged


def test_one_chain_and_the_tuple_go_into_check():
    mcmc = _run(lambda: numpyro.sample("tau", dist.HalfNormal(1.0)), draws=900, chains=1)
    result = sw.check(*sw.from_numpyro(mcmc), alpha=0.01)
    assert not result.rejected
    assert [c.name for c in result.coordinates] == ["tau"]


def _correlated():
    x = numpyro.sample("x", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.Normal(0.9 * x, 0.4359))
    numpyro.sample("tau", dist.LogNormal(0.0, 1.0))


def test_mean_field_svi_is_found_out():
    """The guide's draws are independent, and too narrow where the posterior is correlated."""
    guide = autoguide.AutoNormal(_correlated)
    svi = SVI(_correlated, guide, numpyro.optim.Adam(0.02), Trace_ELBO(num_particles=8))
    fitted = svi.run(jax.random.key(0), 1500, progress_bar=False)
    samples, target = sw.from_numpyro(svi, params=fitted.params, n_draws=300)
    assert samples.independent
    assert samples.names == ("x", "y", "tau")
    result = sw.check(samples, target)
    assert result.rejected
    by_name = {c.name: c for c in result.coordinates}
    assert by_name["tau"].adjusted_pvalue > 0.05
    again, _ = sw.from_numpyro(svi, params=fitted.params, n_draws=300)
    np.testing.assert_array_equal(samples.values, again.values)


def test_a_guide_that_is_a_function():
    def model(scale):
        numpyro.sample("tau", dist.HalfNormal(scale))

    def guide(scale):
        loc = numpyro.param("loc", 0.0)
        numpyro.sample("tau", dist.LogNormal(loc, 0.5))

    svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
    fitted = svi.run(jax.random.key(0), 100, 2.0, progress_bar=False)
    samples, _ = sw.from_numpyro(svi, params=fitted.params, args=(2.0,), n_draws=100)
    assert samples.names == ("tau",)
    with pytest.raises(sw.InputError, match=r"params=svi.run"):
        sw.from_numpyro(svi, args=(2.0,))
    with pytest.raises(sw.InputError, match="Pass args="):
        sw.from_numpyro(svi, params=fitted.params)


def _fitted(model, guide):
    svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
    return svi, svi.run(jax.random.key(0), 200, progress_bar=False).params


def _normal_pair():
    x = numpyro.sample("x", dist.Normal(0.5, 0.3))
    numpyro.sample("y", dist.Normal(0.9 * x, 0.4))


def test_a_laplace_approximation_is_drawn_from_as_what_it_stands_for():
    """Catches draws of the point that it is trained as."""
    svi, params = _fitted(_normal_pair, autoguide.AutoLaplaceApproximation(_normal_pair))
    samples, target = sw.from_numpyro(svi, params=params, n_draws=400)
    assert samples.independent
    np.testing.assert_allclose(samples.rows.std(axis=0), [0.3, np.hypot(0.27, 0.4)], rtol=0.15)
    assert not sw.check(samples, target, alpha=0.01).rejected


@pytest.mark.parametrize(
    "guide",
    [
        autoguide.AutoDiagonalNormal,
        autoguide.AutoMultivariateNormal,
        autoguide.AutoLowRankMultivariateNormal,
        autoguide.AutoIAFNormal,
        autoguide.AutoBNAFNormal,
    ],
)
def test_guides_of_all_kinds_are_drawn_from(guide):
    svi, params = _fitted(_normal_pair, guide(_normal_pair))
    samples, _ = sw.from_numpyro(svi, params=params, n_draws=50)
    assert samples.names == ("x", "y")
    assert (samples.rows.std(axis=0) > 0.05).all()


def test_a_guide_that_is_a_point_is_refused_as_one():
    """Catches a question why the sampler never moved, where there is no sampler."""

    def partly():
        numpyro.sample("x", dist.Delta(numpyro.param("at", 0.3)))
        numpyro.sample("y", dist.Normal(numpyro.param("loc", 0.0), 1.0))

    svi, params = _fitted(_normal_pair, autoguide.AutoDelta(_normal_pair))
    with pytest.raises(sw.InputError, match=r"AutoDelta\) has a point.* for x, y: .* fit Auto"):
        sw.from_numpyro(svi, params=params)
    svi, params = _fitted(_normal_pair, partly)
    with pytest.raises(sw.InputError, match=r"partly\) has a point.* for x: .*handlers.condition"):
        sw.from_numpyro(svi, params=params)


def test_a_dict_of_a_guide_is_answered_with_the_svi():
    """Catches advice to pass an MCMC, of which there is none."""
    guide = autoguide.AutoNormal(_normal_pair)
    _, params = _fitted(_normal_pair, guide)
    draws = guide.sample_posterior(jax.random.key(1), params, sample_shape=(50,))
    with pytest.raises(sw.InputError, match=r"if from guide.sample_posterior .*from_numpyro\(svi,"):
        sw.check(draws, lambda x: -jnp.sum(x**2))


def test_a_reparametrised_model():
    """The latent site is the standardised one; the user's own becomes a deterministic."""
    from numpyro.handlers import reparam
    from numpyro.infer.reparam import LocScaleReparam

    def model():
        tau = numpyro.sample("tau", dist.LogNormal(0.0, 0.5))
        with numpyro.plate("schools", 2):
            numpyro.sample("theta", dist.Normal(0.0, tau))

    mcmc = _run(reparam(model, config={"theta": LocScaleReparam(0)}))
    samples, target = sw.from_numpyro(mcmc)
    assert samples.names == ("tau", "theta_decentered[0]", "theta_decentered[1]")
    assert not sw.check(samples, target, alpha=0.01).rejected


def test_a_model_with_a_scan():
    """Catches draws that are passed to a scan as arrays which it cannot take entries of."""

    def walk():
        def one(state, y):
            state = numpyro.sample("state", dist.Normal(state, 1.0))
            numpyro.sample("y", dist.Normal(state, 1.0), obs=y)
            return state, None

        scan(one, 0.0, np.zeros(3))

    chain = np.random.default_rng(0).normal(size=(1, 5, 3))
    _, target = unconstrained({"state": Variable.of(chain)}, NumPyroModel(walk, (), {}), None)
    steps = np.diff(chain[0], axis=1, prepend=0)
    expected = -0.5 * np.sum(steps**2 + chain[0] ** 2, axis=1)
    found = target.log_values(chain[0])
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-12)


def test_what_is_refused(mcmc):
    with pytest.raises(sw.InputError, match="has not run"):
        sw.from_numpyro(MCMC(NUTS(every_kind), num_warmup=1, num_samples=1))
    with pytest.raises(sw.InputError, match=r"expected a numpyro.infer.MCMC"):
        sw.from_numpyro(mcmc.get_samples())
    with pytest.raises(sw.InputError, match=r"the draws have no y, .* with y=None: data that"):
        sw.from_numpyro(mcmc, args=())  # without its data the model samples y


def counts_and_mixtures():
    rate = numpyro.sample("rate", dist.Gamma(3.0, 2.0))
    trials = numpyro.sample("trials", dist.Poisson(rate))
    numpyro.sample("successes", dist.Binomial(trials, 0.4))
    numpyro.sample("place", dist.DiscreteUniform(0, trials))  # an end that is a parameter
    with numpyro.plate("data", 2):
        group = numpyro.sample("group", dist.Categorical(jnp.array([0.2, 0.5, 0.3])))
        numpyro.sample("x", dist.Normal(jnp.array([-2.0, 0.0, 2.0])[group], 1.0))
    numpyro.sample("flag", dist.Bernoulli(0.3))


@pytest.fixture(scope="module")
def prior_draws():
    """Exact draws: without observations the posterior is the prior."""
    found = Predictive(counts_and_mixtures, num_samples=400)(jax.random.key(3))
    return {name: np.asarray(values)[None] for name, values in found.items()}


def _entered(draws, enter=unconstrained, model=counts_and_mixtures):
    variables = {name: Variable.of(values) for name, values in draws.items()}
    return enter(variables, NumPyroModel(model, (), {}), True)


def test_discrete_sites_keep_their_values_and_support(prior_draws):
    """Catches a transform of a count, an end taken from one draw, an index beyond its end."""
    samples, target = _entered(prior_draws)
    support = dict(zip(samples.names, target.support, strict=True))
    counts, groups = sw.support.integers(0, None), sw.support.integers(0, 2)
    assert support["rate"] == support["x[0]"] == sw.support.real
    assert support["trials"] == support["successes"] == support["place"] == counts
    assert support["group[0]"] == support["group[1]"] == groups
    assert support["flag"] == sw.support.integers(0, 1)
    column = dict(zip(samples.names, samples.rows.T, strict=True))
    np.testing.assert_array_equal(column["trials"], prior_draws["trials"][0])
    np.testing.assert_allclose(column["rate"], np.log(prior_draws["rate"][0]), rtol=1e-6)


def _log_joint(x, *, jacobian):
    """The model of `counts_and_mixtures` by hand, at a dict of values; log rate as its Jacobian."""
    means, shares = np.array([-2.0, 0.0, 2.0]), np.array([0.2, 0.5, 0.3])
    known = [
        stats.gamma.logpdf(x["rate"], 3.0, scale=0.5),
        stats.poisson.logpmf(x["trials"], x["rate"]),
        stats.binom.logpmf(x["successes"], x["trials"], 0.4),
        stats.randint.logpmf(x["place"], 0, x["trials"] + 1),
        np.log(shares[x["group"]]).sum() + stats.norm.logpdf(x["x"], means[x["group"]]).sum(),
        stats.bernoulli.logpmf(x["flag"], 0.3),
    ]
    return sum(known) + jacobian * np.log(x["rate"])


@pytest.mark.parametrize("enter", [unconstrained, constrained])
def test_the_log_joint_of_discrete_sites(enter, prior_draws):
    """By hand, at draws and beyond an end that depends on the draw: no sum over their values."""
    samples, target = _entered(prior_draws, enter)
    names, density = list(samples.names), jax.jit(target.log_density)
    with jax.enable_x64(True):
        for i in range(8):
            at = {name: values[0, i] for name, values in prior_draws.items()}
            row = samples.rows[i].copy()
            ours = float(density(jnp.asarray(row)))
            expected = _log_joint(at, jacobian=enter is unconstrained)
            assert ours == pytest.approx(expected, abs=1e-4)  # the draws are 32 bit
            row[names.index("place")] = at["trials"] + 1
            assert float(density(jnp.asarray(row))) == -np.inf


def test_right_discrete_draws_fit_and_wrong_ones_are_named(prior_draws):
    samples, target = _entered(prior_draws)
    assert sw.check(samples, target).pvalue > 0.05
    wrong = dict(prior_draws, group=np.random.default_rng(0).permuted(prior_draws["group"], axis=1))
    assert {c.name for c in sw.check(_entered(wrong)[0], target).flagged} >= {
        "group[0]",
        "group[1]",
    }


@pytest.mark.parametrize("kernel", ["gibbs", "mixed"])
def test_samplers_of_discrete_sites(kernel):
    """The kernels that draw them, from end to end."""
    from numpyro.infer import HMC, DiscreteHMCGibbs, MixedHMC

    def model(y):
        mean = numpyro.sample("mean", dist.Normal(jnp.array([-1.0, 1.0]), 1.0).to_event(1))
        with numpyro.plate("data", 3):
            group = numpyro.sample("group", dist.Bernoulli(0.5))
            numpyro.sample("y", dist.Normal(mean[group], 1.0), obs=y)

    drawn = {
        "gibbs": DiscreteHMCGibbs(NUTS(model), modified=True),
        "mixed": MixedHMC(HMC(model, trajectory_length=1.5), num_discrete_updates=8),
    }[kernel]
    mcmc = MCMC(drawn, num_warmup=300, num_samples=6000, thinning=6, progress_bar=False)
    mcmc.run(jax.random.key(0), jnp.array([-0.8, 0.4, 1.1]))
    samples, target = sw.from_numpyro(mcmc)
    assert samples.names == ("mean[0]", "mean[1]", "group[0]", "group[1]", "group[2]")
    assert sw.check(samples, target, alpha=0.01).pvalue > 0.01
    moved = samples.values.copy()
    moved[..., 2] = 1 - moved[..., 2]
    found = sw.check(sw.Samples.of(moved, names=samples.names), target, alpha=0.01)
    assert "group[0]" in {c.name for c in found.flagged}


def test_discrete_sites_that_cannot_change_one_by_one_are_refused():
    def model():
        numpyro.sample("votes", dist.Multinomial(5, jnp.array([0.2, 0.8])))

    votes = np.random.default_rng(0).multinomial(5, [0.2, 0.8], size=(1, 50))
    with pytest.raises(sw.InputError, match=r"votes has the support Multinomial.*none can change"):
        _entered({"votes": votes}, model=model)


def test_discrete_sites_that_were_summed_out_are_named(prior_draws):
    without = {name: values for name, values in prior_draws.items() if name != "flag"}
    with pytest.raises(sw.InputError, match=r"the draws have no flag: discrete sites.*summed out"):
        _entered(without)


def bounded_sites():
    numpyro.sample("mu", dist.Normal(0.0, 1.0))
    numpyro.sample("tau", dist.HalfNormal(1.0))
    numpyro.sample("share", dist.Beta(0.5, 0.5))
    numpyro.sample("angle", dist.VonMises(0.0, 1.0))
    numpyro.sample("between", dist.Uniform(-1.0, jnp.array([2.0, 3.0])))


def test_sites_on_their_own_scale():
    """Catches a Jacobian, ends of one entry taken for all, and a name that is not the model's."""
    found = Predictive(bounded_sites, num_samples=400)(jax.random.key(0))
    draws = {name: np.asarray(values)[None] for name, values in found.items()}
    samples, target = _entered(draws, constrained, bounded_sites)
    support = dict(zip(samples.names, target.support, strict=True))
    assert support.pop("angle") == sw.support.interval(-np.pi, np.pi)
    assert support == {
        "mu": sw.support.real,
        "tau": sw.support.positive,
        "share": sw.support.interval(0, 1),
        "between[0]": sw.support.interval(-1, 2),
        "between[1]": sw.support.interval(-1, 3),
    }
    np.testing.assert_array_equal(samples.values[..., 1], draws["tau"].astype(float))
    result = sw.check(samples, target)
    assert result.pvalue > 0.05
    tau = samples.rows[:5, 1]
    rows = np.tile(samples.rows[0], (5, 1))
    rows[:, 1] = tau
    ours = target.log_values(rows)
    assert ours is not None
    np.testing.assert_allclose(ours - ours[0], (tau[0] ** 2 - tau**2) / 2, atol=1e-9)


def test_spaces_of_a_run():
    mcmc = _run(lambda: numpyro.sample("tau", dist.HalfNormal(1.0)), draws=900, chains=1)
    samples, target = sw.from_numpyro(mcmc, space="constrained")
    np.testing.assert_allclose(samples.rows[:, 0], mcmc.get_samples()["tau"])
    assert target.support == [sw.support.positive]
    assert sw.check(samples, target, alpha=0.01).pvalue > 0.01
    with pytest.raises(sw.InputError, match=r"space is 'own': expected 'unconstrained' or"):
        sw.from_numpyro(mcmc, space="own")  # type: ignore[arg-type]


def test_what_has_no_range_of_its_own_is_refused(mcmc):
    with pytest.raises(sw.InputError, match=r"w has the support Simplex.*unconstrained"):
        sw.from_numpyro(mcmc, space="constrained")

    def model():
        tau = numpyro.sample("tau", dist.HalfNormal(1.0))
        numpyro.sample("share", dist.Uniform(0.0, tau))

    with pytest.raises(sw.InputError, match=r"bounds of share depend on other parameters.*space="):
        sw.from_numpyro(_run(model, draws=20, chains=1), space="constrained")


def test_a_plate_that_subsamples_is_refused():
    def model(data):
        mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
        with numpyro.plate("rows", 10, subsample_size=2) as rows:
            numpyro.sample("y", dist.Normal(mu, 1.0), obs=data[rows])

    svi = SVI(model, autoguide.AutoNormal(model), numpyro.optim.Adam(0.05), Trace_ELBO())
    fitted = svi.run(jax.random.key(0), 20, jnp.zeros(10), progress_bar=False)
    with pytest.raises(sw.InputError, match="the plate rows takes 2 of 10"):
        sw.from_numpyro(svi, params=fitted.params, args=(jnp.zeros(10),))


def test_a_draw_at_its_bound_is_named():
    """In 32 bit a draw can round to the bound itself, which the transform sends to infinity."""

    def model():
        numpyro.sample("share", dist.Beta(2.0, 2.0))

    draws = np.random.default_rng(0).uniform(size=(1, 50)).astype(np.float32)
    draws[0, 7] = 1.0
    with pytest.raises(sw.InputError, match=r"\(share\).*at its bound"):
        unconstrained({"share": Variable.of(draws)}, NumPyroModel(model, (), {}), None)


def test_a_model_that_is_fixed_to_32_bit():
    """A scan whose carry is float32 does not trace in 64 bit; the draws and density still come."""

    def model():
        x = numpyro.sample("x", dist.Normal(0.0, 1.0))
        total, _ = jax.lax.scan(lambda c, _: (c + x, None), jnp.float32(0.0), None, length=2)
        numpyro.sample("tau", dist.HalfNormal(1.0 + total**2))

    mcmc = _run(model, draws=50, chains=1)
    samples, target = sw.from_numpyro(mcmc)
    np.testing.assert_allclose(samples.rows[:, 0], mcmc.get_samples()["x"])
    with pytest.warns(sw.SteinwiseWarning, match="float32"):
        assert target.prepare(2) == "float32"


def test_x64_is_left_on_where_it_was_on():
    mcmc = _run(lambda: numpyro.sample("tau", dist.HalfNormal(1.0)), draws=20, chains=1)
    with jax.enable_x64(True):
        sw.from_numpyro(mcmc)
        assert jax.config.read("jax_enable_x64")
    assert not jax.config.read("jax_enable_x64")


FEATURES = np.random.default_rng(0).normal(size=(50, 2))
COUNTS = np.random.default_rng(1).poisson(np.exp(FEATURES @ [0.3, 0.2]))


def regression(features, counts):
    weights = numpyro.sample("weights", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    numpyro.sample("counts", dist.Poisson(jnp.exp(features @ weights)), obs=counts)


def _data(kind):
    """The data of a regression in NumPy: copies, so that no test has traced them before."""
    frame = pandas.DataFrame(FEATURES, columns=["a", "b"]).assign(counts=COUNTS)
    return {
        "float64": lambda: (FEATURES.copy(), COUNTS.astype(np.float64)),
        "float32": lambda: (FEATURES.astype(np.float32), COUNTS.astype(np.float32)),
        "int64": lambda: (np.round(FEATURES).astype(np.int64), COUNTS.copy()),
        "bool": lambda: (FEATURES > 0, COUNTS.copy()),
        "pandas": lambda: (frame[["a", "b"]].to_numpy(), frame["counts"].to_numpy()),
    }[kind]()


def _regression_score(features, counts, weights):
    wide = np.asarray(features, np.float64)
    return (counts - np.exp(weights @ wide.T)) @ wide - weights


def _mcmc_of_regression(model, *data):
    return sw.from_numpyro(_run(model, *data, draws=20, chains=1, warmup=20))


def _svi_of_regression(model, *data):
    svi = SVI(model, autoguide.AutoNormal(model), numpyro.optim.Adam(0.05), Trace_ELBO())
    params = svi.run(jax.random.key(0), 50, *data, progress_bar=False).params
    return sw.from_numpyro(svi, params=params, args=data, n_draws=20)


@pytest.mark.parametrize(
    ("kind", "ambient"),
    [
        *((kind, False) for kind in ("float64", "float32", "int64", "bool", "pandas")),
        *((kind, True) for kind in ("float64", "int64")),
    ],
)
def test_numpy_data(kind, ambient):
    """Arrays that NUTS and SVI have traced in 32 bit, in our 64 bit, and the other way round."""
    data = _data(kind)
    with jax.enable_x64(ambient):
        for run in (_mcmc_of_regression, _svi_of_regression):
            samples, target = run(regression, *data)
            assert target.prepare(samples.dim) == "float64"
            features, counts = data
            expected = _regression_score(features, counts, samples.rows)
            np.testing.assert_allclose(target.score(samples.rows), expected, rtol=1e-9, atol=1e-9)


def test_numpy_data_in_a_closure():
    """Copies of the arguments would not be enough."""
    data = _data("float64")
    for run in (_svi_of_regression, _mcmc_of_regression):
        samples, target = run(lambda: regression(*data))
        expected = _regression_score(data[0], data[1], samples.rows)
        np.testing.assert_allclose(target.score(samples.rows), expected, rtol=1e-9, atol=1e-9)


def test_a_regression_on_numpy_data_from_end_to_end():
    mcmc = _run(regression, *_data("float64"), draws=400, chains=1)
    result = sw.check(*sw.from_numpyro(mcmc), alpha=0.01)
    assert not result.rejected
    assert result.dtype == "float64"


def test_a_run_is_recognised(mcmc):
    """Catches `sw.check(mcmc)` that asks for a target, or takes another density than its own."""
    assert sw.check(mcmc).pvalue == sw.check(*sw.from_numpyro(mcmc)).pvalue
    assert len(sw.summary(mcmc, sweeps=1).quantities) > 0
    compared = sw.compare({"run": mcmc, "again": sw.from_numpyro(mcmc)})
    assert compared["run"].pvalue == compared["again"].pvalue == sw.check(mcmc).pvalue
    with pytest.raises(sw.InputError, match=r"pass the MCMC itself, sw.check\(mcmc\)"):
        sw.check(mcmc.get_samples(), jnp.sum)
    with pytest.raises(sw.InputError, match="a density of its own"):
        sw.check(mcmc, jnp.sum)


def _classifier(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    numpyro.sample("obs", dist.Bernoulli(logits=slope * x).to_event(1), obs=y)


def test_what_a_variational_run_returned_holds_its_parameters():
    """Catches "dictionary update sequence element #0 has length 6"."""
    x = jnp.linspace(-1.0, 1.0, 10)
    data = x, (x > 0).astype(int)
    guide = autoguide.AutoNormal(_classifier)
    svi = SVI(_classifier, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
    run = svi.run(jax.random.key(0), 50, *data, progress_bar=False)
    of_run, of_params = (
        sw.from_numpyro(svi, params=one, args=data)[0].rows for one in (run, run.params)
    )
    np.testing.assert_array_equal(of_run, of_params)
    with pytest.raises(sw.InputError, match=r"params is of type SVIState: .*svi\.get_params"):
        sw.from_numpyro(svi, params=run.state, args=data)
    with pytest.raises(sw.InputError, match=r"no obs, .* with y=None: data that were observed"):
        sw.from_numpyro(svi, params=run, args=(x,))


def test_models_and_distributions_are_no_densities():
    """Catches advice to unpack a draw into the arguments of a model, and KeyError 'rng_key'."""
    draws = np.random.default_rng(0).normal(size=(50, 1))
    for model in (_classifier, every_kind):
        with pytest.raises(sw.InputError, match=r"a NumPyro model .*sw\.check\(mcmc\)"):
            sw.check(draws, model)
    with pytest.raises(sw.InputError, match=r"the distribution Normal: .*Pass its \.log_prob"):
        sw.check(draws, dist.Normal(0.0, 1.0))
    log_prob = dist.Normal(0.0, 1.0).expand([1]).to_event(1).log_prob
    assert not sw.check(draws, log_prob, effort="quick").rejected
