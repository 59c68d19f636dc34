"""Loops and branches, against nested derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.target.series.reference import assert_agrees, make_plan

X = np.random.default_rng(0).normal(size=(3, 5))


def _scan_of_states(x):
    def one(state, noise):
        state = x[0] * state + noise
        return state, jnp.exp(0.2 * state)

    return lax.scan(one, 0.0, x[1:])[1].sum()


def _scan_backwards_with_a_counter(x):
    def one(carry, noise):
        count, total = carry
        return (count + 1, total + jnp.sin(noise * count) * x[0]), None

    return lax.scan(one, (0, x[1]), x[2:], reverse=True)[0][1] ** 2


def _scan_that_starts_to_move(x):
    """The first carry moves only because of the second one."""

    def one(carry, noise):
        first, second = carry
        return (first + second, second * noise), first

    carry, outputs = lax.scan(one, (1.0, x[0]), x[1:])
    return jnp.sum(outputs**2) + carry[0]


@jax.custom_jvp
def _with_jvp(x):
    return jnp.sin(x) * x


_with_jvp.defjvp(
    lambda primals, tangents: (
        _with_jvp(primals[0]),
        (jnp.cos(primals[0]) * primals[0] + jnp.sin(primals[0])) * tangents[0],
    )
)


@jax.custom_vjp
def _with_vjp(x):
    return jnp.exp(x) * x


_with_vjp.defvjp(lambda x: (_with_vjp(x), x), lambda x, g: (g * jnp.exp(x) * (1 + x),))

CASES = {
    "scan": _scan_of_states,
    "scan backwards": _scan_backwards_with_a_counter,
    "scan that starts to move": _scan_that_starts_to_move,
    "cond": lambda x: lax.cond(x[1] > 0, lambda a: a**3, lambda a: jnp.exp(a), x[0]),
    "switch": lambda x: lax.switch(
        (2 * x[1]).astype(int), [jnp.sin, jnp.exp, lambda a: 0.0 * a + 1], x[0] * x[2]
    ),
    "cond whose branches do not both move": lambda x: lax.cond(
        x[1] > 0, lambda a: a**3, lambda _: 1.0, x[0]
    ),
    "a loop that does not move": lambda x: (
        lax.while_loop(lambda c: c[1] < 3, lambda c: (2 * c[0], c[1] + 1), (1.0, 0))[0]
        * jnp.sum(x**3)
    ),
    "fori_loop": lambda x: lax.fori_loop(0, 4, lambda i, a: jnp.sin(a * x[i]), x[4]),
    "checkpoint": lambda x: jax.checkpoint(lambda a: jnp.sum(jnp.sin(a) ** 3))(x),
    "custom_jvp": lambda x: _with_jvp(x).sum() * x[0],
}


@pytest.mark.parametrize("name", CASES)
def test_control_flow(name):
    assert_agrees(CASES[name], X, order=4)


def test_a_custom_vjp():
    """Forward mode refuses it: compared with the function inside."""
    assert_agrees(
        lambda x: _with_vjp(x).sum() * x[0],
        X,
        order=4,
        reference=lambda x: (jnp.exp(x) * x).sum() * x[0],
    )


def test_only_the_affected_coordinates_are_refused():
    """One loop of unknown length, and no series at all."""

    def log_density(x):
        rounds = lax.while_loop(lambda a: a < 10, lambda a: 2 * a, 1 + x[0] ** 2)
        return -jnp.sum(x[1:] ** 2) + jnp.log(rounds)

    plan = make_plan(log_density, 3)
    np.testing.assert_array_equal(plan.supported, [False, True, True])
    np.testing.assert_array_equal(plan.unsupported["while"], [0])
    found = plan.coordinate_series(np.ones((2, 3)))
    assert np.isnan(found[:, 0, 1:]).all()
    np.testing.assert_allclose(found[:, 1:, 1:3], [[[-2, -1]] * 2] * 2)
