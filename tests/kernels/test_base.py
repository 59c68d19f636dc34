"""Kernels of one's own, sums and products, and what is no kernel."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.kernels import RBF, AbstractKernel
from tests.kernels.cases import RationalQuadratic, points, stein_of_pairs


class Tilted(AbstractKernel):
    """A kernel that is not radial: one function of a pair."""

    slope: float

    def evaluate(self, x, y):
        return jnp.exp(-jnp.sum((x - y) ** 2)) * (1 + self.slope * jnp.dot(x, y)) ** 2


def normals(key, x, n_atoms):
    return np.random.default_rng(key).normal(size=(*x.shape, n_atoms))


@pytest.mark.parametrize("own", [RationalQuadratic(1.5), Tilted(0.3)], ids=["radial", "tilted"])
def test_a_users_own_kernel_works_everywhere(own):
    """The author writes one function; a base class that asks for more breaks the promise."""
    x = points(2, 40)
    target = sw.Gaussian([0, 0], np.eye(2))
    for kernel in (own, 2.0 * own + RBF(1.0)):
        assert kernel(x[:2], x[:3]).shape == (2, 3)
        pairs = jax.jit(functools.partial(stein_of_pairs, kernel))(x, x, -x, -x)
        found = sw.ksd(x, target, kernel=kernel, estimator="v")
        np.testing.assert_allclose(found.value, pairs.mean(), rtol=1e-10)
        sampler = sw.conditionals.Sampler(normals)
        univariate = sw.kccsd(x, target, conditional=sampler, kernel=kernel)
        assert np.isfinite(univariate.value)


def test_a_kernel_may_be_combined_with_itself():
    """A tree edit that finds the same leaf twice."""
    kernel, x = RBF(1.0), points(2, 30)
    target = sw.Gaussian([0, 0], np.eye(2))
    twice = sw.ksd(x, target, kernel=kernel + kernel).value
    np.testing.assert_allclose(twice, 2 * sw.ksd(x, target, kernel=kernel).value, rtol=1e-12)


def test_any_kind_of_positive_number_is_a_factor():
    doubled = RBF() * np.float32(2)
    x, y = np.array([[0.0]]), np.array([[1.0]])
    np.testing.assert_allclose(doubled(x, y), 2 * RBF()(x, y))


@pytest.mark.parametrize("other", ["a", -1.0, 0, None, True])
def test_a_kernel_combines_with_kernels_and_positive_numbers(other):
    """A negative factor would not be a kernel."""
    with pytest.raises(sw.InputError, match="positive number"):
        _ = RBF() * other


def test_a_gram_matrix_of_vectors_says_how_to_pass_them():
    with pytest.raises(sw.InputError, match=r"x\[:, None\]"):
        RBF()(np.zeros(3), np.zeros(3))
    with pytest.raises(sw.InputError, match=r"\(2, 3\) and \(2, 2\)"):
        RBF()(np.zeros((2, 3)), np.zeros((2, 2)))


@pytest.mark.parametrize("bad", ["rbf", 3, None, RBF, [RBF(), RBF()]])
@pytest.mark.parametrize(
    "method",
    [
        sw.methods.KSD,
        sw.methods.NystromKSD,
        sw.methods.FSSD,
        lambda kernel: sw.methods.GraphicalKSD(kernel=kernel),
        lambda kernel: sw.methods.SlicedKSD(kernel=kernel),
    ],
    ids=["ksd", "nystrom", "fssd", "graphical", "sksd"],
)
def test_a_method_takes_a_kernel_and_not_its_name(method, bad):
    """An attribute error when the draws have been read and scored."""
    with pytest.raises(sw.InputError, match=r"(?s)kernel is .*expected one kernel such as"):
        method(bad)


def test_a_sum_of_kernels_keeps_its_digits_far_from_the_origin():
    """Catches a sum that does not know that its parts depend on x - y alone."""
    far = 2.0**24
    x, target = points(2, 100) + far, sw.Gaussian(np.full(2, far), np.eye(2))
    method = sw.methods.KSD(RBF(1.0) + sw.kernels.IMQ(2.0) * RBF(1.0))
    half, full = (
        sw.check(x, target, method=method, n_bootstrap=99, dtype=dtype, independent=True)
        for dtype in ("float32", "float64")
    )
    assert half.statistic == pytest.approx(full.statistic, rel=1e-4)
    assert not (RBF(1.0) + Tilted(0.3)).translation_invariant
