"""Densities that end along a line, with no support declared: a box, a ball."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise.orbits.jumps import count_jumps
from steinwise.orbits.line_density import LineDensity
from steinwise.orbits.nodes import search_ranges_of
from steinwise.orbits.quadrature import EVALUATIONS_PER_LINE, follow_by_nodes
from steinwise.target import AbstractTarget

RADIUS = 1.5


def of_ball(x: jax.Array) -> jax.Array:
    """A normal density inside a ball, and none outside."""
    return jnp.where(x @ x < RADIUS**2, -x @ x / 2, -jnp.inf)


def of_ball_by_values(x: np.ndarray) -> np.ndarray:
    squares = (x**2).sum(axis=1)
    return np.where(squares < RADIUS**2, -squares / 2, -np.inf)


TARGETS = {
    "scores": sw.Target(of_ball),
    "values": sw.Target.from_log_density(of_ball_by_values),
}


def draws_in_ball(n: int, seed: int) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(8 * n, 2))
    return x[(x**2).sum(axis=1) < RADIUS**2][:n]


def followed(target: AbstractTarget, x: np.ndarray):
    lines, numbers = np.arange(x.shape[1]), np.arange(len(x))
    return follow_by_nodes(LineDensity(target, x, lines, x, search_ranges_of(x), 2**28, numbers))


@pytest.mark.parametrize("name", TARGETS)
def test_u_is_exact_next_to_an_edge(name: str) -> None:
    """Catches an edge that is taken to lie anywhere between two nodes: u of 1e-64 for 1e-4."""
    x = draws_in_ball(200, 0)
    x[0] = [RADIUS * (1 - 1e-7), 0.0]
    x[1] = [0.3, -np.sqrt(RADIUS**2 - 0.3**2) * (1 - 1e-5)]
    found = followed(TARGETS[name], x)
    edge = np.sqrt(RADIUS**2 - x[:, ::-1] ** 2)
    low, high, at = stats.norm.cdf(-edge), stats.norm.cdf(edge), stats.norm.cdf(x)
    expected = (at - low) / (high - low)
    wide = edge > 1e-2  # on a shorter line all nodes but a few lie outside
    np.testing.assert_allclose(found.u[wide], expected[wide], atol=1e-6)
    tails = np.minimum(expected, 1 - expected)
    np.testing.assert_allclose(np.minimum(found.u, 1 - found.u)[wide], tails[wide], rtol=1e-3)


def test_right_draws_of_a_ball_fit() -> None:
    """Catches draws next to an edge that are taken for outliers: p was 1e-14."""
    found = sw.check(draws_in_ball(600, 1), TARGETS["values"], independent=True, n_bootstrap=199)
    assert not found.rejected
    wrong = sw.check(
        0.9 * draws_in_ball(600, 1), TARGETS["values"], independent=True, n_bootstrap=199
    )
    assert wrong.rejected


@pytest.mark.filterwarnings("ignore::steinwise.SteinwiseWarning")
def test_scores_are_no_evidence_where_a_density_ends() -> None:
    """Catches correct draws that are rejected by their scores, or called too narrow."""
    found = sw.check(draws_in_ball(2100, 3), TARGETS["scores"], n_bootstrap=199)
    assert not found.rejected
    assert "the log density falls to -inf, or jumps, among the draws" in " ".join(found.notes)
    assert all(c.marginal is None for c in found.coordinates)
    assert "without scores" in str(found)
    by_values = sw.check(draws_in_ball(200, 3), TARGETS["values"], n_bootstrap=199)
    assert not by_values.notes  # it has no scores to leave out


def test_a_tail_that_underflows_is_no_edge() -> None:
    """Catches evaluations that are spent where log p falls to -inf from far down."""
    target = sw.Target(lambda x: jnp.sum(3 * x - jnp.exp(x)))  # -inf from 710 on
    x = np.log(np.random.default_rng(2).gamma(3.0, size=(50, 2)))
    x[0, 0] = -150.0  # nodes lie far out on the other side too
    assert followed(target, x).evaluations == EVALUATIONS_PER_LINE * x.size


def test_a_smooth_density_that_rounding_ends_does_not_end() -> None:
    """Catches scores that are left out where log(1 - sigmoid) is -inf 37 units from the middle."""

    def of_logits(x: jax.Array) -> jax.Array:
        p = jax.nn.sigmoid(x)
        return jnp.sum(jnp.log(p) + jnp.log(1 - p))

    p = np.random.default_rng(4).uniform(size=(60, 2))
    x = np.log(p / (1 - p))
    x[0] = 30.0, 12.0
    found = followed(sw.Target(of_logits), x)
    assert found.ends == 0
    np.testing.assert_allclose(found.u, 1 / (1 + np.exp(-x)), atol=1e-4)
    assert followed(TARGETS["scores"], draws_in_ball(20, 5)).ends == 40


STEPS = jnp.array([0.0, 1.0, 2.0])


def of_largest(x: jax.Array) -> jax.Array:
    """A normal density with another weight where another coordinate is the largest."""
    return STEPS[jnp.argmax(x)] - x @ x / 2


def draws_of_largest(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(8 * n, 3))
    return x[rng.random(len(x)) < np.exp(np.array(STEPS)[x.argmax(axis=1)] - 2.0)][:n]


@pytest.mark.filterwarnings("ignore::steinwise.SteinwiseWarning")
def test_scores_are_no_evidence_where_a_density_jumps() -> None:
    """Catches correct draws that are rejected (p = 0.001), and shifts of means that have none."""
    found = sw.check(draws_of_largest(4000, 0), sw.Target(of_largest), n_bootstrap=199)
    assert not found.rejected
    assert "or jumps, among the draws" in " ".join(found.notes)
    assert all(c.marginal is None for c in found.coordinates)
    few = sw.check(draws_of_largest(300, 1), sw.Target(of_largest), n_bootstrap=199)
    assert all(c.marginal is None for c in few.coordinates)


def jumps_of(log_density, x: np.ndarray) -> int:
    """On lines along the first coordinate, one to a row."""
    density = LineDensity(
        sw.Target(log_density), x, np.zeros((1,), int), x[:, :1], search_ranges_of(x[:, :1]), 2**28,
        np.arange(len(x)),
    ).single(np.arange(len(x)), np.zeros(len(x), int))  # fmt: skip
    return count_jumps(follow_by_nodes(density).table, density)


def test_smooth_densities_have_no_jumps() -> None:
    """Catches steep slopes, kinks and narrow modes that are taken for jumps, and small jumps that
    are missed."""
    x = np.random.default_rng(2).normal(size=(300, 2))
    smooth = {
        "kink": lambda x: -jnp.abs(x[0]) - 3 * jnp.maximum(x[0] - 0.3, 0.0),
        "banana": lambda x: -0.5 * x[0] ** 2 - 200 * (x[1] - x[0] ** 2) ** 2,
        "funnel": lambda x: -0.5 * (x[0] / 3) ** 2 - 0.5 * x[0] - 0.5 * x[1] ** 2 * jnp.exp(-x[0]),
        "step": lambda x: 2 * jax.nn.sigmoid(1000 * (x[0] - x[1])) - x[0] ** 2 / 2,
        "modes": lambda x: jnp.logaddexp(-0.5 * x[0] ** 2, -0.5 * ((x[0] - 6) / 0.01) ** 2),
    }
    assert {name: jumps_of(f, x) for name, f in smooth.items()} == dict.fromkeys(smooth, 0)
    assert jumps_of(lambda x: -0.5 * x[0] ** 2 + 0.01 * (x[0] > x[1]), x) == 16
    assert jumps_of(lambda x: -jnp.floor(1000 * jnp.abs(x[0])) / 1000, x) == 16
