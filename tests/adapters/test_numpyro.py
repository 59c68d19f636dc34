"""NumPyro: transforms, sites that are not parameters, 32-bit draws, SVI."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO, autoguide
from numpyro.infer.util import initialize_model

import steinwise as sw

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


def _run(model, *args, draws=300, chains=2, **options):
    mcmc = MCMC(
        NUTS(model),
        num_warmup=300,
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
    assert not sw.check(samples, target, alpha=0.01).rejected
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


def test_what_is_refused(mcmc):
    with pytest.raises(sw.InputError, match="has not run"):
        sw.from_numpyro(MCMC(NUTS(every_kind), num_warmup=1, num_samples=1))
    with pytest.raises(sw.InputError, match=r"expected a numpyro.infer.MCMC"):
        sw.from_numpyro(mcmc.get_samples())
    with pytest.raises(sw.InputError, match="the draws have no y"):
        sw.from_numpyro(mcmc, args=())  # without its data the model samples y


def test_discrete_sites_are_refused_by_name():
    from numpyro.infer import DiscreteHMCGibbs

    def model():
        k = numpyro.sample("component", dist.Bernoulli(0.4))
        numpyro.sample("x", dist.Normal(k, 1.0))

    kernel = DiscreteHMCGibbs(NUTS(model))
    mcmc = MCMC(kernel, num_warmup=20, num_samples=20, progress_bar=False)
    mcmc.run(jax.random.key(0))
    with pytest.raises(sw.InputError, match="discrete parameters cannot be checked: component"):
        sw.from_numpyro(mcmc)


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
    from steinwise.adapters.common import Variable
    from steinwise.adapters.numpyro import Model, unconstrained

    def model():
        numpyro.sample("share", dist.Beta(2.0, 2.0))

    draws = np.random.default_rng(0).uniform(size=(1, 50)).astype(np.float32)
    draws[0, 7] = 1.0
    with pytest.raises(sw.InputError, match=r"\(share\).*at its bound"):
        unconstrained({"share": Variable.of(draws)}, Model(model, (), {}), None)


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
