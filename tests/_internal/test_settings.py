"""Settings of the user's with which JAX raises: they do not concern our code."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw

X = np.random.default_rng(0).normal(size=(60, 2))
SETTINGS = {
    "ranks are not promoted": lambda: jax.numpy_rank_promotion("raise"),
    "dtypes are not promoted": lambda: jax.numpy_dtype_promotion("strict"),
    "NaN is an error": lambda: jax.debug_nans(True),
    "nothing moves to the device": lambda: jax.transfer_guard("disallow"),
}


def log_density(x):
    return -0.5 * jnp.sum(x**2) - jnp.sum(jnp.where(jnp.abs(x) < 3, 0 * x, jnp.log(4 - jnp.abs(x))))


@pytest.mark.filterwarnings("ignore:the log density falls to -inf:steinwise.SteinwiseWarning")
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_check_runs_whatever_jax_raises_on(setting):
    """Broadcasts, 64 bit and NaN far out on a line are ours, not the user's mistakes."""
    with SETTINGS[setting]():
        found = sw.check(X[np.abs(X).max(axis=1) < 3], log_density)
    assert found.pvalue == sw.check(X[np.abs(X).max(axis=1) < 3], log_density).pvalue


@pytest.mark.parametrize("setting", list(SETTINGS)[:2])
@pytest.mark.parametrize("kernel", [sw.kernels.IMQ(1.0), sw.kernels.RBF([1.0, 2.0])])
def test_pure_functions_promote(setting, kernel):
    """In the caller's precision, and under the caller's transformations."""
    x = jnp.asarray(X, jnp.float32)

    def values(x):
        bandwidths = jnp.ones(3, x.dtype)
        return (
            sw.functional.ksd(kernel, x, -x),
            sw.functional.imq_ksds(bandwidths, x, -x),
            sw.functional.fssd(sw.functional.fssd_features(kernel, x, -x, x[:3])),
            kernel.stein_gram(x, x, -x, -x),
        )

    with SETTINGS[setting]():
        found = jax.jit(values)(x)
    for one, expected in zip(found, values(x), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-4, atol=1e-5)


FAR = np.concatenate([X, [[60.0, -1e4], [1e-200, 0.0]]])


@pytest.mark.parametrize("method", ["transported", "scores"])
def test_underflow_in_our_sums_is_no_error(method):
    """np.errstate(all="raise") around a check, with draws far out that count nothing."""
    target = sw.Target(lambda x: -0.5 * jnp.sum(x**2))
    with np.errstate(all="raise"):
        found = sw.check(FAR, target, method=method)
    assert found.pvalue == sw.check(FAR, target, method=method).pvalue


def test_functions_of_the_users_run_with_the_settings_of_the_user():
    seen = []

    def score(x):
        seen.append(np.geterr())
        return -x

    with np.errstate(all="raise"):
        sw.ksd(X, sw.Target.from_score(score))
    assert {each["under"] for each in seen} == {"raise"}
