"""u from the Taylor series of log p along a line."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from steinwise.orbits.series import ORDER, places_from_series


def coefficients(log_density, x: np.ndarray) -> np.ndarray:
    """Taylor coefficients by nested derivatives."""
    functions = [log_density]
    for _ in range(ORDER):
        functions.append(jax.grad(functions[-1]))
    with jax.enable_x64(True):
        at = [jax.vmap(f)(jnp.asarray(x)) for f in functions]
        return np.stack([np.asarray(v) / math.factorial(k) for k, v in enumerate(at)], axis=1)


def test_a_normal_line() -> None:
    """Catches a wrong correction at the draw, and a constant that is lost."""
    x = np.random.default_rng(0).normal(2.0, 3.0, size=500)
    found = places_from_series(coefficients(lambda t: 7.0 - (t - 2) ** 2 / 18, x))
    np.testing.assert_allclose(found.u, stats.norm.cdf(x, 2, 3), atol=1e-8)
    np.testing.assert_allclose(found.log_density, stats.norm.logpdf(x, 2, 3), atol=1e-8)
    np.testing.assert_allclose(found.mode, 2.0 - x, atol=1e-12)
    np.testing.assert_allclose(found.sd, 3.0)
    assert (found.change == 0).all()


@pytest.mark.parametrize(("shape", "least"), [(10.0, 0.8), (50.0, 1.0), (400.0, 1.0)])
def test_skewed_lines(shape: float, least: float) -> None:
    """Logs of Gamma variables: what is accepted is right to 1e-5, and most are accepted."""
    density = stats.loggamma(shape)
    x = density.rvs(1000, random_state=1)
    found = places_from_series(coefficients(lambda t: shape * t - jnp.exp(t), x))
    accepted = found.change < 5e-5
    assert accepted.mean() >= least
    np.testing.assert_allclose(found.u[accepted], density.cdf(x)[accepted], atol=1e-5)


@pytest.mark.parametrize("degrees", [3, 30])
def test_lines_beyond_convergence_are_not_accepted_wrongly(degrees: int) -> None:
    """A t density has poles at a distance: catches a series that is trusted beyond them."""
    density = stats.t(degrees)
    x = density.rvs(1000, random_state=2)

    def log_density(t: jax.Array) -> jax.Array:
        return -(degrees + 1) / 2 * jnp.log1p(t**2 / degrees)

    found = places_from_series(coefficients(log_density, x))
    accepted = found.change < 5e-5
    assert np.abs(found.u - density.cdf(x))[accepted].max(initial=0.0) < 2e-4


@pytest.mark.parametrize(
    "series",
    [
        [0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # grows on both sides
        [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],  # a straight line
        [0.0, 0.04, -0.57, 1.1, -8.7, 54.5, -304.0, 1388.0, -5939.0],  # converges nowhere near
        [np.nan] * 9,
        [0.0] * 9,
    ],
    ids=["convex", "straight", "divergent", "unknown", "flat"],
)
def test_no_place_from_a_series_that_has_none(series: list[float]) -> None:
    assert np.isinf(places_from_series(np.array([series])).change).all()
