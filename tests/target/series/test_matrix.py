"""Factorisations and triangular systems, against nested derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.target.series.reference import assert_agrees

X = 0.3 * np.random.default_rng(0).normal(size=(2, 4))
NOISE = np.random.default_rng(1).normal(size=(3, 3))


def _covariance(x):
    return NOISE @ NOISE.T + jnp.diag(jnp.exp(x[:3])) + 0.3 * x[3] ** 2


def _triangle(x):
    return jnp.tril(NOISE) + jnp.diag(jnp.exp(x[:3]))


def _solve(a, b, **options):
    return jax.scipy.linalg.solve_triangular(a, b, **options)


CASES = {
    "cholesky": lambda x: jnp.linalg.cholesky(_covariance(x)).sum(),
    "cholesky and its diagonal": lambda x: jnp.log(
        jnp.diagonal(jnp.linalg.cholesky(_covariance(x)))
    ).sum(),
    "solve for a vector that moves": lambda x: (
        _solve(jnp.tril(NOISE) + jnp.eye(3), x[:3], lower=True) ** 2
    ).sum(),
    "solve with a matrix that moves": lambda x: _solve(_triangle(x), jnp.ones(3), lower=True).sum(),
    "solve, transposed": lambda x: _solve(_triangle(x), x[1:] ** 2, lower=True, trans=1).sum(),
    "solve, upper": lambda x: _solve(_triangle(x).T, x[1:], lower=False).sum(),
    "solve, unit diagonal": lambda x: _solve(
        _triangle(x), x[1:], lower=True, unit_diagonal=True
    ).sum(),
    "slogdet": lambda x: jnp.linalg.slogdet(_covariance(x))[1],
    "solve": lambda x: x[1:] @ jnp.linalg.solve(_covariance(x), x[1:]),
    "inverse": lambda x: jnp.linalg.inv(_covariance(x)).sum(),
}


@pytest.mark.parametrize("name", CASES)
def test_matrix_functions(name):
    assert_agrees(CASES[name], X, order=4)
