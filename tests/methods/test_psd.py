"""Polynomial Stein discrepancies: against terms written out by hand, and the published test."""

from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.functional import polynomial_stein_features
from steinwise.methods import AbstractMethod
from steinwise.methods.lambda_psd import LambdaPSD
from steinwise.methods.psd import PSD, monomials

TARGET = sw.Gaussian(np.zeros(2), np.array([[1.0, 0.4], [0.4, 2.0]]))


def draws(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([5, seed]).normal(0.2, 1.1, size=(n, 2))


def terms_by_hand(x: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Laplacian and slope of x^3, x^2 y, x^2, x y^2, x y, x, y^3, y^2 and y."""
    (x, y), (b, c) = x.T, b.T
    return np.stack(
        [
            6 * x + 3 * x**2 * b,
            2 * y + 2 * x * y * b + x**2 * c,
            2 + 2 * x * b,
            2 * x + y**2 * b + 2 * x * y * c,
            y * b + x * c,
            b,
            6 * y + 3 * y**2 * c,
            2 + 2 * y * c,
            c,
        ],
        axis=1,
    )


def test_the_terms_of_monomials_by_hand() -> None:
    """Catches a missing second derivative, a factor counted twice, and a monomial left out."""
    x, factors = draws(5), monomials(2, 3)
    score = np.sin(x[:, ::-1])
    with jax.enable_x64(True):
        found = jax.jit(polynomial_stein_features)(x, score, factors)
    np.testing.assert_allclose(found, terms_by_hand(x, score), rtol=1e-12)


def test_one_draw_by_hand() -> None:
    """x = (2, 3) with score (5, 7), degree 2: x^2, x y, x, y^2, y."""
    with jax.enable_x64(True):
        found = polynomial_stein_features(
            jnp.array([[2.0, 3.0]]), jnp.array([[5.0, 7.0]]), jnp.asarray(monomials(2, 2))
        )
    assert np.asarray(found)[0].tolist() == [2 + 4 * 5, 3 * 5 + 2 * 7, 5, 2 + 6 * 7, 7]


@pytest.mark.parametrize(("d", "degree"), [(1, 1), (1, 4), (3, 2), (5, 3)])
def test_all_monomials_are_there_once(d: int, degree: int) -> None:
    """Catches a count that is not the published one."""
    factors = monomials(d, degree)
    assert len({tuple(sorted(row)) for row in factors.tolist()}) == len(factors)
    assert len(factors) == comb(d + degree, d) - 1


@pytest.mark.parametrize("null", ["signs", "covariance"])
def test_the_statistic_is_the_mean_over_pairs(null) -> None:
    """Catches the products of a draw with itself kept in, and a scale that is not the published."""
    x = draws(80)
    found = sw.check(x, TARGET, method=PSD(3, null=null, standardise=False))
    terms = terms_by_hand(x, TARGET.score(x))
    pairs = terms @ terms.T
    np.fill_diagonal(pairs, 0.0)
    assert found.discrepancy == pytest.approx(pairs.sum() / (80 * 79))


def test_the_pvalue_is_that_of_the_published_bootstrap() -> None:
    """n |mean tau|^2 with a sign per draw: products of a draw with itself are in both, or none."""
    x = np.random.default_rng(2).normal(size=(60, 2)) @ np.linalg.cholesky(TARGET.covariance).T
    terms = terms_by_hand(x, TARGET.score(x))
    signs = np.random.default_rng(3).choice([-1.0, 1.0], size=(4000, 60))
    null = ((signs @ terms) ** 2).sum(axis=1)
    published = (null >= (terms.sum(axis=0) ** 2).sum()).mean()
    found = sw.check(x, TARGET, method=PSD(3, standardise=False), n_bootstrap=4000)
    assert found.pvalue == pytest.approx(published, abs=0.03)


def test_a_fault_that_leaves_the_moments_right_is_not_seen() -> None:
    """Catches terms that are not polynomials: two points have the mean and variance of N(0, 1)."""
    x = np.random.default_rng(0).choice([-1.0, 1.0], size=(400, 1))
    target = sw.Gaussian([0.0], [[1.0]])
    assert sw.check(x, target, method=PSD(2, standardise=False), independent=True).pvalue > 0.01
    assert sw.check(x, target, method="scores", independent=True).rejected


def test_too_many_monomials_are_refused_before_anything_is_computed() -> None:
    x, target = (
        np.random.default_rng(0).normal(size=(50, 60)),
        sw.Gaussian(np.zeros(60), np.eye(60)),
    )
    with pytest.raises(sw.InputError, match="degree=3 with 60 coordinates means 39710 monomials"):
        sw.check(x, target, method=PSD(3))


@pytest.mark.parametrize("method", [PSD(), PSD(3, null="covariance"), LambdaPSD()])
@pytest.mark.parametrize("row", [3, 150])
def test_terms_that_overflow_are_refused(method: AbstractMethod, row: int) -> None:
    """Catches sums of infinities, and p = 1 from a statistic that is no number."""
    x = draws(200)
    x[row, 1] = 1e99
    with pytest.raises(sw.InputError, match=r"a score of size \d.\d*e\+98.*overflow in float64"):
        sw.check(x, TARGET, method=method, independent=True)
