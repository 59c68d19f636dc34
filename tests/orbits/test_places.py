"""Where draws stand: by series where it can be trusted, by nodes elsewhere, and never left out."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise.orbits.nodes import search_ranges_of
from steinwise.orbits.places import find_places
from steinwise.orbits.quadrature import EVALUATIONS_PER_LINE, follow_lines
from steinwise.orbits.series_comparison import BLOCK, CHECKED_STEP, SeriesComparison
from steinwise.target import AbstractTarget

N = 48


def places(target: AbstractTarget, x: np.ndarray, directions: np.ndarray | None = None):
    lines = np.arange(x.shape[1]) if directions is None else directions
    at = x if directions is None else x @ directions.T
    return find_places(target, x, lines, at, search_ranges_of(at), 2**30, np.arange(len(x)))


def regression(data: int, d: int, seed: int) -> tuple[sw.Target, np.ndarray]:
    """A logistic regression, and draws of the normal approximation of its posterior."""
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(data, d))
    y = (rng.uniform(size=data) < 1 / (1 + np.exp(-design[:, 0]))).astype(float)

    def log_density(w: jax.Array) -> jax.Array:
        logits = design @ w
        return jnp.sum(y * logits - jnp.logaddexp(0.0, logits)) - w @ w / 8

    weight, hessian = np.zeros(d), np.eye(d)
    for _ in range(20):
        p = 1 / (1 + np.exp(-design @ weight))
        hessian = (design.T * (p * (1 - p))) @ design + np.eye(d) / 4
        weight += np.linalg.solve(hessian, design.T @ (y - p) - weight / 4)
    root = np.linalg.cholesky(np.linalg.inv(hessian))
    return sw.Target(log_density), weight + rng.normal(size=(N, d)) @ root.T


def test_series_and_nodes_agree_on_a_regression() -> None:
    """Catches a series of the wrong line; here hardly any line needs nodes."""
    target, x = regression(500, 4, seed=0)
    found = places(target, x)
    by_nodes = follow_lines(target, x, np.arange(4), x, search_ranges_of(x), 2**30)
    np.testing.assert_allclose(found.u, by_nodes.u, atol=2e-5)
    assert found.evaluations < 10 * found.u.size


def test_series_along_directions() -> None:
    target, x = regression(500, 4, seed=1)
    directions = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))[0][:2]
    found = places(target, x, directions)
    at = x @ directions.T
    ranges = search_ranges_of(at)
    by_nodes = follow_lines(target, x, directions, at, ranges, 2**30)
    np.testing.assert_allclose(found.u, by_nodes.u, atol=2e-5)
    assert found.evaluations < 30 * found.u.size


def test_lines_that_fail_go_to_nodes() -> None:
    """A t density next to a normal one: catches lines that are dropped or mixed up."""

    def log_density(x: jax.Array) -> jax.Array:
        return -2 * jnp.log1p(x[0] ** 2 / 3) - x[1] ** 2 / 2

    rng = np.random.default_rng(3)
    x = np.stack([rng.standard_t(3, N), rng.normal(size=N)], axis=1)
    found = places(sw.Target(log_density), x)
    np.testing.assert_allclose(found.u[:, 0], stats.t(3).cdf(x[:, 0]), atol=1e-4)
    np.testing.assert_allclose(found.u[:, 1], stats.norm.cdf(x[:, 1]), atol=1e-6)
    assert found.evaluations > EVALUATIONS_PER_LINE * N / 2


def test_draws_far_out_go_to_nodes() -> None:
    """Their p-values are exact ones, and must not rest on the far end of a series."""
    x = np.random.default_rng(4).normal(size=(N, 2))
    x[5, 1] = 30.0
    target = sw.Target(lambda x: -0.5 * x @ x)
    assert places(target, x).u[5, 1] == pytest.approx(1.0, abs=1e-12)


def two_modes(distance: float, x: jax.Array) -> jax.Array:
    narrow = -((x[0] - distance) ** 2) / (2 * 0.1**2) - jnp.log(0.1)
    return jnp.logaddexp(-(x[0] ** 2) / 2, narrow) - x[1] ** 2 / 2


@pytest.mark.parametrize("distance", [3.0, 6.0, 12.0])
def test_a_second_narrow_mode_is_not_missed(distance: float) -> None:
    """Built to fool the series: draws in the wide mode, a narrow one where others are."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(N, 2))
    x[N // 2 :, 0] = distance + 0.1 * x[N // 2 :, 0]
    u = places(sw.Target(partial(two_modes, distance)), x).u[:, 0]
    wide, narrow = stats.norm.cdf(x[:, 0]), stats.norm.cdf((x[:, 0] - distance) / 0.1)
    np.testing.assert_allclose(u, (wide + narrow) / 2, atol=2e-4)


def hidden_states(x: jax.Array) -> jax.Array:
    """Nine data from two states that change by chance: log odds of staying, a mean, a log gap."""
    moves = jax.nn.log_softmax(jnp.array([[0.0, x[0]], [x[1], 0.0]]), axis=1)
    means = jnp.stack([x[2], x[2] + jnp.exp(x[3])])

    def one(weights: jax.Array, y: jax.Array) -> tuple[jax.Array, None]:
        ahead = jax.nn.logsumexp(weights[:, None] + moves, axis=0)
        return ahead - (y - means) ** 2 / 2, None

    data = np.random.default_rng(0).normal(size=9)
    weights, _ = jax.lax.scan(one, jnp.zeros(2), jnp.asarray(data))
    return jax.nn.logsumexp(weights) - x @ x / 4


def test_a_few_good_series_of_a_draw_are_not_believed() -> None:
    """Most lines fail by their last terms; on some that pass by chance u was off by up to 0.7."""
    x = np.random.default_rng(1).normal(size=(144, 4)) * [1.4, 1.4, 0.5, 1.4]
    target = sw.Target(hidden_states)
    by_nodes = follow_lines(target, x, np.arange(4), x, search_ranges_of(x), 2**30)
    np.testing.assert_allclose(places(target, x).u, by_nodes.u, atol=1e-4)


@pytest.mark.parametrize(
    "log_density",
    [
        lambda x: -jnp.abs(x[0]) - x[1] ** 2 / 2,
        lambda x: -(jnp.maximum(jnp.abs(x[0]) - 1, 0.0) ** 2) - x[1] ** 2 / 2,
    ],
    ids=["a kink", "a plateau"],
)
def test_kinks_and_plateaus_are_followed_by_nodes(log_density) -> None:
    """Series say nothing there: catches a piecewise density that is trusted as a polynomial."""
    x = np.random.default_rng(6).normal(size=(N, 2))
    found = places(sw.Target(log_density), x)
    grid = np.linspace(-40, 40, 400_001)
    p = np.exp(np.asarray(jax.vmap(log_density)(jnp.stack([grid, 0 * grid], axis=1))))
    cdf = np.concatenate([[0], np.cumsum((p[1:] + p[:-1]) / 2)])
    np.testing.assert_allclose(found.u[:, 0], np.interp(x[:, 0], grid, cdf / cdf[-1]), atol=1e-3)


@pytest.mark.parametrize(
    ("failing", "others"),
    [([0], BLOCK - BLOCK // CHECKED_STEP), ([0, -1], 3 * N - 3 * N // CHECKED_STEP)],
    ids=["one block", "two blocks"],
)
def test_failures_in_the_sample_make_their_block_or_all_lines_be_compared(
    failing, others, monkeypatch
) -> None:
    """Catches a comparison that only ever looks at the sample, or misses a fault in every block."""
    target, x = regression(500, 4, seed=0)
    looked_at = []
    plain = SeriesComparison.disagrees

    def disagrees(comparison, rows, allowance):
        looked_at.append(len(rows))
        fails = plain(comparison, rows, allowance)
        fails[failing, 0] = True
        return fails

    monkeypatch.setattr(SeriesComparison, "disagrees", disagrees)
    places(target, np.tile(x, (3, 1)))
    assert looked_at == [3 * N // CHECKED_STEP, others]


def test_a_target_with_conditional_scores_of_its_own_has_all_nodes() -> None:
    """Few need values of log p, of which it has none along lines."""
    target = sw.Target(lambda x: -0.5 * x @ x, lines=lambda x, j, y: -y)  # noqa: ARG005
    x = np.random.default_rng(7).normal(size=(N, 2))
    found = places(target, x)
    np.testing.assert_allclose(found.u, stats.norm.cdf(x), atol=1e-5)
    assert 68 * x.size <= found.evaluations < 69 * x.size


def test_a_host_function_has_few_nodes() -> None:
    target = sw.Target.from_log_density(lambda x: -(x**2).sum(axis=1) / 2)
    x = np.random.default_rng(7).normal(size=(N, 2))
    found = places(target, x)
    np.testing.assert_allclose(found.u, stats.norm.cdf(x), atol=1e-5)
    assert 2 * 15 * x.size < found.evaluations < 2 * 25 * x.size
