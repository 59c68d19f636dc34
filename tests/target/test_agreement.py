"""Every way of making a target gives the same scores, within the memory budget."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.target.pointwise import is_faster_alone
from tests.target.cases import (
    ALL_LINE_POINTS,
    BLOCK,
    BLOCK_POINTS,
    COORDINATES,
    LINE_POINTS,
    MEAN,
    PRECISION,
    TARGETS,
    D,
    X,
    host_score,
    log_density,
)


@pytest.fixture(params=TARGETS.values(), ids=list(TARGETS))
def target(request):
    return request.param


def test_scores_agree(target):
    """A route that works in 32 bit, or swaps an axis."""
    np.testing.assert_allclose(target.score(X), (MEAN - X) @ PRECISION, rtol=0, atol=1e-10)


def test_values_and_scores_agree_with_either(target):
    """Catches a value in the place of a slope; few rows are padded to one small shape."""
    for rows in (X[:3], np.resize(X, (300, D))):
        found = target.values_and_scores(rows)
        if found is None:  # without a log density, or with one maximum only
            continue
        np.testing.assert_allclose(found[0], target.log_values(rows), rtol=1e-12)
        np.testing.assert_allclose(found[1], target.score(rows), rtol=0, atol=1e-10)


def test_line_scores_agree(target):
    """Coordinate j of another point than x with x_j replaced."""
    expected = np.empty(LINE_POINTS.shape)
    for i, c, m in np.ndindex(*LINE_POINTS.shape):
        moved = X[i].copy()
        moved[COORDINATES[c]] = LINE_POINTS[i, c, m]
        expected[i, c, m] = ((MEAN - moved) @ PRECISION)[COORDINATES[c]]
    found = target.line_scores(X, COORDINATES, LINE_POINTS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_block_scores_agree(target):
    """The block's coordinates in another order, or the rest of the point not kept."""
    expected = np.empty(BLOCK_POINTS.shape)
    for i, m in np.ndindex(*BLOCK_POINTS.shape[:2]):
        moved = X[i].copy()
        moved[BLOCK] = BLOCK_POINTS[i, m]
        expected[i, m] = ((MEAN - moved) @ PRECISION)[BLOCK]
    found = target.block_scores(X, BLOCK, BLOCK_POINTS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


def _funnel(x):
    return -(x[0] ** 2) / 18 - 0.5 * jnp.sum(x[1:] ** 2) * jnp.exp(-x[0]) - x[0] * (D - 1) / 2


def test_a_density_that_is_not_gaussian():
    """Closed-form habits that only a quadratic forgives."""

    def by_hand(x):
        first = -x[:, 0] / 9 + 0.5 * (x[:, 1:] ** 2).sum(1) * np.exp(-x[:, 0]) - (D - 1) / 2
        return np.column_stack([first, -x[:, 1:] * np.exp(-x[:, :1])])

    funnel, host = sw.Target(_funnel), sw.Target.from_score(by_hand)
    np.testing.assert_allclose(funnel.score(X), by_hand(X), atol=1e-10)
    lines = (X, np.arange(D), ALL_LINE_POINTS)
    np.testing.assert_allclose(funnel.line_scores(*lines), host.line_scores(*lines), atol=1e-10)
    blocks = (X, BLOCK, BLOCK_POINTS)
    np.testing.assert_allclose(funnel.block_scores(*blocks), host.block_scores(*blocks), atol=1e-10)


def test_lines_are_used_where_given():
    """A target that ignores the model's cheaper conditional score."""
    own = sw.Target(log_density, lines=lambda _x, _j, y: 7.0 + 0 * y)
    assert (own.line_scores(X, COORDINATES, LINE_POINTS) == 7.0).all()
    host = sw.Target.from_score(host_score, lines=lambda _x, _j, y: np.full(y.shape, 7.0))
    assert (host.line_scores(X, COORDINATES, LINE_POINTS) == 7.0).all()


@pytest.mark.parametrize("name", ["log density", "log density with lines", "host score"])
def test_the_memory_budget_changes_no_number(name):
    """A chunk boundary that drops, repeats or pads a row."""
    target, wide = TARGETS[name], np.tile(X, (80, 1))
    points = np.tile(LINE_POINTS, (80, 1, 1))
    small, large = (
        (
            target.score(wide, memory=memory),
            target.line_scores(wide, COORDINATES, points, memory=memory),
        )
        for memory in (2**20, 2**30)
    )
    for one, other in zip(small, large, strict=True):
        np.testing.assert_array_equal(one, other)


def test_values_along_coordinates_agree(target):
    """A constant that differs from point to point of a line, or the slope of another line."""
    values, slopes = target.line_values(X, COORDINATES, LINE_POINTS)
    np.testing.assert_allclose(slopes, target.line_scores(X, COORDINATES, LINE_POINTS), atol=1e-10)
    if values is not None:
        moved = np.repeat(X[:, None, None], LINE_POINTS.shape[1], axis=1)
        moved = np.repeat(moved, LINE_POINTS.shape[2], axis=2)
        for c, j in enumerate(COORDINATES):
            moved[:, c, :, j] = LINE_POINTS[:, c]
        assert_equal_up_to_a_constant(values, moved)


def test_values_along_directions_agree(target):
    """Steps in other units than those of the direction, or a direction that is normalised."""
    directions = np.random.default_rng(1).normal(size=(2, D))
    values, slopes = target.direction_values(X, directions, LINE_POINTS)
    moved = X[:, None, None] + LINE_POINTS[..., None] * directions[:, None]
    expected = np.einsum("ncmd,cd->ncm", (MEAN - moved) @ PRECISION, directions)
    np.testing.assert_allclose(slopes, expected, atol=1e-9)
    if values is not None:
        assert_equal_up_to_a_constant(values, moved)


def assert_equal_up_to_a_constant(values, points):
    away = points - MEAN
    expected = -0.5 * np.einsum("ncmd,de,ncme->ncm", away, PRECISION, away)
    np.testing.assert_allclose(values - values[..., :1], expected - expected[..., :1], atol=1e-9)


def test_scores_of_a_density_with_groups_are_those_of_matrices():
    """The gradient of ``a[group]`` adds at indices, and is computed point by point."""
    rng = np.random.default_rng(5)
    group, y = rng.integers(0, 4, 30), rng.normal(size=30)
    member = np.eye(4)[group]
    grouped = sw.Target(lambda x: -jnp.sum((y - x[group]) ** 2) / 2)
    plain = sw.Target(lambda x: -jnp.sum((y - member @ x) ** 2) / 2)
    points = jax.ShapeDtypeStruct((4,), np.float32)
    found = [
        is_faster_alone(jax.make_jaxpr(jax.grad(target.log_density))(points).jaxpr)
        for target in (grouped, plain)
    ]
    assert found == [True, False]
    x = rng.normal(size=(300, 4))  # more than one call
    np.testing.assert_allclose(grouped.score(x), plain.score(x), rtol=1e-12)


def test_adding_at_indices_is_found_inside_calls_and_branches():
    index = np.array([0, 1, 1])

    def branching(x):
        return jax.lax.cond(x[0] > 0, lambda x: jnp.sum(x[index]), lambda x: jnp.sum(x), x)

    point = jax.ShapeDtypeStruct((2,), np.float32)
    assert is_faster_alone(jax.make_jaxpr(jax.grad(jax.jit(branching)))(point).jaxpr)
