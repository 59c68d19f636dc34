"""How wrong the mass of an interval between two nodes may be: where the next nodes should go."""

import jax.numpy as jnp
from jaxtyping import Array

from steinwise.orbits.curves import MOST_RISE, Curve, cumulative_from_zero

# Log densities this far below the highest hold no mass that matters: exp(-15) is 3e-7, and u is
# needed to about 1e-4. At 8 the error of u from scores is 4e-3 on modes eight standard deviations
# apart, where it is 2e-4 at 15 and at 30.
NEGLIGIBLE_DEPTH = 15.0
# The part of a bent interval's mass that is added to the bounds, per unit by which its slopes
# depart from the chord. It covers log densities that bend more than once between two nodes, which
# the bounds exclude. On the densities of tests/orbits the largest error of u is about four times as
# large with a tenth of it, and with ten times as much.
BENT_SHARE = 0.1


def mass_error_bounds(curve: Curve) -> tuple[Array, Array]:
    """How far apart the bounds of every interval's mass are, and the middle between them.

    A log density that bends one way lies between the chord and the two tangents; any other one
    lies, roughly, between the tangents. It may bend more than once: a share of the mass of bent
    intervals is added.
    """
    h = jnp.diff(curve.nodes, axis=-1)
    a, b = curve.log_density[..., :-1], curve.log_density[..., 1:]
    chord, da, db = b - a, curve.slopes[..., :-1] * h, curve.slopes[..., 1:] * h
    bends_one_way = (da - chord) * (chord - db) >= 0
    crossing = jnp.where(da == db, 0.5, (chord - db) / jnp.where(da == db, 1.0, da - db))
    crossing = jnp.clip(crossing, 0.0, 1.0)  # where the tangents meet
    corner = a + crossing * da
    tangents = crossing * _mean_exp(a, corner) + (1 - crossing) * _mean_exp(corner, b)
    straight = _mean_exp(a, b)
    between_tangents = jnp.abs(_mean_exp(a, a + da) - _mean_exp(b - db, b))
    gap = jnp.where(bends_one_way, jnp.abs(tangents - straight), between_tangents)
    mass = h * jnp.where(bends_one_way, (tangents + straight) / 2, straight)
    bent = jnp.minimum(jnp.abs(da - chord) + jnp.abs(db - chord), 1 / BENT_SHARE)
    return h * gap + BENT_SHARE * bent * mass, mass


def _mean_exp(a: Array, b: Array) -> Array:
    """The mean of exp over the straight line from a to b."""
    a, b = jnp.minimum(a, MOST_RISE), jnp.minimum(b, MOST_RISE)
    gap = b - a
    small = jnp.abs(gap) < 1e-3  # the next term of the series is gap^3 / 24, below 1e-10
    series = jnp.exp(a) * (1 + gap / 2 + gap**2 / 6)
    return jnp.where(small, series, (jnp.exp(b) - jnp.exp(a)) / jnp.where(small, 1.0, gap))


def slope_error_bounds(curve: Curve, integral_errors: Array, mass_shares: Array) -> Array:
    """How much errors of integrated slopes can move the share of mass on either side of them.

    Only intervals count that lie between the outermost nodes with mass, or with possible mass
    given how uncertain the integrals up to there are.
    """
    # between slopes of one sign log p rises, or falls, by at least half of the estimated change
    same_sign = curve.slopes[..., :-1] * curve.slopes[..., 1:] > 0
    change = jnp.abs(jnp.diff(curve.log_density, axis=-1))
    from_left_end = cumulative_from_zero(
        jnp.where(same_sign, jnp.minimum(integral_errors, change / 2), integral_errors)
    )
    top = jnp.argmax(curve.log_density, axis=-1, keepdims=True)
    uncertainty = jnp.abs(from_left_end - jnp.take_along_axis(from_left_end, top, axis=-1))
    may_have_mass = curve.log_density + uncertainty > -NEGLIGIBLE_DEPTH
    from_left = jnp.cumsum(may_have_mass, axis=-1) > 0
    from_right = jnp.cumsum(may_have_mass[..., ::-1], axis=-1)[..., ::-1] > 0
    inside = from_left & from_right
    below = jnp.cumsum(mass_shares, axis=-1)
    errors = jnp.minimum(integral_errors, 1.0)
    # both sides of an interval whose integral is unknown may hold half of the mass
    weight = jnp.maximum(below * (1 - below + mass_shares), errors / 4)
    return jnp.where(inside[..., 1:] & inside[..., :-1], errors * weight, 0.0)
