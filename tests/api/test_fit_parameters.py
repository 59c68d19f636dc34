"""sw.fit_parameters: the equations it solves, its errors, and what it says when it cannot."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise import functional

TRUTH = np.array([1.0, 0.5])  # mean 0.5, variance 0.5 in natural parameters: -precision x + shift
RBF = sw.kernels.RBF(1.0)
NO_BETTER = pytest.mark.filterwarnings("ignore:.*no better than:steinwise.SteinwiseWarning")


def natural(theta, x):
    """An exponential family: log p = shift . x - precision x^2 / 2."""
    return jnp.sum(theta[0] * x - 0.5 * theta[1] * x**2)


def located(theta, x):
    return -0.5 * jnp.sum((x - theta["mean"]) ** 2 * jnp.exp(-2 * theta["log_sd"]))


START = {"mean": np.zeros(2), "log_sd": np.zeros(2)}


def _draws(seed: int, n: int = 200, d: int = 1) -> np.ndarray:
    """Precision 0.5 and mean 2: shift 1."""
    return np.random.default_rng(seed).normal(2.0, np.sqrt(2.0), size=(n, d))


def test_ksd_solves_the_first_order_condition_of_the_u_statistic():
    x = _draws(0)
    fit = sw.fit_parameters(natural, x, [0.0, 1.0], method=sw.methods.KSD(RBF))
    with jax.enable_x64(True):

        def value(theta):
            score = theta[0] - theta[1] * jnp.asarray(x)
            return functional.ksd(RBF, jnp.asarray(x), score)

        derivatives = jax.jit(lambda at: (value(at), jax.grad(value)(at), jax.hessian(value)(at)))
        least, slope, curvature = derivatives(jnp.asarray(fit.vector))
    assert np.abs(slope).max() < 1e-8
    assert np.linalg.eigvalsh(curvature)[0] > 0
    assert fit.discrepancy == pytest.approx(float(least), rel=1e-6)
    assert fit.converged
    assert fit.identified


def wrong_distribution(key, x, n_atoms):
    """Nothing like the draws."""
    return np.random.default_rng(key).normal(-1.0, 3.0, size=(*x.shape, n_atoms))


def test_kccsd_solves_its_equations():
    """The mean over x and atoms y of (1, -y) {b(x) k + dk/dx}, by hand."""
    x = _draws(2)
    conditional = sw.conditionals.Sampler(wrong_distribution, n_atoms=7)
    method = sw.methods.KCCSD(conditional, RBF, standardise=False)
    fit = sw.fit_parameters(natural, x, [0.0, 1.0], method=method)
    y = conditional.atoms(x, 0, 0).points[:, 0]
    k = np.exp(-((x - y) ** 2) / 2)
    inner = (fit.vector[0] - fit.vector[1] * x) * k - (x - y) * k
    assert abs(inner.mean()) < 1e-8
    assert abs((inner * y).mean()) < 1e-8
    stein = inner * (fit.vector[0] - fit.vector[1] * y)
    stein += (fit.vector[0] - fit.vector[1] * x) * (x - y) * k + (1 - (x - y) ** 2) * k
    assert fit.discrepancy == pytest.approx(stein.mean())


@NO_BETTER
@pytest.mark.parametrize("method", ["ksd", "kccsd"])
def test_near_maximum_likelihood(method):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(600, 2)) * [1.0, 2.0] + [0.0, 1.0]
    fit = sw.fit_parameters(located, x, START, method=method)
    likely = np.concatenate([np.log(x.std(axis=0)), x.mean(axis=0)])  # keys in order
    assert fit.covariance is not None
    errors = np.sqrt(np.diagonal(fit.covariance))
    assert fit.names == ("log_sd[0]", "log_sd[1]", "mean[0]", "mean[1]")
    assert np.abs(fit.vector - likely).max() < 3 * errors.max()
    information = np.concatenate([[0.5, 0.5], x.var(axis=0)]) / 600  # of maximum likelihood
    assert (errors**2 > 0.8 * information).all()
    assert (errors**2 < 6 * information).all()


def test_chains_have_larger_errors():
    """The mean of AR(1) with rho 0.8 has 3 times the error of as many independent draws."""
    rho, rng = 0.8, np.random.default_rng(4)
    x = rng.normal(size=(4, 500, 1))
    for t in range(1, 500):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * x[:, t]

    def mean_only(theta, x):
        return -0.5 * jnp.sum((x - theta) ** 2)

    fit = sw.fit_parameters(mean_only, x, 0.0)
    assert fit.theta == pytest.approx(x.mean(), abs=0.03)
    assert 2 < fit.standard_errors * np.sqrt(2000) < 4


def test_the_form_of_theta0_is_kept():
    x = np.random.default_rng(5).normal(size=(100, 2))
    fit = sw.fit_parameters(located, x, START)
    assert set(fit.theta) == {"mean", "log_sd"}
    assert fit.theta["mean"].shape == fit.standard_errors["log_sd"].shape == (2,)
    low, high = fit.interval(0.5)
    assert (low["mean"] < fit.theta["mean"]).all()
    assert (fit.theta["mean"] < high["mean"]).all()
    plain = fit.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert fit.to_dataframe().loc["mean[0]", "estimate"] == fit.theta["mean"][0]
    text = str(fit)
    assert "mean[0]" in text
    assert "Converged" in text
    again = sw.fit_parameters(located, x, START)
    assert again.to_dict() == plain


def test_what_the_draws_cannot_tell():
    def together(theta, x):
        return jnp.sum((theta["a"] + theta["b"]) * x) - 0.5 * jnp.sum(x**2) * theta["c"]

    def constant(theta, x):
        return -0.5 * jnp.sum((x - theta["mean"]) ** 2) - jnp.exp(theta["scale"])

    x = _draws(6, 100)
    with pytest.warns(sw.SteinwiseWarning, match="depends on a, b through a combination"):
        fit = sw.fit_parameters(together, x, {"a": 0.0, "b": 0.0, "c": 1.0})
    assert not fit.identified
    assert not fit.converged
    assert fit.standard_errors is fit.covariance is None
    assert "NOT CONVERGED" in str(fit)
    with pytest.raises(sw.InputError, match="no standard errors: not identified"):
        fit.interval()
    with pytest.warns(sw.SteinwiseWarning, match="the score does not change with scale"):
        fit = sw.fit_parameters(constant, x, {"mean": 0.0, "scale": 0.0})
    assert fit.theta["mean"] == pytest.approx(x.mean(), abs=0.3)


def test_no_parameter_solves_the_equations():
    """A precision that stays below 0.1, for draws of precision 0.5."""

    def bounded(theta, x):
        return -0.05 * jax.nn.sigmoid(theta) * jnp.sum((x - 2.0) ** 2)

    with pytest.warns(sw.SteinwiseWarning, match="not converged|not identified"):
        fit = sw.fit_parameters(bounded, _draws(7, 100), 0.0)
    assert not fit.converged
    assert fit.covariance is None


def test_a_start_where_the_density_is_symmetric_in_a_parameter():
    """At 0 the sign of theta does not matter, and no derivative leads away."""

    def squared(theta, x):
        return -0.5 * jnp.sum((x - theta**2) ** 2)

    x = _draws(8, 100)
    with pytest.warns(sw.SteinwiseWarning, match="Start elsewhere"):
        fit = sw.fit_parameters(squared, x, 0.0)
    assert not fit.converged
    assert sw.fit_parameters(squared, x, 0.5).theta ** 2 == pytest.approx(x.mean(), abs=0.4)


def test_draws_too_few_for_errors():
    slow = np.cumsum(np.random.default_rng(8).normal(size=(2, 60, 1)), axis=1)
    with pytest.warns(sw.SteinwiseWarning, match="too few, or too dependent"):
        fit = sw.fit_parameters(lambda theta, x: -0.5 * jnp.sum((x - theta) ** 2), slow, 0.0)
    assert fit.converged
    assert fit.covariance is None
    assert "-" in str(fit)


GOOD = _draws(9, 60)


@pytest.mark.parametrize(
    ("log_density", "theta0", "options", "error", "message"),
    [
        (3, [0.0], {}, sw.InputError, "expected a function of"),
        (natural, [0.0, np.nan], {}, sw.InputError, "all of them finite"),
        (natural, [], {}, sw.InputError, "at least one number"),
        (natural, {"a": "b"}, {}, sw.InputError, "expected numbers or arrays"),
        (natural, 1.0, {}, sw.TargetError, "failed on one draw"),
        (lambda theta, x: theta * x, 1.0, {}, sw.TargetError, "expected a scalar"),
        (lambda theta, x: theta * jnp.sqrt(x[0] - 2.0), 1.0, {}, sw.TargetError, "not finite"),
        (natural, TRUTH, {"method": "transported"}, sw.InputError, "expected 'ksd'"),
        (
            natural,
            TRUTH,
            {"method": sw.methods.KCCSD(variant="unit-ball")},
            sw.InputError,
            "norm variant",
        ),
        (
            natural,
            TRUTH,
            {"method": sw.methods.KCCSD(sw.conditionals.Linear(), coordinates=[0])},
            sw.InputError,
            "all coordinates",
        ),
        (
            natural,
            TRUTH,
            {"method": sw.methods.KCCSD(sw.conditionals.Transported())},
            sw.InputError,
            "learned from the draws alone",
        ),
        (
            natural,
            TRUTH,
            {"method": sw.methods.KSD(RBF, linear=True)},
            sw.InputError,
            "Drop linear=",
        ),
        (natural, TRUTH, {"max_iterations": 0}, sw.InputError, "at least 1"),
    ],
)
def test_what_is_refused(log_density, theta0, options, error, message):
    with pytest.raises(error, match=message):
        sw.fit_parameters(log_density, GOOD, theta0, **options)
