"""Discrete coordinates with rare outcomes keep the level, with each other too."""

import numpy as np
import pytest

import steinwise as sw
from benchmarks.rates import interval
from benchmarks.support_models import RARE_EVENT, rare_events

REPETITIONS = 100


@pytest.mark.parametrize("n", [50, 200, 1000])
def test_rare_events_that_do_not_coincide_are_no_dependence(n: int) -> None:
    """Catches a spread of the coordinates alone that stands for their dependence: of samples of
    1000 draws 0.45 were rejected then, of 200 draws 0.15.
    """
    target, hits = rare_events(), 0
    for seed in range(REPETITIONS):
        draws = np.random.default_rng([n, seed]).random((n, 5)) < RARE_EVENT
        found = sw.check(
            draws.astype(float),
            target,
            n_bootstrap=499,
            seed=seed,
            independent=True,
            progress=False,
        )
        hits += found.rejected
    assert hits / REPETITIONS <= interval(0.05, REPETITIONS)[1]
