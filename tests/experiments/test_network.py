"""The Bayesian network: its size, its hand-written line scores, and its minibatches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.models.network import Network, typical_spread
from steinwise.target import Target

RNG = np.random.default_rng(0)
SMALL = Network(RNG.normal(size=(20, 3)), RNG.normal(size=20), 10.0, prior_sd=2.0, hidden=(4, 3))


def test_the_paper_s_network_has_701_weights():
    """6 * 40 + 40, 40 * 10 + 10, 10 + 1."""
    paper = Network(np.zeros((5, 6)), np.zeros(5), 10.0)
    assert paper.dim == 280 + 410 + 11 == 701
    assert np.bincount(paper.layer()).tolist() == [240, 40, 400, 10, 10, 1]


def test_hand_written_line_scores_are_the_derivatives():
    """For every weight, in any order; catches a unit or a layer that is mistaken for another."""
    coordinates = RNG.permutation(SMALL.dim)
    x = RNG.normal(size=(3, SMALL.dim))
    y = RNG.normal(size=(3, SMALL.dim, 2))
    by_hand = SMALL.target().line_scores(x, coordinates, y)
    exact = Target(SMALL.log_density).line_scores(x, coordinates, y)
    np.testing.assert_allclose(by_hand, exact, rtol=1e-9, atol=1e-9)


def test_a_full_batch_has_the_gradient_of_the_posterior():
    with jax.enable_x64(True):
        w = jnp.asarray(RNG.normal(size=SMALL.dim))
        gradient = SMALL.minibatch(20)(jax.random.key(0), w)
        np.testing.assert_allclose(gradient, jax.grad(SMALL.log_density)(w), rtol=1e-10)


def test_the_typical_spread_is_one_number_for_each_array_and_below_that_of_the_prior():
    spread = typical_spread(SMALL, steps=200)
    assert [len(set(spread[SMALL.layer() == k])) for k in range(6)] == [1] * 6
    assert ((spread > 0) & (spread < 2)).all()
    # the slope of the output by its own bias is 1
    assert spread[-1] == pytest.approx((1 / 4 + 10 * 20) ** -0.5)
