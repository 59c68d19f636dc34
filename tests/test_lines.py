"""The largest error of u = F(x_j | the others) along lines, against closed forms and quadrature."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise.lines import EVALUATIONS, MIDPOINTS, Lines, follow, make_guide
from steinwise.target import AbstractTarget

N = 100
EQUICORRELATED = np.full((20, 20), 0.999) + 0.001 * np.eye(20)
PRECISION = np.linalg.inv(EQUICORRELATED)


def followed(target: AbstractTarget, x: np.ndarray) -> Lines:
    return follow(target, x, np.arange(x.shape[1]), x, make_guide(x), 2**30)


def from_score_of(log_density: Callable) -> AbstractTarget:
    gradient = jax.jit(jax.vmap(jax.grad(log_density)))

    def score(x: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(gradient(x))

    return sw.Target.from_score(score)


def correlated(x):
    return -0.5 * x @ (jnp.asarray(PRECISION) @ x)


def correlated_case() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).multivariate_normal(np.zeros(20), EQUICORRELATED, N)
    return x, stats.norm.cdf((x @ PRECISION) / np.sqrt(np.diag(PRECISION)))


def funnel(x):
    return -(x[0] ** 2) / 18 - 0.5 * jnp.sum(x[1:] ** 2) * jnp.exp(-x[0]) - 1.5 * x[0]


def funnel_case() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    v = rng.normal(0, 3, N)
    x = np.column_stack([v, *(rng.normal(size=(3, N)) * np.exp(v / 2))])
    u = stats.norm.cdf(x * np.exp(-x[:, :1] / 2))
    grid = np.linspace(-60, 60, 120_001)
    log = -(grid**2) / 18 - 0.5 * (x[:, 1:] ** 2).sum(axis=1)[:, None] * np.exp(-grid) - 1.5 * grid
    u[:, 0] = [_grid_cdf(grid, line, at) for line, at in zip(log, x[:, 0], strict=True)]
    return x, u


def banana(x):
    return -0.5 * x[0] ** 2 - 0.5 * ((x[1] - x[0] ** 2) / 0.3) ** 2


def banana_case() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    a = rng.normal(size=N)
    x = np.column_stack([a, a**2 + 0.3 * rng.normal(size=N)])
    grid = np.linspace(-10, 10, 40_001)
    log = -0.5 * grid**2 - 0.5 * ((x[:, 1:] - grid**2) / 0.3) ** 2
    first = [_grid_cdf(grid, line, at) for line, at in zip(log, x[:, 0], strict=True)]
    return x, np.column_stack([first, stats.norm.cdf((x[:, 1] - x[:, 0] ** 2) / 0.3)])


def modes(x):
    return jnp.logaddexp(-0.5 * (x[0] - 4) ** 2, -0.5 * (x[0] + 4) ** 2) - 0.5 * x[1] ** 2


def modes_case() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(N, 2))
    x[:, 0] += np.where(rng.random(N) < 0.5, 4.0, -4.0)
    first = (stats.norm.cdf(x[:, 0] - 4) + stats.norm.cdf(x[:, 0] + 4)) / 2
    return x, np.column_stack([first, stats.norm.cdf(x[:, 1])])


def student(x):
    return -2 * jnp.sum(jnp.log1p(x**2 / 3))


def student_case() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(4).standard_t(3, size=(N, 3))
    return x, stats.t.cdf(x, 3)


def standard(x):
    return -0.5 * jnp.sum(x**2)


def far_away_case() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(5).normal(size=(N, 2))
    x[:10] += 30.0
    return x, stats.norm.cdf(x)


def _grid_cdf(grid: np.ndarray, log: np.ndarray, at: float) -> float:
    density = np.exp(log - log.max())
    cumulative = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return float(np.interp(at, grid, cumulative) / cumulative[-1])


CASES = {
    "correlation 0.999": (correlated, correlated_case, 1e-4, 1e-4),
    "funnel": (funnel, funnel_case, 1e-4, 1e-3),
    "banana": (banana, banana_case, 1e-3, None),
    "modes 8 sd apart": (modes, modes_case, 1e-3, 2e-3),
    "Student-t": (student, student_case, 1e-4, 1e-4),
    "30 sd away": (standard, far_away_case, 1e-4, 1e-4),
}


@pytest.mark.parametrize("name", CASES)
def test_the_transform_is_accurate(name: str) -> None:
    """Catches nodes that miss the conditional's scale or place, and wrong integration."""
    log_density, case, bound, _ = CASES[name]
    x, exact = case()
    assert np.abs(followed(sw.Target(log_density), x).u - exact).max() < bound


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[3] is not None])
def test_it_is_when_only_a_score_is_known(name: str) -> None:
    """Catches slopes that are integrated too coarsely: the error between modes adds up."""
    log_density, case, _, bound = CASES[name]
    x, exact = case()
    assert bound is not None
    assert np.abs(followed(from_score_of(log_density), x).u - exact).max() < bound


def test_the_closed_form_of_a_gaussian_agrees_with_following_its_lines() -> None:
    """Catches a closed form with another sign, scale or place, in coordinates and directions."""
    covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
    closed = sw.Gaussian([0.5, -1.0], covariance)
    precision = jnp.asarray(closed.precision)
    mean = jnp.asarray(closed.mean)
    density = sw.Target(lambda x: -0.5 * (x - mean) @ (precision @ (x - mean)))
    x = np.random.default_rng(6).multivariate_normal([0.5, -1.0], covariance, 50)
    for directions, at in (
        (np.arange(2), x),
        (np.array([[1.0, 1.0], [0.5, -1.0]]), x @ np.array([[0.3, 0.2], [0.1, -0.4]])),
    ):
        guide = make_guide(at)
        one = follow(closed, x, directions, at, guide, 2**30)
        other = follow(density, x, directions, at, guide, 2**30)
        np.testing.assert_allclose(one.u, other.u, atol=1e-5)
        np.testing.assert_allclose(one.score, other.score, atol=1e-8)
        np.testing.assert_allclose(one.spread, other.spread, rtol=0.05)
        np.testing.assert_allclose(one.quantiles, other.quantiles, atol=0.05)
        assert (np.diff(other.quantiles, axis=-1) > 0).all()


def test_the_quantiles_are_those_of_the_conditional() -> None:
    """Catches an inversion that is off by an interval."""
    x, _ = modes_case()
    quantiles = followed(sw.Target(modes), x).quantiles[:, 0]
    places = (stats.norm.cdf(quantiles - 4) + stats.norm.cdf(quantiles + 4)) / 2
    assert np.abs(places - MIDPOINTS).max() < 0.01


def test_a_density_that_ends_is_followed_to_its_end() -> None:
    """Catches a NaN or -inf beyond a bound that spreads over the line."""
    x = np.random.default_rng(7).uniform(0.05, 0.95, size=(N, 1))
    target = sw.Target(lambda x: jnp.where((x[0] > 0) & (x[0] < 1), -0.1 * x[0], -jnp.inf))
    u = followed(target, x).u[:, 0]
    exact = (1 - np.exp(-0.1 * x[:, 0])) / (1 - np.exp(-0.1))
    assert np.abs(u - exact).max() < 0.05


def test_the_number_of_evaluations_is_as_stated() -> None:
    """Catches a cost above what the result says."""
    seen = []

    def score(x: np.ndarray) -> np.ndarray:
        seen.append(len(x))
        return -x

    followed(sw.Target.from_score(score), np.random.default_rng(8).normal(size=(20, 2)))
    assert sum(seen) == 20 * 2 * EVALUATIONS
    assert EVALUATIONS <= 70
