"""The critical value of all differences together, against what is known of special cases."""

import numpy as np
import pytest
from scipy import stats

from steinwise.calibration.batches import Batches
from steinwise.calibration.ranking import critical_value


def replicates(sets: list[np.ndarray], shared: bool) -> tuple[dict, dict]:
    count = len(sets[0])
    cuts = {}
    for k in range(len(sets)):
        start = 0 if shared else k  # other bounds: other batches
        cuts[str(k)] = Batches(np.arange(start, start + count + 1), np.zeros(count, int), True)
    return {str(k): one for k, one in enumerate(sets)}, cuts


def test_the_critical_value_of_one_pair_is_that_of_t():
    one, two = np.random.default_rng(0).normal(size=(2, 20))
    found = critical_value(*replicates([one, two], True), 0.05, 0)
    assert found == pytest.approx(stats.t.isf(0.025, 19), rel=0.03)


def test_the_critical_value_of_many_independent_sets_is_the_studentized_range():
    """Tukey's, for sets that share nothing and have one variance."""
    rng = np.random.default_rng(1)
    base = rng.normal(size=60)
    known, cuts = replicates([rng.permutation(base) for _ in range(6)], False)
    found = critical_value(known, cuts, 0.05, 0)
    # the errors of all pairs are taken to have one number of degrees of freedom
    assert found == pytest.approx(stats.studentized_range.isf(0.05, 6, 59) / np.sqrt(2), rel=0.02)


def test_models_that_move_together_need_a_smaller_critical_value():
    """Ten models in a row, all differences the same up to scale: one comparison, not 45."""
    base = np.random.default_rng(2).normal(size=200)
    known, cuts = replicates([k * base for k in range(10)], True)
    assert critical_value(known, cuts, 0.05, 0) == pytest.approx(stats.t.isf(0.025, 199), rel=0.03)
    assert critical_value(known, cuts, 1e-5, 0) == pytest.approx(stats.t.isf(1e-5 / 90, 199))
