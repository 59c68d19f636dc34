"""Few nodes where the density is nearly normal: accurate wherever they are trusted."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammainc

import steinwise as sw
from steinwise.orbits.few_nodes import follow_by_few_nodes
from steinwise.orbits.line_density import LineDensity
from steinwise.orbits.node_recipes import follow_each
from steinwise.orbits.nodes import search_ranges_of
from steinwise.orbits.quadrature import follow_by_nodes
from steinwise.target import AbstractTarget

N = 320
Function = Callable[[np.ndarray], np.ndarray]


def target_of(log_density: Function, slope: Function, known: str) -> AbstractTarget:
    """A density of one coordinate whose values, or values and slopes, are known."""

    def values(x: np.ndarray) -> np.ndarray:
        return log_density(x[:, 0])

    if known == "values":
        return sw.Target.from_log_density(values)
    return sw.Target.from_score(slope, log_density=values)


def through(target: AbstractTarget, x: np.ndarray) -> LineDensity:
    """Lines through draws of one coordinate, one to a row."""
    at, numbers = x[:, None], np.arange(len(x))
    density = LineDensity(target, at, np.arange(1), at, search_ranges_of(at), 2**28, numbers)
    return density.single(numbers, np.zeros(len(x), int))


def log_gamma(rng: np.random.Generator) -> tuple[np.ndarray, Function, Function, np.ndarray]:
    x = np.log(rng.gamma(3.0, size=N))
    return x, lambda t: 3 * t - np.exp(t), lambda t: 3 - np.exp(t), gammainc(3.0, np.exp(x))


def student(rng: np.random.Generator) -> tuple[np.ndarray, Function, Function, np.ndarray]:
    x, law = rng.standard_t(10, size=N), stats.t(10)
    slope: Function = lambda t: -11 * t / (10 + t**2)  # noqa: E731
    return x, lambda t: -5.5 * np.log1p(t**2 / 10), slope, law.cdf(x)


def shifted(rng: np.random.Generator) -> tuple[np.ndarray, Function, Function, np.ndarray]:
    """In other units, and with a large constant that all values share."""
    x = 1e4 + 1e-3 * rng.normal(size=N)
    z: Function = lambda t: (t - 1e4) * 1e3  # noqa: E731
    return x, lambda t: 1e6 - z(t) ** 2 / 2, lambda t: -1e3 * z(t), stats.norm.cdf(z(x))


DENSITIES = {  # and on how many of the lines few nodes are enough, at least
    "log Gamma(3)": (log_gamma, 0.5),
    "t, 10 degrees": (student, 0.9),
    "shifted normal": (shifted, 0.99),
}


@pytest.mark.parametrize("known", ["both", "values"])
@pytest.mark.parametrize("name", DENSITIES)
def test_places_are_accurate_where_they_are_trusted(name: str, known: str) -> None:
    """Catches an interpolation of the wrong order, slopes in other units, tails left out."""
    make, share = DENSITIES[name]
    x, log_density, slope, u = make(np.random.default_rng(0))
    found = follow_by_few_nodes(through(target_of(log_density, slope, known), x))
    assert found.trusted.mean() > share
    assert np.abs(found.u - u)[found.trusted].max() < 5e-5
    assert found.evaluations < 17 * N * (2 if known == "values" else 1)


def test_the_number_of_evaluations_is_counted() -> None:
    calls = []

    def log_density(x: np.ndarray) -> np.ndarray:
        calls.append(len(x))
        return -(x[:, 0] ** 2) / 2

    target = sw.Target.from_log_density(log_density)
    density = through(target, np.random.default_rng(1).normal(size=N))
    assert follow_by_few_nodes(density).evaluations == sum(calls)


def constant_of_1e14(x: np.ndarray) -> np.ndarray:
    return 1e14 - x[:, 0] ** 2 / 2


@pytest.mark.parametrize("log_density", [None, constant_of_1e14], ids=["none", "coarse"])
def test_values_are_needed(log_density: Function | None) -> None:
    target = sw.Target.from_score(lambda x: -x, log_density=log_density)
    found = follow_by_few_nodes(through(target, np.random.default_rng(1).normal(size=N)))
    assert not found.trusted.any()
    assert found.evaluations == 2 * N


def laplace(t: np.ndarray) -> np.ndarray:
    return -np.abs(t)


def two_modes(t: np.ndarray) -> np.ndarray:
    return np.logaddexp(-((t - 4) ** 2) / 2, -((t + 4) ** 2) / 2)


@pytest.mark.parametrize(
    ("log_density", "slope", "draw"),
    [
        (laplace, lambda t: -np.sign(t), lambda rng: rng.laplace(size=N)),
        (
            two_modes,
            lambda t: -t + 4 * np.tanh(4 * t),
            lambda rng: rng.normal(size=N) + rng.choice([-4, 4], N),
        ),
        (
            lambda t: -2 * np.log1p(t**2 / 3),
            lambda t: -4 * t / (3 + t**2),
            lambda rng: rng.standard_t(3, size=N),
        ),
    ],
    ids=["a kink", "two modes", "heavy tails"],
)
def test_densities_that_are_far_from_normal_are_not_trusted(log_density, slope, draw) -> None:
    density = through(target_of(log_density, slope, "both"), draw(np.random.default_rng(2)))
    assert follow_by_few_nodes(density).trusted.mean() < 0.02


def test_draws_far_out_are_not_trusted() -> None:
    """Their p-values are exact ones, which must not rest on an exponential tail."""
    x = np.random.default_rng(3).normal(size=N)
    x[7] = 30.0
    target = target_of(lambda t: -(t**2) / 2, lambda t: -t, "both")
    found = follow_by_few_nodes(through(target, x))
    assert not found.trusted[7]
    assert found.trusted[np.arange(N) != 7].mean() > 0.99


SPIKE, SHARE, PLACE = 0.05, 0.1, 1.5  # of a standard deviation; of its mass next to 1


def with_spike(t: np.ndarray) -> np.ndarray:
    return np.logaddexp(-(t**2) / 2, log_of_spike(t))


def log_of_spike(t: np.ndarray) -> np.ndarray:
    return np.log(SHARE / SPIKE) - ((t - PLACE) / SPIKE) ** 2 / 2


def slope_with_spike(t: np.ndarray) -> np.ndarray:
    share = np.exp(log_of_spike(t) - with_spike(t))  # of the density at t
    return -(1 - share) * t - share * (t - PLACE) / SPIKE**2


def test_a_spike_between_the_nodes_is_found_where_lines_are_followed_both_ways() -> None:
    """Few nodes alone miss it on half of the lines, by a tenth of the mass."""
    rng = np.random.default_rng(4)
    x = np.where(rng.random(N) < SHARE / (1 + SHARE), PLACE + SPIKE * rng.normal(size=N), 0)
    x = np.where(x == 0, rng.normal(size=N), x)
    target = target_of(with_spike, slope_with_spike, "both")
    u = (stats.norm.cdf(x) + SHARE * stats.norm.cdf((x - PLACE) / SPIKE)) / (1 + SHARE)
    few = follow_by_few_nodes(through(target, x))
    assert np.abs(few.u - u)[few.trusted].max() > 0.05
    followed = follow_each(through(target, x), np.arange(N), np.zeros(N, int), np.ones(N, bool))
    assert np.abs(followed.u - u).max() < 2e-3


def test_one_bad_coordinate_does_not_cost_the_others_their_few_nodes() -> None:
    """Lines along a normal coordinate, and along one with heavy tails."""
    rng = np.random.default_rng(5)
    x = np.stack([rng.normal(size=N), rng.standard_t(3, size=N)], axis=1)

    def log_density(x: np.ndarray) -> np.ndarray:
        return -(x[:, 0] ** 2) / 2 - 2 * np.log1p(x[:, 1] ** 2 / 3)

    draw, line = np.nonzero(np.ones(x.shape))
    given = sw.Target.from_log_density(log_density), x, np.arange(2), x, search_ranges_of(x), 2**28
    density = LineDensity(*given, np.arange(N)).single(draw, line)
    followed = follow_each(density, draw, line, np.ones(len(line), bool))
    exact = np.stack([stats.norm.cdf(x[:, 0]), stats.t(3).cdf(x[:, 1])], axis=1)
    np.testing.assert_allclose(followed.u.reshape(x.shape), exact, atol=1e-4)
    assert 2 * 68 * N < followed.evaluations < 2 * (68 + 25) * N


def test_few_nodes_are_not_tried_on_lines_whose_series_failed() -> None:
    """Half of the lines are said not to be nearly normal: they cost all nodes, and no more."""
    x = np.random.default_rng(6).normal(size=N)
    density = through(target_of(lambda t: -(t**2) / 2, lambda t: -t, "both"), x)
    draw, line = np.arange(N), np.zeros(N, int)
    may_be_normal = draw < N // 2
    followed = follow_each(density, draw, line, may_be_normal)
    np.testing.assert_allclose(followed.u, stats.norm.cdf(x), atol=1e-6)
    first, last = (
        follow_each(density.rows(part), draw[part], line[part], may_be_normal[part]).evaluations
        for part in (may_be_normal, ~may_be_normal)
    )
    assert last == follow_by_nodes(density.rows(~may_be_normal)).evaluations
    assert followed.evaluations == first + last
    assert first < last / 2
