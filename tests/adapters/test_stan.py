"""Stan: PyStan for real; BridgeStan, which fetches its sources from the network, by its methods."""

import contextlib
import warnings

import jax
import numpy as np
import pytest
import stan

import steinwise as sw

PROGRAM = """
parameters {
  real mu;
  real<lower=0> tau;
  real<lower=0, upper=tau> share;  // a bound that is a parameter
  simplex[3] w;
  cholesky_factor_corr[2] chol;
  matrix[2, 3] b;
  ordered[2] cut;
}
transformed parameters {
  real twice = 2 * mu;
}
model {
  mu ~ normal(0, 1);
  tau ~ lognormal(0, 0.5);
  share ~ uniform(0, tau);
  w ~ dirichlet([2, 3, 4]');
  chol ~ lkj_corr_cholesky(2);
  to_vector(b) ~ normal(0, 1);
  cut ~ normal(0, 1);
}
generated quantities {
  real noise = normal_rng(0, 1);
}
"""
LABELS = (
    "mu",
    "tau",
    "share",
    "w.unconstrained[0]",
    "w.unconstrained[1]",
    "chol.unconstrained[0]",
    "b[0, 0]",
    "b[1, 0]",
    "b[0, 1]",
    "b[1, 1]",
    "b[0, 2]",
    "b[1, 2]",
    "cut.unconstrained[0]",
    "cut.unconstrained[1]",
)


@contextlib.contextmanager
def pystans_own_warnings():
    """Its web server and its compiler warn of things that are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def model():
    with pystans_own_warnings():
        return stan.build(PROGRAM, random_seed=1)


@pytest.fixture(scope="module")
def fit(model):
    with pystans_own_warnings():
        return model.sample(num_chains=2, num_samples=300, num_warmup=300)


@pytest.fixture(scope="module")
def both(fit, model):
    return sw.from_stan(fit, model)


def test_labels(both):
    """Stan counts matrices by column, and from 1; generated quantities are no parameters."""
    samples, _ = both
    assert samples.names == LABELS
    assert (samples.n_chains, samples.n_draws, samples.independent) == (2, 300, False)


def test_draws_go_where_the_transforms_send_them(both, fit):
    """Chains mixed up, a matrix transposed, or Stan's transforms applied to the wrong parameter."""
    samples, _ = both
    column = dict(zip(samples.names, np.moveaxis(samples.values, 2, 0), strict=True))

    def given(name):
        return fit[name].reshape(*fit[name].shape[:-1], 300, 2).swapaxes(-1, -2)

    np.testing.assert_allclose(column["tau"], np.log(given("tau")[0]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(column["b[1, 2]"], given("b")[1, 2], rtol=1e-12)
    ratio = given("share")[0] / given("tau")[0]
    np.testing.assert_allclose(column["share"], np.log(ratio / (1 - ratio)), atol=1e-6)
    np.testing.assert_allclose(np.tanh(column["chol.unconstrained[0]"]), given("chol")[1, 0])
    cuts = given("cut")
    np.testing.assert_allclose(column["cut.unconstrained[1]"], np.log(cuts[1] - cuts[0]), atol=1e-6)


def test_parameters_are_known_on_the_scale_of_the_model(both, fit):
    """Entries that are coordinates as they stand are left out, and those that never change."""
    samples, _ = both
    scale = samples.constrained
    simplex, cuts = [f"w[{k}]" for k in range(3)], [f"cut[{k}]" for k in range(2)]
    assert scale.names == ("tau", "share", *simplex, "chol[1, 0]", "chol[1, 1]", *cuts)
    found = dict(zip(scale.names, scale.values(samples.rows).T, strict=True))
    for name, entry in (("tau", fit["tau"][0]), ("w[2]", fit["w"][2]), ("cut[1]", fit["cut"][1])):
        given = entry.reshape(300, 2).T.ravel()
        np.testing.assert_allclose(found[name], given, rtol=1e-7, atol=1e-9)


def test_a_summary_is_on_the_scale_of_the_model(both):
    """tau is lognormal: its mean is exp(1 / 8). Coordinates that are parameters keep their rows."""
    with pystans_own_warnings():
        answers = sw.summary(*both, sweeps=1)
    names = [quantity.name for quantity in answers.quantities]
    assert names[:4] == ["mu", "tau", "share", "w.unconstrained[0]"]
    assert answers["tau"].mean == pytest.approx(np.exp(1 / 8), abs=0.15)


def test_the_density_is_stans_with_its_jacobian(both, model):
    """PyStan's public methods, which go another way to the same model."""
    samples, target = both
    for row in samples.rows[:5]:
        with pystans_own_warnings():
            value, gradient = model.log_prob(row.tolist()), model.grad_log_prob(row.tolist())
        assert target.log_density(row[None])[0] == pytest.approx(value)
        np.testing.assert_allclose(target.score(row[None])[0], gradient, rtol=1e-10)


def test_right_draws_fit_and_wrong_ones_do_not(both):
    samples, target = both
    some = samples.values[:, ::2]
    assert not sw.check(some, target, alpha=0.01).rejected
    moved = some.copy()
    moved[..., LABELS.index("w.unconstrained[0]")] += 0.7
    found = sw.check(sw.Samples.of(moved, names=LABELS), target, alpha=0.01)
    assert found.rejected
    assert found["w.unconstrained[0]"].adjusted_pvalue <= 0.01


def test_saved_warm_up_is_left_out(model):
    with pystans_own_warnings():
        fit = model.sample(
            num_chains=1, num_samples=40, num_warmup=30, num_thin=2, save_warmup=True
        )
    samples, _ = sw.from_stan(fit, model)
    assert samples.n_draws == 20
    np.testing.assert_allclose(samples.values[0, :, 0], fit["mu"][0, 15:])


class Bridge:
    """BridgeStan's methods on PyStan's compiled model: entries in Stan's order, counted from 1."""

    def __init__(self, model):
        from httpstan.models import import_services_extension_module

        self.compiled = import_services_extension_module(model.model_name)
        self.names = model.constrained_param_names[:18]
        self.shapes = dict(zip(model.param_names, model.dims, strict=True))

    def param_names(self, *, include_tp=False, include_gq=False):
        assert not include_tp
        assert not include_gq
        return list(self.names)

    def param_unconstrain(self, theta):
        assert theta.shape == (18,)
        constrained = {}
        for name, shape in self.shapes.items():
            own = [v for n, v in zip(self.names, theta, strict=True) if n.split(".")[0] == name]
            if own:
                constrained[name] = np.reshape(own, shape, order="F").tolist()
        return np.array(self.compiled.transform_inits({}, constrained))

    def param_constrain(self, theta_unc):
        return np.array(self.compiled.write_array({}, theta_unc.tolist(), False, False))

    def log_density_gradient(self, theta_unc, *, propto=True, jacobian=True):
        assert propto
        assert jacobian
        x = theta_unc.tolist()
        value = self.compiled.log_prob({}, x, True)
        return value, np.array(self.compiled.log_prob_grad({}, x, True))


@pytest.fixture(scope="module")
def bridge(model):
    return Bridge(model)


def _arrays(fit):
    """(chain, draw, ...), as a user of CmdStan has them."""
    return {
        name: np.moveaxis(np.reshape(fit[name], (*shape, 300, 2)), (-1, -2), (0, 1))
        for name, shape in zip(fit.param_names, fit.dims, strict=True)
    }


def test_bridgestan_gives_the_same(both, fit, bridge):
    samples, target = sw.from_stan(_arrays(fit), bridge)
    expected, theirs = both
    assert samples.names == LABELS
    np.testing.assert_allclose(samples.values, expected.values)
    np.testing.assert_allclose(target.score(samples.rows[:5]), theirs.score(samples.rows[:5]))


def test_a_cmdstanpy_fit(fit, bridge):
    """Its draws_xr has everything, generated quantities included."""
    import xarray

    class CmdStanMCMC:
        def draws_xr(self):
            found = {}
            for name, values in _arrays(fit).items():
                own = [f"{name}_{k}" for k in range(values.ndim - 2)]
                found[name] = (("draw", "chain", *own), np.swapaxes(values, 0, 1))
            return xarray.Dataset(found)

    samples, _ = sw.from_stan(CmdStanMCMC(), bridge)
    assert samples.names == LABELS
    assert samples.n_chains == 2


def test_a_point_that_stan_rejects_has_density_zero(both):
    """Far out on a line Stan raises; the line goes on, and only a draw there is an error."""
    _, target = both
    far = np.full((1, len(LABELS)), 1e5)
    values, _ = target.line_values(far, np.array([0]), far[:, :1, None])
    assert values[0, 0, 0] == -np.inf
    with pytest.raises(sw.TargetError, match="not finite"):
        target.score(far)


def test_what_is_refused(fit, model, bridge):
    arrays = _arrays(fit)
    without = {name: values for name, values in arrays.items() if name != "tau"}
    with pytest.raises(sw.InputError, match=r"variable name=tau"):
        sw.from_stan(without, model)
    with pytest.raises(sw.InputError, match="the draws have no tau"):
        sw.from_stan(without, bridge)
    flat = {name: values[0] for name, values in arrays.items()}
    with pytest.raises(sw.InputError, match=r"expected \(chain, draw, ...\)"):
        sw.from_stan(flat, model)
    shorter = arrays | {"tau": arrays["tau"][:, :100]}
    with pytest.raises(sw.InputError, match="differ in their numbers of chains and draws"):
        sw.from_stan(shorter, model)
    broken = arrays | {"w": arrays["w"] + 0.1}
    with pytest.raises(sw.InputError, match="Stan cannot unconstrain draw 0 of chain 0"):
        sw.from_stan(broken, model)
    with pytest.raises(sw.InputError, match=r"expected a bridgestan.StanModel"):
        sw.from_stan(arrays, fit)


def test_a_draw_at_its_bound_is_an_error(fit, model):
    arrays = _arrays(fit)
    arrays["tau"][1, 7] = arrays["share"][1, 7] = 0.0
    with pytest.raises(sw.InputError, match=r"bound"):
        sw.from_stan(arrays, model)


def test_jax_is_not_touched(both):
    assert not jax.config.read("jax_enable_x64")


def test_a_fit_and_its_model_are_recognised(fit, model):
    """Catches `sw.check(fit, model)` that needs the adapter by name."""
    with pystans_own_warnings():
        assert sw.check(fit, model).pvalue == sw.check(*sw.from_stan(fit, model)).pvalue
    with pytest.raises(sw.InputError, match=r"sw.check\(fit, model\)"):
        sw.check(fit)
