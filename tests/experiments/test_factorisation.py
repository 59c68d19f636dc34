"""Matrix factorisation: its conditionals, its sampler, and the Stein identity along a symmetry."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.models.factorisation import BLOCKS, Factorisation, imbalance

RNG = np.random.default_rng(0)
USER, MOVIE = np.nonzero(RNG.random((5, 4)) < 0.6)
MODEL = Factorisation.of(USER, MOVIE, RNG.normal(1.0, 2.0, USER.size), (5, 4), 2)


def _state(scale=1.0):
    return {block: scale * RNG.normal(size=size) for block, size in MODEL.sizes.items()}


@pytest.mark.parametrize("block", BLOCKS)
def test_a_conditional_has_the_scores_of_the_posterior(block):
    """Catches a wrong precision, a wrong mean, and users mistaken for movies."""
    with jax.enable_x64(True):
        x = jax.tree.map(jnp.asarray, _state())
        exact = jax.grad(MODEL.log_density)(x)[block]
        score = MODEL.conditional(block, x).score(jnp.atleast_2d(x[block]))
    np.testing.assert_allclose(score.reshape(exact.shape), exact, atol=1e-12)


def test_draws_have_the_mean_and_the_covariance_of_their_conditional():
    """All tolerances are 5 standard errors, of 20,000 independent draws."""
    n = 20_000
    with jax.enable_x64(True):
        conditional = MODEL.conditional("U", jax.tree.map(jnp.asarray, _state()))
        draws = np.asarray(jax.vmap(conditional.draw)(jax.random.split(jax.random.key(0), n)))
    for row, precision in enumerate(np.asarray(conditional.precision)):
        # whitened by the exact factor: independent standard normal entries
        white = (draws[:, row] - np.asarray(conditional.mean[row])) @ np.linalg.cholesky(precision)
        np.testing.assert_allclose(white.mean(axis=0), 0, atol=5 / np.sqrt(n))
        products = white.T @ white / n
        np.testing.assert_allclose(np.diag(products), 1, atol=5 * np.sqrt(2 / n))
        assert abs(products[0, 1]) < 5 / np.sqrt(n)


def test_the_contribution_is_zero_on_average_at_any_state():
    """With y from the target's conditional it says nothing about x, here far from all mass."""
    with jax.enable_x64(True):
        x = jax.tree.map(jnp.asarray, _state(scale=3.0))
        keys = jax.random.split(jax.random.key(0), 4000)
        values = np.asarray(jax.vmap(lambda key: MODEL.contribution(key, x))(keys))
    assert abs(values.mean()) < 4 * values.std() / np.sqrt(4000)
    assert values.std() > 1.0  # and not because all values are 0


def _identities(x):
    d, scale = imbalance(x)
    return {"d": d, "excess": jnp.sum(d**2) - scale, "ratio": jnp.sum(d**2) / scale}


def test_the_identity_along_the_symmetry_holds_under_the_posterior():
    """E D = 0 and E |D|^2 = (K + 1) E tr(S_U + S_V), by long runs of the sampler."""
    start = {block: RNG.normal(size=(40, *size)) for block, size in MODEL.sizes.items()}
    kept = MODEL.gibbs().sample(start, 1500, warmup=500, thin=2, keep=lambda _, x: _identities(x))
    of_chains = np.stack([kept["excess"].mean(axis=1), *kept["d"].mean(axis=1).reshape(40, 4).T])
    error = of_chains.std(axis=1, ddof=1) / np.sqrt(40)
    assert (np.abs(of_chains.mean(axis=1)) < 4 * error).all()
    assert error[0] < 0.05 * 3 * 11 * 2  # 5 % of (K + 1) tr(S_U + S_V), which is about 11 K


def test_the_identity_holds_for_the_prior_and_fails_for_other_draws():
    """Without ratings the posterior is the prior, from which independent draws are easy."""
    rng = np.random.default_rng(0)
    n, m, k, count = 30, 50, 3, 4000
    mu_u, mu_v = rng.normal(size=(2, count, k))
    x = {
        "mu_U": mu_u,
        "mu_V": mu_v,
        "U": mu_u[:, None] + rng.normal(size=(count, n, k)),
        "V": mu_v[:, None] + rng.normal(size=(count, m, k)),
    }
    with jax.enable_x64(True):
        right = jax.vmap(_identities)(jax.tree.map(jnp.asarray, x))
        wrong = jax.vmap(_identities)(jax.tree.map(jnp.asarray, x | {"U": 1.3 * x["U"]}))
    ratio = np.asarray(right["ratio"])
    assert ratio.mean() == pytest.approx(1, abs=4 * ratio.std() / np.sqrt(count))
    assert np.asarray(wrong["ratio"]).mean() > 1.3
