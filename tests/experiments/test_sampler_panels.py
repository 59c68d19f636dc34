"""The panels on samplers: what they compute, where the answer is known."""

import numpy as np
import pytest

import steinwise as sw
from experiments import biased_metropolis, gibbs_factorisation
from steinwise.samplers import MetropolisWithinGibbs


def _kccsd(sampler, draws, pool, steps):
    conditional = biased_metropolis.stand_in(sampler, pool, steps)
    return [
        sw.kccsd(x[None], biased_metropolis.TARGET, conditional=conditional).value for x in draws
    ]


def test_y_from_another_draw_is_fair_and_y_from_x_itself_is_not():
    """Without bias the value is 0; one step from x gives about 20, because y depends on x."""
    sampler = MetropolisWithinGibbs(biased_metropolis.log_posterior, scale=0.5)
    start = np.broadcast_to(biased_metropolis.TRUTH, (12, 2))
    draws = sampler.sample(start, 200, warmup=100, thin=10)
    fair = _kccsd(sampler, draws, draws.reshape(-1, 2), 50)
    assert abs(np.mean(fair)) < 4 * np.std(fair, ddof=1) / np.sqrt(12)
    assert 10 < np.mean(_kccsd(sampler, draws, None, 1)) < 30


def test_curves_along_a_run():
    """KCC-SD and predictions are means over all states so far, the rest since the last point."""
    states = {
        "contribution": np.array([4.0, 0.0, 2.0, 2.0]),
        "imbalance": np.array([8.0, 4.0, 2.0, 1.0]),
        "log_posterior": np.zeros(4),
        "predicted": np.array([[1.0], [3.0], [2.0], [2.0]]),
    }
    curves = gibbs_factorisation.curves(states, np.array([1.0]))
    assert curves["iteration"] == [5, 10, 15, 20]
    assert curves["kccsd"] == [4, 2, 2, 2]
    # sqrt(sum of squares) / count: the standard error of a mean of independent terms around 0
    errors = [4, 2, np.sqrt(20) / 3, np.sqrt(24) / 4]
    assert curves["kccsd_error"] == pytest.approx(errors, rel=1e-4)
    assert curves["imbalance"] == [8, 4, 2, 1]
    assert curves["rmse"] == [0, 1, 1, 1]
    assert curves["rmse_now"] == [0, 2, 1, 1]
