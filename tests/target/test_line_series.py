"""Values along lines that series are compared with: those of the density itself."""

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw

X = np.random.default_rng(0).normal(size=(5, 3))
STEPS = np.random.default_rng(1).normal(size=(2, 3, 4))
ROWS = np.array([1, 4])


def plain(x):
    return -jnp.sum(jnp.cosh(x)) + x[0] * x[1]


def with_cholesky(x):
    """Whose values along many lines at once could wait for each other forever, on two cores."""
    matrix = jnp.diag(jnp.exp(x)) + 0.3
    return -jnp.sum(jnp.linalg.cholesky(matrix) ** 2) - jnp.sum(x**2)


@pytest.mark.parametrize("density", [plain, with_cholesky])
@pytest.mark.parametrize(
    "lines", [np.arange(3), np.linalg.qr(X[:3])[0]], ids=["axes", "directions"]
)
def test_values_along_lines_are_those_of_the_density(density, lines) -> None:
    target = sw.Target(density)
    series = target.line_series(X, lines, 6)
    assert series is not None
    along = np.eye(3) if lines.ndim == 1 else lines
    points = X[ROWS][:, None, None] + STEPS[..., None] * along[:, None]
    expected = target.log_values(points.reshape(-1, 3)).reshape(STEPS.shape)
    np.testing.assert_allclose(series.values(ROWS, STEPS), expected, rtol=1e-12)


@pytest.mark.parametrize("lines", [np.arange(3), np.eye(3)[:2]], ids=["axes", "directions"])
def test_series_that_cost_more_than_asked_for_are_not_made(lines) -> None:
    target = sw.Target(plain)
    series = target.line_series(X, lines, 6)
    assert series is not None
    cost = series.evaluations / (len(X) * len(lines))
    assert target.line_series(X, lines, 6, 0.99 * cost) is None
    assert target.line_series(X, lines, 6, 1.01 * cost) is not None


def with_shared_factor(x):
    """A factor that only the first coordinate moves."""
    matrix = jnp.diag(jnp.exp(jnp.arange(2.0) * x[0])) + 0.3
    return -jnp.sum(jnp.cosh(jnp.linalg.cholesky(matrix) @ x[1:])) - jnp.sum(x**2)


def test_slopes_are_the_same_once_a_factor_is_shared() -> None:
    """Nodes on lines that leave a factor as it is are computed with that of the draw."""
    lines = np.array([[2, 0], [1, 2], [0, 1], [1, 1], [0, 0]])
    points = np.random.default_rng(2).normal(size=(5, 2, 11))
    target = sw.Target(with_shared_factor)
    before = target.line_values(X, lines, points)
    assert target.line_series(X, np.arange(3), 6) is not None
    after = target.line_values(X, lines, points)
    for alone, shared in zip(before, after, strict=True):
        assert alone is not None
        assert shared is not None
        np.testing.assert_allclose(shared, alone, rtol=1e-11, atol=1e-11)
