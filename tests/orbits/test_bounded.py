"""u along bounded lines, against the distribution functions of scipy."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise.orbits.nodes import search_ranges_of
from steinwise.orbits.places import find_places
from steinwise.target import AbstractTarget, Unconstrained, on_real_line
from steinwise.target.support import AbstractSupport, interval, positive

N = 100
UNIT = interval(0, 1)


def log_gamma(shape: float) -> Any:
    return lambda x: (shape - 1) * jnp.log(x) - x


CASES: dict[str, tuple[Any, Any, AbstractSupport]] = {
    "gamma 0.5": (stats.gamma(0.5), log_gamma(0.5), positive),
    "gamma 5": (stats.gamma(5), log_gamma(5.0), positive),
    "uniform": (stats.uniform(), lambda x: 0.0 * x, UNIT),
    "beta 0.5": (
        stats.beta(0.5, 0.5),
        lambda x: -0.5 * (jnp.log(x) + jnp.log1p(-x)),
        UNIT,
    ),
    "normal between bounds": (
        stats.truncnorm(-0.5, 1.0),
        lambda x: -0.5 * x**2,
        interval(-0.5, 1.0),
    ),
    "normal below a bound": (
        stats.truncnorm(-np.inf, 1.0),
        lambda x: -0.5 * x**2,
        interval(-np.inf, 1.0),
    ),
    "exponential above 2": (stats.expon(2.0), lambda x: -x, interval(2, np.inf)),
    "half Cauchy": (stats.halfcauchy(), lambda x: -jnp.log1p(x**2), positive),
}


def places_of(target: AbstractTarget, x: np.ndarray, support: AbstractSupport) -> np.ndarray:
    space = Unconstrained.of([support], x)
    y = space.to_line(x)
    found = find_places(
        on_real_line(target, space),
        y,
        np.arange(1),
        y,
        search_ranges_of(y),
        2**30,
        np.arange(len(y)),
    )
    return found.u


def by_values(of_one: Any) -> AbstractTarget:
    def values(x: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(of_one(x[:, 0]), np.float64)

    return sw.Target.from_log_density(values)


@pytest.mark.parametrize("name", CASES)
def test_a_bounded_line_is_followed_up_to_its_edge(name: str) -> None:
    """Catches mass that is lost, or made up, at a pole or a jump of the density."""
    exact, of_one, support = CASES[name]
    x = exact.rvs(size=(N, 1), random_state=np.random.default_rng(0))
    far = exact.ppf([1e-6, 1e-4, 1 - 1e-4, 1 - 1e-6])[:, None]
    x = np.concatenate([x, far])
    u = places_of(sw.Target(lambda x: of_one(x[0])), x, support)
    assert np.abs(u - exact.cdf(x)).max() < 1e-4


@pytest.mark.parametrize("shape", [0.5, 0.05])
def test_values_alone_are_enough(shape: float) -> None:
    """Catches points that are rounded together next to 0, where a pole has its mass."""
    x = stats.gamma(shape).rvs(size=(N, 1), random_state=np.random.default_rng(1))
    with np.errstate(divide="ignore"):
        u = places_of(
            by_values(lambda x: (shape - 1) * np.log(x) - x), np.maximum(x, 1e-290), positive
        )
    assert np.abs(u - stats.gamma(shape).cdf(x)).max() < 1e-4


def test_a_draw_that_was_rounded_to_its_edge_is_no_outlier() -> None:
    """Catches u = 0 of a draw that underflowed, and u = 1 of a draw in 32 bit."""
    x = np.concatenate([[[0.0]], np.random.default_rng(2).gamma(0.01, size=(N, 1))])
    u = places_of(sw.Target(lambda x: -0.99 * jnp.log(x[0]) - x[0]), x, positive)
    assert u[0, 0] == pytest.approx(stats.gamma(0.01).cdf(1e-300), rel=0.02)
    single = np.random.default_rng(3).beta(0.5, 0.5, size=(N, 1)).astype(np.float32)
    single = np.concatenate([np.ones((1, 1), np.float32), single]).astype(np.float64)
    u = places_of(sw.Target(lambda x: -0.5 * (jnp.log(x[0]) + jnp.log1p(-x[0]))), single, UNIT)
    assert 1 - u[0, 0] == pytest.approx(stats.beta(0.5, 0.5).sf(1 - 2.0**-25), rel=0.02)
