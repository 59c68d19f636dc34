"""The panels on samplers: what they compute, where the answer is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from experiments import biased_metropolis, gibbs_factorisation, sgld_network
from experiments.models.network import Network
from steinwise._internal.indices import evenly_spaced_indices
from steinwise.samplers import MetropolisWithinGibbs


def _kccsd(sampler, draws, pool, steps):
    conditional = biased_metropolis.stand_in(sampler, pool, steps)
    return [
        sw.kccsd(x[None], biased_metropolis.TARGET, conditional=conditional).value for x in draws
    ]


def test_y_from_another_draw_is_fair_and_y_from_x_itself_is_not():
    """Without bias the truth is 0; one step from x gives about 20, as y remembers x."""
    sampler = MetropolisWithinGibbs(biased_metropolis.log_posterior, scale=0.5)
    start = np.broadcast_to(biased_metropolis.TRUTH, (12, 2))
    draws = sampler.sample(start, 200, warmup=100, thin=10)
    fair = _kccsd(sampler, draws, draws.reshape(-1, 2), 50)
    assert abs(np.mean(fair)) < 4 * np.std(fair, ddof=1) / np.sqrt(12)
    assert 10 < np.mean(_kccsd(sampler, draws, None, 1)) < 30


def test_curves_along_a_run():
    """Means over all states so far for KCC-SD and predictions, since the last point otherwise."""
    kept = {
        "contribution": np.array([4.0, 0.0, 2.0, 2.0]),
        "imbalance": np.array([8.0, 4.0, 2.0, 1.0]),
        "log_posterior": np.zeros(4),
        "predicted": np.array([[1.0], [3.0], [2.0], [2.0]]),
    }
    found = gibbs_factorisation.curves(kept, np.array([1.0]))
    assert found["iteration"] == [5, 10, 15, 20]
    assert found["kccsd"] == [4, 2, 2, 2]
    # sqrt of the sum of squares, by the number: the mean of independent terms around 0
    assert found["kccsd_error"] == pytest.approx([4, 2, np.sqrt(20) / 3, np.sqrt(24) / 4], rel=1e-4)
    assert found["imbalance"] == [8, 4, 2, 1]
    assert found["rmse"] == [0, 1, 1, 1]
    assert found["rmse_now"] == [0, 2, 1, 1]


def test_approximate_kccsd_is_zero_for_right_draws_and_positive_for_wide_ones():
    """Without data the posterior is the prior, of which independent draws are to be had."""
    rng = np.random.default_rng(0)
    model = Network(rng.normal(size=(5, 2)), np.zeros(5), 1e-9, hidden=(4, 3))
    draws = rng.normal(size=(8, 500, model.dim))
    every = np.arange(model.dim), np.ones(model.dim)
    for values in sgld_network.discrepancies(model, draws, *every, 0).values():
        assert abs(np.mean(values)) < 4 * np.std(values, ddof=1) / np.sqrt(8)
    for values in sgld_network.discrepancies(model, 1.5 * draws, *every, 0).values():
        assert np.mean(values) > 4 * np.std(values, ddof=1) / np.sqrt(8)


def test_a_bandwidth_of_two_is_sigma_1_for_weights_in_units_of_two(monkeypatch):
    rng = np.random.default_rng(0)
    model = Network(rng.normal(size=(5, 2)), np.zeros(5), 1.0, hidden=(4, 3))
    draws, chosen = rng.normal(size=(2, 500, model.dim)), np.array([0, 7, 20])
    standing_for = np.array([2.0, 3.0, 5.0])
    monkeypatch.setattr(sgld_network, "typical_spread", lambda model: np.full(model.dim, 2.0))
    variants = sgld_network.discrepancies(model, draws, chosen, standing_for, 0)
    found = variants["conditional spread"]

    x = draws[0, 100:][evenly_spaced_indices(400, sgld_network.TESTED)]
    points, weights = sgld_network.histogram(draws[:1, :100], chosen, 20, model.target(), 0, x)
    scores = model.target().score(x)[:, chosen], model.target().line_scores(x, chosen, points)
    with jax.enable_x64(True):
        scaled = x[:, chosen] / 2, 2 * scores[0], points / 2, 2 * scores[1], weights
        each = np.asarray(
            sw.functional.kccsd_contributions(sw.kernels.RBF(1.0), *map(jnp.asarray, scaled))
        )
    expected = float(np.mean(each, axis=0) @ standing_for)
    assert found[0] == pytest.approx(expected, rel=1e-4)


def test_every_array_of_the_network_is_looked_at():
    """A subset of all weights alike had one of the eleven stiffest, which decided everything."""
    model = Network(np.zeros((5, 6)), np.zeros(5), 1.0)
    chosen, standing_for = sgld_network.some_weights(model)
    arrays, counts = np.unique(model.layer()[chosen], return_counts=True)
    assert counts.tolist() == [13, 13, 13, 10, 10, 1]
    sums = [standing_for[model.layer()[chosen] == one].sum() for one in arrays]
    np.testing.assert_allclose(sums, [240, 40, 400, 10, 10, 1])
    assert len(set(chosen)) == 60


def test_the_reference_is_right_where_the_posterior_is_known():
    """Mean 3 and sd 2, of 2 x 2000 draws."""
    draws, accepted = sgld_network.hamiltonian(
        lambda x: -((x - 3.0) ** 2).sum() / 8, np.zeros((2, 1)), 200, 2000, seed=0
    )
    assert draws.shape == (2, 2000, 1)
    assert accepted.shape == (2,)
    assert (accepted > 0.5).all()
    assert abs(draws.mean() - 3) < 0.3
    assert abs(draws.std() - 2) < 0.3


def test_errors_are_measured_against_the_pooled_reference():
    """The spread of the reference has that between its chains in it."""
    reference = {"mean": [[0.0, 1.0], [2.0, 1.0]], "sd": [[1.0, 2.0], [1.0, 2.0]]}
    outcome = {"mean": [[1.0, 1.0], [1.0, 3.0]], "sd": [[np.sqrt(2), 2.0], [np.sqrt(2), 4.0]]}
    found = sgld_network.errors(outcome, reference)
    assert found["mean_error"] == pytest.approx([0, np.sqrt(0.5)], rel=1e-4)
    assert found["spread_error"] == pytest.approx([0, np.log(2) / np.sqrt(2)], rel=1e-4)


def test_errors_of_the_reference_are_against_its_other_chains():
    """Catches a chain that is compared with itself: all would be a third too small."""
    means, sds = [[0.0], [0.0], [3.0]], [[1.0], [1.0], [1.0]]
    found = sgld_network.errors_among({"mean": means, "sd": sds, "log_posterior": [0, 0, 0]})
    of_pair = np.sqrt(1 + 1.5**2)  # chains 1 and 3 together: mean 1.5
    assert found["mean_error"] == pytest.approx([1.5 / of_pair, 1.5 / of_pair, 3], rel=1e-4)
    assert found["spread_error"] == pytest.approx([np.log(of_pair)] * 2 + [0], rel=1e-4, abs=1e-9)


def test_another_prior_is_that_of_weights_in_other_units():
    """sd 2: the same density as sd 1 of half the weights, where the data say nothing."""
    inputs, responses = np.ones((5, 2)), np.zeros(5)
    wide, usual = (Network(inputs, responses, 1e-12, sd, hidden=(4, 3)) for sd in (2.0, 1.0))
    w = np.random.default_rng(0).normal(size=wide.dim)
    assert wide.log_density(2 * w) == pytest.approx(float(usual.log_density(w)), rel=1e-5)
