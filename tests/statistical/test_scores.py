"""The level of the test by scores, where scores are skewed."""

import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from benchmarks.rates import interval

REPETITIONS, N, D = 150, 50, 10


@pytest.mark.parametrize("shape", [0.5, 3.0])
def test_skewed_scores_keep_the_level(shape: float) -> None:
    """Logs of Gamma variables: without the map to a normal scale, 0.2 of them are rejected."""
    target = sw.Target.from_score(lambda x: shape - np.exp(x))
    density = stats.loggamma(shape)
    hits = 0
    for seed in range(REPETITIONS):
        draws = density.rvs((N, D), random_state=np.random.default_rng([30, seed]))
        given = sw.Samples.of(draws, independent=True)
        hits += sw.check(given, target, method="scores", n_bootstrap=199, seed=seed).rejected
    assert hits / REPETITIONS <= interval(0.05, REPETITIONS)[1]
