"""Radial kernels: profiles, exponents, and digits far from 0."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise import functional
from steinwise.kernels import IMQ, RBF, Matern52
from tests.kernels.cases import RationalQuadratic, stein_of_pairs


def test_automatic_profile_derivatives_of_a_users_radial_kernel():
    """The default of the base class: wrong by a factor, it would spoil every new radial kernel."""
    s = np.array([0.0, 0.5, 3.0])
    k, k1, k2 = RationalQuadratic(1.5).profile_derivatives(jnp.asarray(s))
    np.testing.assert_allclose(k, (1 + s / 4) ** -2.0, rtol=1e-13)
    np.testing.assert_allclose(k1, -0.5 * (1 + s / 4) ** -3.0, rtol=1e-13)
    np.testing.assert_allclose(k2, 0.375 * (1 + s / 4) ** -4.0, rtol=1e-13)


def test_rbf_ksd_vanishes_on_draws_that_run_away_and_imq_ksd_does_not():
    """The reason to prefer the IMQ: lattice draws in R^4 whose spacing grows like sqrt(log n).

    They leave every compact set, so they converge to nothing, least of all to N(0, I).
    """

    def v_statistic(kernel, side):
        steps = np.arange(side) - (side - 1) / 2
        lattice = np.stack(np.meshgrid(*[steps] * 4), axis=-1).reshape(-1, 4)
        x = 2 * np.sqrt(np.log(side**4)) * lattice
        ksd = jax.jit(lambda x: functional.ksd(kernel, x, -x, "v"))
        return float(ksd(x))

    rbf = [v_statistic(RBF(1.0), side) for side in (2, 3, 5)]
    imq = [v_statistic(IMQ(1.0), side) for side in (2, 3, 5)]
    assert rbf[0] > 1.3 * rbf[1] > 1.3**2 * rbf[2] > 0
    assert imq[0] < imq[1] < imq[2]


@pytest.mark.parametrize("kernel", [IMQ(), RBF(), Matern52()], ids=repr)
@pytest.mark.parametrize("far", [1e9, 1e12])
def test_a_far_point_does_not_spoil_the_others(kernel, far):
    """A mean that follows it, and takes the digits of all distances with it."""
    x = np.random.default_rng(0).normal(0.7, 1.0, size=(20, 2))
    x[4] = far
    found = kernel.stein_gram(x, x, -x, -x)
    expected = stein_of_pairs(kernel, x, x, -x, -x)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_the_plain_exponent_is_a_number_as_any_other():
    """The special case of 1/2 must not be seen from outside: replaced, passed on, computed with."""
    kernel = IMQ(2.0)
    assert kernel.exponent == 0.5
    assert "exponent=0.5" in repr(kernel)
    wider = dataclasses.replace(kernel, bandwidth=np.array(3.0))
    assert IMQ(3.0, exponent=kernel.exponent) == wider
    x = np.random.default_rng(0).normal(size=(5, 2))
    by_power = IMQ(2.0, exponent=jnp.asarray(0.5))
    np.testing.assert_allclose(kernel(x, x), by_power(x, x), rtol=1e-14)


def test_the_pytree_depends_on_the_type_of_the_exponent_and_not_on_its_value():
    """Catches a number that is a leaf unless it is 1/2: code for trees would break at one value."""

    def leaves(exponent):
        kernel = IMQ(2.0, exponent=exponent)
        return [
            jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(kernel)
        ]

    for number in (0.5, 0.7, 1, np.float64(0.5), np.array(0.3)):
        assert leaves(number) == [".bandwidth"]
    for value in (0.5, 0.7):
        assert leaves(jnp.asarray(value)) == [".bandwidth", ".exponent"]
    assert leaves([0.5, 0.7]) == [".bandwidth", ".exponent"]


def test_an_exponent_that_is_an_array_can_be_differentiated():
    """The reason for the second form: d/de (1 + s)^-e = -log(1 + s) (1 + s)^-e."""
    x, y = np.array([[0.0]]), np.array([[1.5]])
    for e in (0.5, 0.7):
        slope = jax.grad(lambda e: IMQ(1.0, exponent=e)(x, y)[0, 0])(jnp.asarray(e))
        assert slope == pytest.approx(-np.log(3.25) * 3.25**-e, rel=1e-12)


def test_one_exponent_for_a_kernel_of_several_coordinates():
    draws, target = np.random.default_rng(0).normal(size=(100, 2)), sw.Gaussian([0, 0], np.eye(2))
    kernel = IMQ(1.0, exponent=[0.5, 0.7])
    with pytest.raises(sw.InputError, match="exponent of IMQ is a vector of 2"):
        sw.ksd(draws, target, kernel=kernel)
    assert np.isfinite(sw.sksd(draws, target, kernel=kernel).value)
