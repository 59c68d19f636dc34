"""What is computed from chains of network weights, where the answer is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from arviz_stats.base.array import array_stats

import steinwise as sw
from experiments.models import network_kccsd
from experiments.models.hmc import hmc
from experiments.models.network import Network
from experiments.models.network_kccsd import (
    ChosenWeights,
    approximate_kccsd,
    choose_weights,
    marginal_histograms,
)
from experiments.models.network_predictions import prediction_errors, reference_errors
from steinwise._internal.indices import evenly_spaced_indices


def test_approximate_kccsd_is_zero_for_right_draws_and_positive_for_wide_ones():
    """Without data the posterior is the prior, from which independent draws are easy."""
    rng = np.random.default_rng(0)
    model = Network(rng.normal(size=(5, 2)), np.zeros(5), 1e-9, hidden=(4, 3))
    draws = rng.normal(size=(8, 500, model.dim))
    all_weights = ChosenWeights(np.arange(model.dim), np.ones(model.dim))
    for values in approximate_kccsd(model, draws, all_weights, 0).values():
        assert abs(np.mean(values)) < 4 * np.std(values, ddof=1) / np.sqrt(8)
    for values in approximate_kccsd(model, 1.5 * draws, all_weights, 0).values():
        assert np.mean(values) > 4 * np.std(values, ddof=1) / np.sqrt(8)


def test_a_bandwidth_of_two_is_sigma_1_for_weights_in_units_of_two(monkeypatch):
    rng = np.random.default_rng(0)
    model = Network(rng.normal(size=(5, 2)), np.zeros(5), 1.0, hidden=(4, 3))
    draws, target = rng.normal(size=(2, 500, model.dim)), model.target()
    chosen = ChosenWeights(np.array([0, 7, 20]), np.array([2.0, 3.0, 5.0]))
    monkeypatch.setattr(network_kccsd, "typical_spread", lambda model: np.full(model.dim, 2.0))
    values = approximate_kccsd(model, draws, chosen, 0)["conditional spread"]

    x = draws[0, 100:][evenly_spaced_indices(400, network_kccsd.TESTED)]
    points, weights = marginal_histograms(draws[:1, :100], chosen, 20, target, 0, x)
    score = target.score(x)[:, chosen.indices]
    line_scores = target.line_scores(x, chosen.indices, points)
    with jax.enable_x64(True):
        contributions = np.asarray(
            sw.functional.kccsd_contributions(
                sw.kernels.RBF(1.0),
                jnp.asarray(x[:, chosen.indices] / 2),
                jnp.asarray(2 * score),
                jnp.asarray(points / 2),
                jnp.asarray(2 * line_scores),
                jnp.asarray(weights),
            )
        )
    expected = float(np.mean(contributions, axis=0) @ chosen.represents)
    assert values[0] == pytest.approx(expected, rel=1e-4)


def test_weights_are_chosen_from_every_array_of_the_network():
    """A subset of all weights together had one of the eleven stiffest, which decided everything."""
    model = Network(np.zeros((5, 6)), np.zeros(5), 1.0)
    chosen = choose_weights(model)
    of_chosen = model.layer()[chosen.indices]
    arrays, counts = np.unique(of_chosen, return_counts=True)
    assert counts.tolist() == [13, 13, 13, 10, 10, 1]
    sums = [chosen.represents[of_chosen == array].sum() for array in arrays]
    np.testing.assert_allclose(sums, [240, 40, 400, 10, 10, 1])
    assert len(set(chosen.indices)) == 60


def test_hmc_is_right_where_the_posterior_is_known():
    """Mean 3 and sd 2, within 4 Monte Carlo standard errors, which are small."""
    draws, accepted = hmc(
        lambda x: -((x - 3.0) ** 2).sum() / 8, np.zeros((2, 1)), 200, 2000, seed=0
    )
    assert draws.shape == (2, 2000, 1)
    assert accepted.shape == (2,)
    assert (accepted > 0.5).all()
    for method, value, exact in (("mean", draws.mean(), 3.0), ("sd", draws.std(), 2.0)):
        error = array_stats.mcse(draws, chain_axis=0, draw_axis=1, method=method)
        error = float(np.squeeze(np.asarray(error)))
        assert abs(value - exact) < 4 * error < 0.4


def test_errors_are_relative_to_the_pooled_reference():
    """The spread of the reference includes that between its chains."""
    reference = {"mean": [[0.0, 1.0], [2.0, 1.0]], "sd": [[1.0, 2.0], [1.0, 2.0]]}
    outcome = {"mean": [[1.0, 1.0], [1.0, 3.0]], "sd": [[np.sqrt(2), 2.0], [np.sqrt(2), 4.0]]}
    errors = prediction_errors(outcome, reference)
    assert errors["mean_error"] == pytest.approx([0, np.sqrt(0.5)], rel=1e-4)
    assert errors["spread_error"] == pytest.approx([0, np.log(2) / np.sqrt(2)], rel=1e-4)


def test_errors_of_the_reference_are_relative_to_its_other_chains():
    """Catches a chain that is compared with itself: all errors would be a third too small."""
    means, sds = [[0.0], [0.0], [3.0]], [[1.0], [1.0], [1.0]]
    errors = reference_errors({"mean": means, "sd": sds, "log_posterior": [0, 0, 0]})
    of_pair = np.sqrt(1 + 1.5**2)  # chains 1 and 3 together: mean 1.5
    assert errors["mean_error"] == pytest.approx([1.5 / of_pair, 1.5 / of_pair, 3], rel=1e-4)
    assert errors["spread_error"] == pytest.approx([np.log(of_pair)] * 2 + [0], rel=1e-4, abs=1e-9)


def test_another_prior_is_that_of_weights_in_other_units():
    """Where the data say nothing, sd 2 is sd 1 for half the weights."""
    inputs, responses = np.ones((5, 2)), np.zeros(5)
    wide, usual = (Network(inputs, responses, 1e-12, sd, hidden=(4, 3)) for sd in (2.0, 1.0))
    w = jnp.asarray(np.random.default_rng(0).normal(size=wide.dim))
    assert wide.log_density(2 * w) == pytest.approx(float(usual.log_density(w)), rel=1e-5)
