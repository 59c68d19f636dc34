"""Values along lines, each against the log density itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from steinwise.target.series import plan_series
from steinwise.target.series.plan import MOST_WORK_OF_ONE_PASS

D, POINTS = 12, 3
GROUP = np.repeat(np.arange(10), 3)
DATA = np.random.default_rng(0).normal(size=30)
DESIGN = np.random.default_rng(1).normal(size=(30, D))


def hierarchical(x: jax.Array) -> jax.Array:
    """Ten effects that share no data, so one colour, and two parameters that move all of them."""
    effects, centre, log_sd = x[:10], x[10], x[11]
    prior = -0.5 * jnp.sum(((effects - centre) * jnp.exp(-log_sd)) ** 2) - 10 * log_sd
    return prior - 0.5 * jnp.sum((DATA - effects[GROUP]) ** 2) - 0.5 * (centre**2 + log_sd**2)


def regression(x: jax.Array) -> jax.Array:
    logits = DESIGN @ x
    return jnp.sum(jnp.where(DATA > 0, logits, 0.0) - jax.nn.softplus(logits))


def with_branches(x: jax.Array) -> jax.Array:
    """Comparisons of what moves, which must be made anew at every point."""
    return -jnp.sum(jnp.where(x > 0, x**2, jnp.abs(x))) + jnp.max(x)


def walk(x: jax.Array) -> jax.Array:
    def step(before: jax.Array, now: jax.Array) -> tuple[jax.Array, jax.Array]:
        return now, -0.5 * (now - 0.9 * before) ** 2

    return jnp.sum(jax.lax.scan(step, x[0], x[1:])[1]) - x[0] ** 2


def with_thresholds(x: jax.Array) -> jax.Array:
    """What only a comparison sees moves nothing, but must be computed anew."""
    above = jnp.exp(x[0]) * x[1] > 0.3
    return -jnp.sum((DESIGN @ x) ** 2) + jnp.where(above, x[2], 2.0)


def coloured_with_thresholds(x: jax.Array) -> jax.Array:
    """Coordinates that share no entry, but for a comparison of two that a third is subject to."""
    return -jnp.sum(x**2) + jnp.where(jnp.exp(x[0]) * x[1] > 0.3, x[2], 2.0)


def coloured_with_a_jump(x: jax.Array) -> jax.Array:
    """A comparison whose effect is no entry of the sum over coordinates."""
    return -jnp.sum(x**2) + jnp.where(x[0] > 0.2, 1.0, 0.0)


def coloured_with_steps(x: jax.Array) -> jax.Array:
    """Comparisons and steps of each coordinate by itself, and signs of others."""
    return -jnp.sum(jnp.where(x > 0, x**2, jnp.floor(x))) + jnp.sum(jnp.sign(x[::-1]) * x)


THRESHOLDS = [coloured_with_thresholds, coloured_with_a_jump, coloured_with_steps]


@pytest.mark.parametrize("most_work", [0, MOST_WORK_OF_ONE_PASS], ids=["groups", "one pass"])
@pytest.mark.parametrize(
    "log_density",
    [hierarchical, regression, with_branches, with_thresholds, walk, *THRESHOLDS],
)
def test_values_along_coordinates(log_density, most_work) -> None:
    """Catches a value that is not moved, and entries that are summed up for the wrong line."""
    rng = np.random.default_rng(2)
    x, steps = rng.normal(size=(20, D)), rng.normal(size=(20, D, POINTS))
    with jax.enable_x64(True):
        found = plan_series(log_density, D, 2, most_work).coordinate_values(x, steps)
        moved = x[:, None, None] + steps[..., None] * np.eye(D)[:, None]
        expected = jax.vmap(log_density)(jnp.asarray(moved.reshape(-1, D)))
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("log_density", [hierarchical, regression])
def test_values_along_directions(log_density) -> None:
    rng = np.random.default_rng(3)
    x, steps, directions = (
        rng.normal(size=(5, D)),
        rng.normal(size=(5, 2, 3)),
        rng.normal(size=(2, D)),
    )
    with jax.enable_x64(True):
        found = plan_series(log_density, D, 2).direction_values(x, directions, steps)
        moved = x[:, None, None] + steps[..., None] * directions[:, None]
        expected = jax.vmap(log_density)(jnp.asarray(moved.reshape(-1, D)))
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-12, atol=1e-12)


def latent_process(x: jax.Array) -> jax.Array:
    """A factor that the first two coordinates move, and the others do not."""
    places = jnp.arange(D - 2.0)
    distances = (places[:, None] - places) ** 2
    kernel = jnp.exp(0.3 * x[0] - 0.1 * distances * jnp.exp(0.2 * x[1]))
    logits = jnp.linalg.cholesky(kernel + 0.1 * jnp.eye(D - 2)) @ x[2:]
    return -jnp.sum(jnp.logaddexp(0.0, logits)) - 0.5 * x @ x


def test_a_factor_that_a_line_does_not_move_is_left_as_it_is() -> None:
    """Catches lines that move the factor after all, and slopes of the wrong coordinate."""
    rng = np.random.default_rng(4)
    x, steps = rng.normal(size=(20, D)), rng.normal(size=(20, 11))
    coordinates = rng.integers(2, D, 20)
    points = np.repeat(x[:, None], 11, axis=1)
    points[np.arange(20), :, coordinates] += steps
    with jax.enable_x64(True):
        plan = plan_series(latent_process, D, 2)
        assert plan.uses_lapack
        assert plan.moves_lapack.tolist() == [True, True] + [False] * (D - 2)
        found = plan.values_and_slopes(x, coordinates, steps)
        along = plan.coordinate_values(x, np.repeat(steps[:, None], D, axis=1))
        flat = jnp.asarray(points.reshape(-1, D))
        values, slopes = jax.vmap(jax.value_and_grad(latent_process))(flat)
    np.testing.assert_allclose(found[..., 0].ravel(), values, rtol=1e-12)
    own = np.asarray(slopes).reshape(20, 11, D)[np.arange(20), :, coordinates]
    np.testing.assert_allclose(found[..., 1], own, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(along[np.arange(20), coordinates], found[..., 0], rtol=1e-12)
