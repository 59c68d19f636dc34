"""Draws from p restricted to each mode: right moments, and by chains where weights do not do."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import digamma, polygamma

import steinwise as sw
from steinwise.orbits.modes import local_draws as module
from steinwise.orbits.modes.local_draws import ENOUGH, local_draws
from steinwise.orbits.modes.maps import ModeMaps

MEMORY = 2**28
CENTRES = np.array([[-10.0], [10.0]])


def target_of(log_shape) -> sw.Target:
    """Two copies of a shape around 0, twenty apart."""
    return sw.Target(lambda x: jnp.logaddexp(log_shape(x[0] + 10), log_shape(x[0] - 10)))


def skewed(shape):
    """The log of a Gamma variable, whose mode is at 0, in units of its curvature."""
    return lambda x: np.sqrt(shape) * x - shape * jnp.exp(x / np.sqrt(shape))


def draws_of(log_shape, seed: int = 0) -> module.LocalDraws:
    maps = ModeMaps.of(CENTRES, np.ones((2, 1, 1)))
    return local_draws(target_of(log_shape), maps, np.random.default_rng(seed), MEMORY)


@pytest.mark.parametrize(("shape", "by_weights"), [(20.0, True), (0.6, False)])
def test_draws_have_the_moments_of_their_mode(shape, by_weights, monkeypatch) -> None:
    """Catches forgotten weights, and weights that are inverted: 4.5 standard errors."""
    chains = []
    original = module.chain_draws
    monkeypatch.setattr(module, "chain_draws", lambda *a: chains.append(1) or original(*a))
    mean = np.sqrt(shape) * (digamma(shape) - np.log(shape))
    sd = np.sqrt(shape * polygamma(1, shape))
    found = np.stack([draws_of(skewed(shape), seed).x - CENTRES[:, None] for seed in range(8)])
    assert bool(chains) is not by_weights
    effective = found.size / 2
    assert abs(found.mean() - mean) < 4.5 * sd / np.sqrt(effective)
    assert abs(found.std() / sd - 1) < 4.5 * np.sqrt(1.5 / effective)  # of skewed shapes


def test_points_of_a_normal_mode_are_kept_as_they_are() -> None:
    """Choosing again must not add noise where all weights are equal."""
    draws = draws_of(lambda x: -0.5 * x**2)
    np.testing.assert_allclose(draws.acceptance, 1.0, atol=1e-6)
    for k in range(2):
        assert len(np.unique(draws.x[:, k])) >= 0.99 * draws.x[:, k].size


def test_copies_of_a_point_stay_with_one_walker() -> None:
    """Walkers are left out in turn for standard errors: copies elsewhere would make these small."""
    draws = draws_of(skewed(20.0))
    assert draws.acceptance.min() >= ENOUGH
    x = draws.x[:, 0, :, 0]  # (step, walker)
    values, counts = np.unique(x, return_counts=True)
    copied = values[counts > 1]
    split = sum(np.isin(x, value).any(axis=0).sum() > 1 for value in copied)
    assert split <= x.shape[1]  # at most one at the boundary to the next walker


def test_no_point_inside_a_mode_leads_to_chains() -> None:
    """A narrow shape in maps a thousand times as wide: no weighted point is near it."""
    maps = ModeMaps.of(CENTRES, np.array([[[1.0]], [[1e4]]]))
    target = target_of(lambda x: -0.5 * x**2)
    draws = local_draws(target, maps, np.random.default_rng(0), MEMORY)
    assert np.isfinite(draws.x).all()
