"""The largest error of u = F(x_j | the others) along lines, against closed forms and fine grids."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise.orbits.lines import Lines, NormalLines
from steinwise.orbits.nodes import SearchRanges, search_ranges_of
from steinwise.orbits.quadrature import EVALUATIONS_PER_LINE, follow_lines
from steinwise.orbits.quantiles import MIDPOINTS
from steinwise.target import AbstractTarget

N = 100
EQUICORRELATED = np.full((20, 20), 0.999) + 0.001 * np.eye(20)
PRECISION = np.linalg.inv(EQUICORRELATED)


def coordinate_lines(target: AbstractTarget, x: np.ndarray) -> Lines | NormalLines:
    return follow_lines(target, x, np.arange(x.shape[1]), x, search_ranges_of(x), 2**30)


def from_score_of(log_density: Callable) -> AbstractTarget:
    gradient = jax.jit(jax.vmap(jax.grad(log_density)))

    def score(x: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(gradient(x))

    return sw.Target.from_score(score)


def from_values_of(log_density: Callable) -> AbstractTarget:
    of_rows = jax.jit(jax.vmap(log_density))

    def values(x: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(of_rows(x))

    return sw.Target.from_log_density(values)


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


def banana(x, width=0.3):
    return -0.5 * x[0] ** 2 - 0.5 * ((x[1] - x[0] ** 2) / width) ** 2


def banana_case(width: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    a = rng.normal(size=10 * N)  # the hard ones are rare: far out, where two modes are narrow
    x = np.column_stack([a, a**2 + width * rng.normal(size=10 * N)])
    grid = np.linspace(-6, 6, 40_001)
    log = -0.5 * grid**2 - 0.5 * ((x[:, 1:] - grid**2) / width) ** 2
    first = [_grid_cdf(grid, line, at) for line, at in zip(log, x[:, 0], strict=True)]
    return x, np.column_stack([first, stats.norm.cdf((x[:, 1] - x[:, 0] ** 2) / width)])


def modes(x, half=4.0):
    return jnp.logaddexp(-0.5 * (x[0] - half) ** 2, -0.5 * (x[0] + half) ** 2) - 0.5 * x[1] ** 2


def near_modes(x):
    return modes(x, 2.0)


def modes_case(half: float = 4.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(N, 2))
    x[:, 0] += np.where(rng.random(N) < 0.5, half, -half)
    first = (stats.norm.cdf(x[:, 0] - half) + stats.norm.cdf(x[:, 0] + half)) / 2
    return x, np.column_stack([first, stats.norm.cdf(x[:, 1])])


def near_modes_case() -> tuple[np.ndarray, np.ndarray]:
    return modes_case(2.0)


def student(x):
    return -2 * jnp.sum(jnp.log1p(x**2 / 3))


def student_case() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(4).standard_t(3, size=(N, 3))
    return x, stats.t.cdf(x, 3)


LOGISTIC = np.random.default_rng(9).normal(size=(50, 4))
ANSWERS = np.random.default_rng(10).random(50) < 1 / (1 + np.exp(-LOGISTIC @ [1, -1, 0.5, 0]))


def logistic(x):
    linear = jnp.asarray(LOGISTIC) @ x
    return jnp.sum(jnp.asarray(ANSWERS) * linear - jnp.logaddexp(0.0, linear)) - jnp.sum(x**2) / 8


def logistic_case() -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(11).normal([1, -1, 0.5, 0], 0.4, size=(N // 2, 4))
    grid = np.linspace(-9, 9, 6001)
    u = np.empty_like(x)
    for i, j in np.ndindex(x.shape):
        linear = LOGISTIC @ x[i] + np.outer(grid - x[i, j], LOGISTIC[:, j])
        log = (ANSWERS * linear - np.logaddexp(0, linear)).sum(axis=1) - grid**2 / 8
        u[i, j] = _grid_cdf(grid, log, float(x[i, j]))
    return x, u


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


CASES = {  # name: log density, draws and exact u, bounds with a log density and with a score
    "correlation 0.999": (correlated, correlated_case, 1e-4, 1e-4),
    "funnel": (funnel, funnel_case, 1e-4, 1e-4),
    "banana": (banana, banana_case, 1e-3, 1e-3),
    "modes 4 sd apart": (near_modes, near_modes_case, 1e-4, 1e-4),
    "modes 8 sd apart": (modes, modes_case, 1e-3, 1e-3),
    "Student-t": (student, student_case, 1e-4, 1e-4),
    "logistic regression": (logistic, logistic_case, 1e-4, 1e-4),
    "30 sd away": (standard, far_away_case, 1e-4, 1e-4),
}
EXACT = functools.cache(lambda name: CASES[name][1]())


@pytest.mark.parametrize("name", CASES)
def test_the_transform_is_accurate(name: str) -> None:
    """Catches nodes that miss the conditional's scale or place, and wrong integration."""
    x, exact = EXACT(name)
    lines = coordinate_lines(sw.Target(CASES[name][0]), x)
    assert np.abs(lines.u - exact).max() < CASES[name][2]
    assert (np.diff(lines.quantiles, axis=-1) >= 0).all()


def test_a_narrow_second_mode_far_from_the_draw_is_found() -> None:
    """Catches intervals that are halved too few times: u is then wrong by up to 1/2."""
    x, exact = banana_case(0.1)
    lines = coordinate_lines(sw.Target(functools.partial(banana, width=0.1)), x)
    error = np.abs(lines.u - exact)
    assert error.max() < 1e-2
    assert (error > 1e-3).mean() <= 1e-3


@pytest.mark.parametrize("name", CASES)
def test_it_is_accurate_when_only_a_score_is_known(name: str) -> None:
    """Catches slopes that are integrated too coarsely: the error between modes adds up.

    And one that cuts the integral at the larger of two slopes where the slopes have a peak
    between them: an error of 0.36 on the banana.
    """
    x, exact = EXACT(name)
    u = coordinate_lines(from_score_of(CASES[name][0]), x).u
    assert np.abs(u - exact).max() < CASES[name][3]


@pytest.mark.parametrize("name", CASES)
def test_it_is_accurate_when_only_values_are_known(name: str) -> None:
    """Catches slopes taken from values of nodes that are far apart, or through a kink."""
    x, exact = EXACT(name)
    u = coordinate_lines(from_values_of(CASES[name][0]), x).u
    assert np.abs(u - exact).max() < CASES[name][2]


def test_steep_slopes_far_away_do_no_harm() -> None:
    """Catches quartics through nodes of many scales, and overflow, in integrated slopes.

    The logarithm of a gamma variable: its slopes go from 1/2 to -exp(300).
    """
    x = np.log(np.random.default_rng(12).gamma(0.5, size=(4 * N, 1)))
    u = coordinate_lines(sw.Target.from_score(lambda x: 0.5 - np.exp(np.minimum(x, 700.0))), x).u
    assert np.abs(u - stats.gamma.cdf(np.exp(x), 0.5)).max() < 1e-3


def test_a_score_with_a_log_density_and_lines_are_followed_too() -> None:
    """Catches a host log density that is ignored, and lines= with another layout."""
    x, exact = EXACT("modes 8 sd apart")

    def score(x: np.ndarray) -> np.ndarray:
        return np.column_stack([4 * np.tanh(4 * x[:, 0]) - x[:, 0], -x[:, 1]])

    def values(x: np.ndarray) -> np.ndarray:
        return np.logaddexp(4 * x[:, 0], -4 * x[:, 0]) - 0.5 * (x**2).sum(axis=1)

    def host_lines(x: np.ndarray, j: int, y: np.ndarray) -> np.ndarray:
        return 4 * np.tanh(4 * y) - y if j == 0 else -y

    def lines(x, j, y):
        return jnp.where(j == 0, 4 * jnp.tanh(4 * y), 0.0) - y

    for target, bound in (
        (sw.Target.from_score(score, values), 1e-4),
        (sw.Target.from_score(score, lines=host_lines), 1e-3),
        (sw.Target(modes, lines=lines), 1e-3),
    ):
        assert np.abs(coordinate_lines(target, x).u - exact).max() < bound


def test_lines_do_not_depend_on_each_other_or_on_how_they_are_called() -> None:
    """Catches padding that leaks, and coordinates that differ from their unit vectors."""
    x, _ = EXACT("banana")
    target = sw.Target(banana)
    whole = coordinate_lines(target, x)
    second = SearchRanges(*(array[1:] for array in search_ranges_of(x)))
    some = follow_lines(target, x[:33], np.array([1]), x[:33, 1:], second, 2**30)
    np.testing.assert_allclose(some.u, whole.u[:33, 1:], atol=1e-12)
    np.testing.assert_allclose(some.quantiles, whole.quantiles[:33, 1:], atol=1e-12)
    rotated = follow_lines(target, x, np.eye(2), x, search_ranges_of(x), 2**30)
    np.testing.assert_allclose(rotated.u, whole.u, atol=1e-9)


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
        ranges = search_ranges_of(at)
        closed_form = follow_lines(closed, x, directions, at, ranges, 2**30)
        followed = follow_lines(density, x, directions, at, ranges, 2**30)
        assert isinstance(closed_form, NormalLines)
        np.testing.assert_allclose(closed_form.u, followed.u, atol=1e-5)
        np.testing.assert_allclose(closed_form.quantiles, followed.quantiles, atol=0.05)
        assert (np.diff(followed.quantiles, axis=-1) > 0).all()


def test_the_quantiles_are_those_of_the_conditional() -> None:
    """Catches an inversion that is off by an interval."""
    x, _ = modes_case()
    quantiles = coordinate_lines(sw.Target(modes), x).quantiles[:, 0]
    shares = (stats.norm.cdf(quantiles - 4) + stats.norm.cdf(quantiles + 4)) / 2
    assert np.abs(shares - MIDPOINTS).max() < 0.01


def test_a_density_that_ends_is_followed_to_its_end() -> None:
    """Catches a NaN or -inf beyond a bound that spreads over the line."""
    x = np.random.default_rng(7).uniform(0.05, 0.95, size=(N, 1))
    target = sw.Target(lambda x: jnp.where((x[0] > 0) & (x[0] < 1), -0.1 * x[0], -jnp.inf))
    u = coordinate_lines(target, x).u[:, 0]
    exact = (1 - np.exp(-0.1 * x[:, 0])) / (1 - np.exp(-0.1))
    assert np.abs(u - exact).max() < 0.05


def test_the_number_of_evaluations_is_as_stated() -> None:
    """Catches a cost above what the result says."""
    calls = []

    def score(x: np.ndarray) -> np.ndarray:
        calls.append(len(x))
        return -x

    coordinate_lines(sw.Target.from_score(score), np.random.default_rng(8).normal(size=(20, 2)))
    assert sum(calls) == 20 * 2 * EVALUATIONS_PER_LINE
    assert EVALUATIONS_PER_LINE <= 70


@pytest.mark.parametrize("constant", [1e13, 1e17, -1e17])
def test_a_constant_that_takes_all_digits_changes_no_verdict(constant):
    """At 1e17 the log density is a staircase with steps of 16, and correct draws were rejected."""
    x = np.random.default_rng(0).normal(size=(60, 2))
    found = sw.check(x, lambda x: constant - 0.5 * jnp.sum(x**2))
    expected = sw.check(x, lambda x: -0.5 * jnp.sum(x**2))
    assert found.pvalue == pytest.approx(expected.pvalue, abs=0.02)
