"""Matrix factorisation: its conditionals, its sampler, and the identity along its symmetry."""

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
    """Catches a wrong precision, a wrong mean, users taken for movies."""
    with jax.enable_x64(True):
        x = jax.tree.map(jnp.asarray, _state())
        exact = jax.grad(MODEL.log_density)(x)[block]
        found = MODEL.conditional(block, x).score(jnp.atleast_2d(x[block]))
    np.testing.assert_allclose(found.reshape(exact.shape), exact, atol=1e-12)


def test_a_draw_has_the_covariance_of_its_precision():
    with jax.enable_x64(True):
        law = MODEL.conditional("U", jax.tree.map(jnp.asarray, _state()))
        draws = np.asarray(jax.vmap(law.draw)(jax.random.split(jax.random.key(0), 20_000)))
    found = np.cov(draws[:, 1].T)
    np.testing.assert_allclose(found @ np.asarray(law.precision[1]), np.eye(2), atol=0.05)
    np.testing.assert_allclose(draws.mean(axis=0), law.mean, atol=0.04)


def test_the_contribution_is_zero_on_average_wherever_the_state_is():
    """The trap: y from the target's conditional says nothing of x, here far from all mass."""
    with jax.enable_x64(True):
        x = jax.tree.map(jnp.asarray, _state(scale=3.0))
        keys = jax.random.split(jax.random.key(0), 4000)
        values = np.asarray(jax.vmap(lambda key: MODEL.contribution(key, x))(keys))
    assert abs(values.mean()) < 4 * values.std() / np.sqrt(4000)
    assert values.std() > 1.0  # not because nothing ever happens


def _identities(x):
    d, scale = imbalance(x)
    return {"d": d, "excess": jnp.sum(d**2) - scale, "ratio": jnp.sum(d**2) / scale}


def test_the_identity_along_the_symmetry_holds_under_the_posterior():
    """E D = 0 and E |D|^2 = (K + 1) E tr(S_U + S_V), by long runs of the sampler."""
    start = {block: RNG.normal(size=(40, *size)) for block, size in MODEL.sizes.items()}
    found = MODEL.gibbs().sample(start, 1500, warmup=500, thin=2, keep=lambda _, x: _identities(x))
    of_chains = np.stack([found["excess"].mean(axis=1), *found["d"].mean(axis=1).reshape(40, 4).T])
    error = of_chains.std(axis=1, ddof=1) / np.sqrt(40)
    assert (np.abs(of_chains.mean(axis=1)) < 4 * error).all()
    assert error[0] < 0.05 * 3 * 11 * 2  # tr(S_U + S_V) is about 11 K


def test_the_identity_is_exact_for_the_prior_and_fails_elsewhere():
    """Without ratings the posterior is the prior, whose draws are independent."""
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
