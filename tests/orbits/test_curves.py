"""Log densities between nodes: integrated slopes, masses, and the bounds of their errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from steinwise.orbits.curves import curve_through, integrate_slopes, interval_masses
from steinwise.orbits.error_bounds import mass_error_bounds

NODES = np.array([-4.0, -2.5, -1.7, -1.0, -0.4, 0.0, 0.3, 0.9, 1.6, 2.4, 4.0])


def test_cubic_slopes_are_integrated_exactly() -> None:
    """Catches a wrong sign or factor of the correction, which would leave the trapezoid rule."""
    with jax.enable_x64(True):
        changes, _ = integrate_slopes(jnp.asarray(NODES), jnp.asarray(NODES**3 + 20 * NODES))
    exact = np.diff(NODES**4 / 4 + 10 * NODES**2)
    # at the ends there are too few neighbours for a quartic
    assert np.asarray(changes)[2:-2] == pytest.approx(exact[2:-2], rel=1e-12)


@pytest.mark.parametrize("values_known", [True, False])
def test_masses_of_a_normal_density_lie_within_their_bounds(values_known: bool) -> None:
    """Catches an interpolation, or a bound, on another scale than the density's."""
    with jax.enable_x64(True):
        values = jnp.asarray(-(NODES**2) / 2) if values_known else None
        curve = curve_through(jnp.asarray(NODES), values, jnp.asarray(-NODES))
        masses, (bounds, _) = np.asarray(interval_masses(curve)), mass_error_bounds(curve)
    exact = np.diff(stats.norm.cdf(NODES)) * np.sqrt(2 * np.pi)
    assert masses == pytest.approx(exact, rel=1e-2)
    assert (np.abs(masses - exact) <= np.asarray(bounds)).all()


def test_nodes_where_the_density_is_not_finite_hold_no_mass() -> None:
    """Catches a NaN or -inf that spreads to the intervals beyond its own."""
    values = np.where(NODES > 2, -np.inf, -(NODES**2) / 2)
    slopes = np.where(NODES > 2, np.nan, -NODES)
    with jax.enable_x64(True):
        curve = curve_through(jnp.asarray(NODES), jnp.asarray(values), jnp.asarray(slopes))
        masses = np.asarray(interval_masses(curve))
    assert masses[-1] == 0.0
    assert np.isfinite(masses).all()
    exact = np.diff(stats.norm.cdf(NODES)) * np.sqrt(2 * np.pi)
    assert masses[:-2] == pytest.approx(exact[:-2], rel=1e-2)
