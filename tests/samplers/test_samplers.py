"""The samplers against distributions that are known exactly."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.samplers import SGLD, AbstractSampler, Gibbs, MetropolisWithinGibbs, Minibatch

COVARIANCE = np.array([[1.0, 0.5, 0.3], [0.5, 2.0, -0.4], [0.3, -0.4, 1.5]])
MEAN = np.array([1.0, -2.0, 0.5])
PRECISION = np.linalg.inv(COVARIANCE)


def _block_draw(block, others):
    """The conditional of a block of N(MEAN, COVARIANCE), from its precision matrix."""
    own = np.linalg.inv(PRECISION[np.ix_(block, block)])
    pull = -own @ PRECISION[np.ix_(block, others)]
    factor = np.linalg.cholesky(own)

    def draw(key, x):
        rest = jnp.concatenate([x["first"], x["rest"]])[np.array(others)]
        noise = jax.random.normal(key, (len(block),))
        return jnp.asarray(MEAN[block] + pull @ (rest - MEAN[others]) + factor @ noise)

    return draw


GIBBS = Gibbs({"rest": _block_draw([1, 2], [0]), "first": _block_draw([0], [1, 2])})
START = {"first": np.zeros((20, 1)), "rest": np.zeros((20, 2))}


def test_gibbs_with_blocks_draws_from_a_gaussian():
    """Catches a block that is drawn given stale neighbours, or with the wrong conditional."""
    x = GIBBS.sample(START, 2000, warmup=50)
    draws = np.concatenate([x["first"], x["rest"]], axis=-1)
    of_chains = draws.mean(axis=1)
    error = of_chains.std(axis=0, ddof=1) / np.sqrt(20)
    assert (np.abs(of_chains.mean(axis=0) - MEAN) < 4 * error).all()
    found = np.cov(draws.reshape(-1, 3).T)
    np.testing.assert_allclose(found, COVARIANCE, atol=0.05)  # error 0.015 at tau = 1.5


def test_a_sweep_keeps_the_order_of_its_blocks():
    """Catches a dict that JAX has sorted: b is drawn first, and a from the new b."""
    gibbs = Gibbs({"b": lambda _, x: x["b"] + 1, "a": lambda _, x: x["b"] + 0 * x["a"]})
    x = gibbs.sample({"a": np.zeros((1, 1)), "b": np.zeros((1, 1))}, 3)
    np.testing.assert_array_equal(x["a"][0, :, 0], [1, 2, 3])


def _bimodal(x):
    """A 2-d density with a ridge between two modes."""
    return jnp.logaddexp(
        -jnp.sum((x - 1.0) ** 2) / 0.8, 0.5 - jnp.sum((x + jnp.array([0.5, 1.0])) ** 2)
    )


def _moments_by_quadrature():
    grid = np.linspace(-6, 6, 601)
    points = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    with jax.enable_x64(True):
        weights = np.exp(np.asarray(jax.vmap(_bimodal)(points)))
    weights /= weights.sum()
    mean = weights @ points
    return mean, (weights[:, None] * (points - mean)).T @ (points - mean)


def test_metropolis_within_gibbs_against_quadrature():
    """Catches a stale log density, an update of the wrong coordinate, a wrong ratio."""
    mean, covariance = _moments_by_quadrature()
    sampler = MetropolisWithinGibbs(_bimodal, scale=[2.0, 2.5])
    draws = sampler.sample(np.zeros((100, 2)), 1000, warmup=100)
    of_chains = draws.mean(axis=1)
    error = of_chains.std(axis=0, ddof=1) / 10
    assert (np.abs(of_chains.mean(axis=0) - mean) < 4 * error).all()
    assert (error < 0.02).all()
    np.testing.assert_allclose(np.cov(draws.reshape(-1, 2).T), covariance, atol=0.04)


def test_the_bias_is_added_to_the_ratio():
    """From the top of a steep peak every step leads down: it is accepted at exactly the bias."""
    sampler = MetropolisWithinGibbs(lambda x: -1e6 * jnp.sum(x**2), scale=1.0, bias=0.3)
    moved = sampler.sample(np.zeros((4000, 1)), 2)[:, 0, 0] != 0
    assert moved.mean() == pytest.approx(0.3, abs=4 * np.sqrt(0.3 * 0.7 / 4000))


def test_a_conditional_draw_is_one_from_the_conditional():
    """Catches a draw that moves another coordinate, or that stays where it started."""

    def log_density(x):
        return -0.5 * (x - MEAN) @ PRECISION @ (x - MEAN)

    sampler = MetropolisWithinGibbs(log_density, scale=2.0)
    x = np.array([0.0, 1.0, 2.0])
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0), 4000)
        at = jnp.asarray(x)
        draw = jax.jit(jax.vmap(lambda key: sampler.conditional_draw(key, at, 1, 9.0, 40)))
        y = np.asarray(draw(keys))
    others = [0, 2]
    mean = MEAN[1] - PRECISION[1, others] @ (x - MEAN)[others] / PRECISION[1, 1]
    sd = 1 / np.sqrt(PRECISION[1, 1])
    assert y.mean() == pytest.approx(mean, abs=4 * sd / np.sqrt(4000))
    assert y.std() == pytest.approx(sd, rel=4 / np.sqrt(8000))


@pytest.mark.parametrize("step_size", [0.05, 1.0, 2.5])
def test_langevin_inflates_the_variance_by_the_known_factor(step_size):
    """Var = 1 / (c (1 - step c / 4)) exactly; catches a factor 2 in the drift or in the noise."""
    curvature = np.array([1.0, 0.3])
    sampler = SGLD(lambda _, x: -(x * curvature), step_size)
    draws = sampler.sample(np.zeros((400, 2)), 500, warmup=500)
    exact = 1 / (curvature * (1 - step_size * curvature / 4))
    of_chains = (draws**2).mean(axis=1)
    error = of_chains.std(axis=0, ddof=1) / 20
    assert (np.abs(of_chains.mean(axis=0) - exact) < 4 * error).all()
    assert (error < 0.06 * exact).all()


def test_minibatches_are_unbiased_and_without_replacement():
    """Catches a missing N/n, a prior that is scaled with it, and rows drawn twice."""
    data = np.random.default_rng(0).normal(size=(10, 1))
    gradient = Minibatch(lambda x: -0.5 * jnp.sum(x**2), _likelihood, data, 4)
    with jax.enable_x64(True):
        x = jnp.array([0.7])
        keys = jax.random.split(jax.random.key(0), 4000)
        found = np.asarray(jax.jit(jax.vmap(lambda key: gradient(key, x)))(keys))[:, 0]
    exact = -0.7 + (data - 0.7).sum()
    variance = 10**2 * data.var(ddof=1) / 4 * (1 - 4 / 10)
    assert found.mean() == pytest.approx(exact, abs=4 * np.sqrt(variance / 4000))
    assert found.var() == pytest.approx(variance, rel=0.1)


def test_a_chain_depends_on_neither_the_other_chains_nor_its_length():
    """Catches keys that are split by the number of chains, or anew in every call."""
    sampler = SGLD(lambda _, x: -x, 0.1)
    few = sampler.sample(np.zeros((1, 2)), 3, warmup=2, thin=2)
    many = sampler.sample(np.zeros((3, 2)), 300, warmup=2, thin=2)
    np.testing.assert_allclose(few[0], many[0, :3], rtol=1e-12)
    every = sampler.sample(np.zeros((1, 2)), 8)
    np.testing.assert_allclose(few[0], every[0, [3, 5, 7]], rtol=1e-12)
    assert (many[0] != many[1]).all()
    assert (sampler.sample(np.zeros((1, 2)), 3, seed=1) != every[0, :3]).all()


def _likelihood(x, row):
    return -0.5 * jnp.sum((row - x) ** 2)


NO_FUNCTION: Any = 3


class _Noise(AbstractSampler):
    """States that show the key of their step."""

    def step(self, key, x):
        return jax.random.normal(key, x.shape)


@pytest.mark.parametrize("thin", [1, 2])
def test_statistics_are_kept_with_random_numbers_of_their_own(thin):
    """Catches a key that a step has used already, or will use."""
    sampler, start = _Noise(), np.zeros((1, 1))
    kept = sampler.sample(start, 50, thin=thin, keep=lambda key, x: jax.random.normal(key, x.shape))
    states = sampler.sample(start, 50 * thin + thin)
    assert np.unique(kept).size == 50
    assert not np.isin(kept, states).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GIBBS.sample({"first": np.zeros((2, 1))}, 5), "blocks"),
        (lambda: GIBBS.sample(np.zeros((2, 3)), 5), "expected a dict"),
        (lambda: Gibbs({}), "expected a dict"),
        (lambda: Gibbs({"a": NO_FUNCTION}), "conditional of 'a' is of type int"),
        (
            lambda: Gibbs({"a": lambda _, x: x["a"][:1]}).sample({"a": np.zeros((1, 2))}, 2),
            r"returned shape \(1,\): expected \(2,\)",
        ),
        (lambda: SGLD(lambda _, x: -x, 0.0), "step_size is 0.0"),
        (lambda: SGLD(NO_FUNCTION, 0.1), "gradient is of type int"),
        (lambda: SGLD(lambda _, x: -x, 0.1).sample(0.0, 5), "no chain axis"),
        (lambda: SGLD(lambda _, x: -x, 0.1).sample(np.full((1, 2), np.nan), 5), "2 numbers"),
        (
            lambda: SGLD(lambda _, x: -x, 0.1).sample((np.zeros((1, 2)), np.zeros(3)), 5),
            "one row per chain",
        ),
        (lambda: SGLD(lambda _, x: -x, 0.1).sample(np.zeros((1, 2)), 0), "n_draws is 0"),
        (lambda: MetropolisWithinGibbs(_bimodal, scale=-1.0), "scale is -1.0"),
        (lambda: MetropolisWithinGibbs(_bimodal, scale=1.0, bias=1.0), "bias is 1.0"),
        (lambda: MetropolisWithinGibbs(NO_FUNCTION, scale=1.0), "log_density is of type int"),
        (lambda: Minibatch(_bimodal, _likelihood, np.zeros((3, 1)), 4), "only 3 rows"),
        (lambda: Minibatch(_bimodal, _likelihood, (np.zeros(3), np.zeros(2)), 2), r"\[2, 3\] rows"),
    ],
)
def test_wrong_settings_are_refused(call, message):
    with pytest.raises(sw.InputError, match=message):
        call()
