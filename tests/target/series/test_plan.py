"""Plans: groups and colours, directions, blocks of draws, cost, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from steinwise._internal.compiled import precision
from steinwise.target.series import Unsupported, plan_series
from steinwise.target.series.groups import find_groups
from steinwise.target.series.plan import DRAWS_PER_BLOCK
from steinwise.target.series.tracking import find_dependence, find_movement
from tests.target.series.models import MODELS
from tests.target.series.reference import (
    assert_agrees,
    assert_close,
    make_plan,
    nested_derivatives,
)


@pytest.mark.parametrize("name", MODELS)
def test_models(name):
    """A log density as users write them, with all of it at once."""
    log_density, d = MODELS[name]
    x = 0.4 * np.random.default_rng(1).normal(size=(2, d))
    chosen = np.unique(np.linspace(0, d - 1, 8).astype(int))
    assert_agrees(log_density, x, order=4, coordinates=chosen)


COLOURS = {  # (coordinates, colours) of every group that shares passes
    "hierarchical": {(6, 1)},
    "volatility": {(8, 2)},
    "schools": {(8, 1)},
    "logistic": set(),
    "dummies": {(4, 1)},
}


@pytest.mark.parametrize("name", COLOURS)
def test_coordinates_that_share_nothing_move_together(name):
    """Right numbers from as many passes as coordinates."""
    log_density, d = MODELS[name]
    with precision():
        program = make_plan(log_density, d).program
        movement = find_movement(program, d)
        groups = find_groups(program, movement, find_dependence(program, d, movement))
    found = {
        (len(group.coordinates), len(group.colouring.coordinates))
        for group in groups
        if group.colouring is not None
    }
    assert found == COLOURS[name]
    covered = np.sort(np.concatenate([group.coordinates for group in groups]))
    np.testing.assert_array_equal(covered, np.arange(d))


def test_directions():
    log_density, d = MODELS["hierarchical"]
    rng = np.random.default_rng(2)
    x, directions = 0.4 * rng.normal(size=(2, d)), rng.normal(size=(3, d))
    found = make_plan(log_density, d, 4).direction_series(x, directions)
    assert_close(found, nested_derivatives(log_density, x, directions, 4))


@pytest.mark.parametrize("name", ["schools", "volatility"])
def test_one_pass_for_coordinates_and_directions(name):
    """Catches lines that fill up a pass and are not cut off, and a second pass that is compiled."""
    log_density, d = MODELS[name]
    rng = np.random.default_rng(3)
    x, directions = 0.4 * rng.normal(size=(2, d)), rng.normal(size=(3, d))
    steps = rng.normal(size=(2, d, 5))
    with precision():
        plan = plan_series(log_density, d, 4)
    assert plan.one_pass
    by_group = make_plan(log_density, d, 4)
    assert not by_group.one_pass
    assert_close(plan.coordinate_series(x), by_group.coordinate_series(x))
    assert_close(plan.direction_series(x, directions), by_group.direction_series(x, directions))
    assert plan.direction_cost(3) == pytest.approx(3 / d * plan.cost)
    for found, expected in (
        (plan.coordinate_values(x, steps), by_group.coordinate_values(x, steps)),
        (
            plan.direction_values(x, directions, steps[:, :3]),
            by_group.direction_values(x, directions, steps[:, :3]),
        ),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_pass_that_is_not_small_is_left_to_groups():
    """Catches one pass along all coordinates where groups take far less time to run."""
    scales = np.linspace(1, 2, 40_000)
    with precision():
        plan = plan_series(lambda x: jnp.sum(jnp.exp(-scales * jnp.sum(x**2))), 2, 8)
    assert not plan.one_pass


def test_directions_need_every_coordinate():
    plan = make_plan(lambda x: jax.lax.cummax(x).sum(), 2)
    assert not plan.supported.any()
    with pytest.raises(Unsupported, match="cummax"):
        plan.direction_series(np.ones((1, 2)), np.ones((1, 2)))


@pytest.mark.parametrize(
    "part",
    [
        lambda y: jnp.sum(jnp.abs(jnp.fft.fft(y)) ** 2),
        lambda y: jnp.real(jnp.exp(1j * y[0]) * y[1]),
        lambda y: jnp.imag(jnp.exp(1j * jnp.concatenate([y, y]))).sum() + y.sum(),
    ],
    ids=["fft", "exp(1j x)", "rearranged"],
)
def test_complex_numbers_are_left_to_nodes(part):
    """Catches series without what went through complex numbers, taken for what does not move."""

    def log_density(x):
        return -jnp.sum(x**4) - part(x[2:])

    plan = make_plan(log_density, 4, 4)
    np.testing.assert_array_equal(plan.supported, [True, True, False, False])
    x = 0.4 * np.random.default_rng(0).normal(size=(2, 4))
    expected = nested_derivatives(log_density, x, np.eye(4)[:2], 4)
    assert_close(plan.coordinate_series(x)[:, :2], expected)
    with precision():
        assert not plan_series(log_density, 4, 4).supported[2:].any()


@pytest.mark.parametrize("n", [1, DRAWS_PER_BLOCK, DRAWS_PER_BLOCK + 1, 1030])
def test_any_number_of_draws(n):
    """A block that is dropped, repeated or not filled up."""
    plan = make_plan(lambda x: jnp.sum(jnp.sin(x)), 2, 3)
    x = np.random.default_rng(0).normal(size=(n, 2))
    found = plan.coordinate_series(x)
    expected = np.stack([np.cos(x), -np.sin(x) / 2, -np.cos(x) / 6], axis=-1)
    np.testing.assert_allclose(found[..., 1:], expected, atol=1e-15)
    np.testing.assert_allclose(found[..., 0], np.sin(x).sum(1, keepdims=True) * [1, 1])


def test_coordinates_that_nothing_depends_on():
    found = make_plan(lambda x: x[0] ** 2, 3, 2).coordinate_series(np.ones((1, 3)))[0]
    np.testing.assert_array_equal(found, [[1, 2, 1], [1, 0, 0], [1, 0, 0]])


def test_a_constant_density():
    found = make_plan(lambda _: jnp.zeros(()), 2, 2).coordinate_series(np.ones((1, 2)))
    np.testing.assert_array_equal(found, 0)


def test_32_bit():
    """A plan that is made in 32 bit stays there, whatever the precision of the caller."""
    with precision(False):
        plan = plan_series(lambda x: jnp.sum(jnp.exp(x)), 2, 3)
    assert not plan.wide
    found = plan.coordinate_series(np.zeros((1, 2)))[0, 0]
    np.testing.assert_allclose(found, [2, 1, 1 / 2, 1 / 6], rtol=1e-6)


def test_the_cost_is_that_of_all_lines_in_evaluations():
    """30 lines for the price of 30 evaluations, though they share all but their slopes."""
    log_density, d = MODELS["logistic"]
    cost = make_plan(log_density, d, 8).cost
    assert 2 < cost < 15
