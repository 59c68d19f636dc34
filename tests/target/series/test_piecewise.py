"""Functions made of pieces: the right piece, and one side at ties."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.target.series.reference import assert_agrees, assert_functions_agree, make_plan


def test_pieces():
    assert_functions_agree(
        {
            "abs": lambda x: jnp.abs(x - 0.3) ** 3,
            "max": lambda x: jnp.maximum(x**3, x),
            "min": lambda x: jnp.minimum(x**3, x),
            "where": lambda x: jnp.where(x > 0.3, jnp.exp(x), x**2),
            "select among three": lambda x: lax.select_n((3 * x).astype(int), x, x**2, jnp.exp(x)),
            "clamp": lambda x: lax.clamp(0.3, x, 0.6) ** 2,
            "clamp between series": lambda x: lax.clamp(x**2, 0.2 + 0 * x, jnp.sqrt(x)),
            "rem": lambda x: lax.rem(7 * x, 1 + x) ** 2,
            "sign": lambda x: jnp.sign(x - 0.3) * x**2,
            "floor": lambda x: jnp.floor(5 * x) * x,
        },
        np.array([0.15, 0.35, 0.5]),
    )


@pytest.mark.parametrize("difference", [0.0, 1e-9, -1e-9])
def test_ties_in_logaddexp(difference):
    """max and abs that continue from different sides: the derivatives jump at a tie."""
    assert_agrees(lambda x: jnp.logaddexp(x[0], x[1]), np.array([[0.3, 0.3 + difference]]))


def test_ties_written_by_hand():
    """The same without JAX's own function, whose derivatives are exact: compared with those."""

    def by_hand(x):
        return jnp.maximum(x[0], x[1]) + jnp.log1p(jnp.exp(-jnp.abs(x[0] - x[1])))

    def softmin(x):
        return jnp.minimum(x[0], x[1]) - jnp.log1p(jnp.exp(-jnp.abs(x[0] - x[1])))

    x = np.array([[0.3, 0.3]])
    assert_agrees(by_hand, x, reference=lambda x: jnp.logaddexp(x[0], x[1]))
    assert_agrees(softmin, x, reference=lambda x: -jnp.logaddexp(-x[0], -x[1]))


def test_comparisons_do_not_move():
    """Series through branches that only choose a constant."""
    plan = make_plan(lambda x: jnp.where(x > 0, 1.0, 2.0).sum() + x[0] ** 2, 2)
    found = plan.coordinate_series(np.array([[0.5, -0.5]]))[0]
    np.testing.assert_array_equal(found[1, 1:], 0)
