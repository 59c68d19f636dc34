"""Standard errors from batches."""

import numpy as np
import pytest

from benchmarks.simulate import autoregressive
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import Batches, cut_by_length
from steinwise.calibration.jackknife import standard_error


def test_standard_error_of_a_mean() -> None:
    """Catches a missing n/(n-1), and batches of unequal length taken as equal."""
    values = np.random.default_rng(8).normal(size=(1, 2, 500))
    total = values.sum(axis=1)[0]
    expected = total.std(ddof=1) / np.sqrt(500)
    one_each = cut_by_length(1, 500, 1, independent=True)
    assert standard_error(BatchSums(values, one_each)) == pytest.approx(expected, rel=1e-12)
    batches = cut_by_length(1, 500, 7, independent=True)
    constant = BatchSums(3.0 * batches.lengths[None, None, :], batches)
    assert standard_error(constant) == pytest.approx(0, abs=1e-12)


def pair_sums(x: np.ndarray, batches: Batches) -> BatchSums:
    """A product of features whose mean, |E f|^2, is not zero."""
    f = batches.sums(np.stack([x, x**2], axis=1))
    return BatchSums((f @ f.T)[None, None], batches)


@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_standard_error_of_pairs(rho: float) -> None:
    """Catches a jackknife that is off by a factor, or that ignores dependence, by simulation."""
    rng = np.random.default_rng(9)
    batches = cut_by_length(2, 400, 5 if rho == 0 else 20, independent=rho == 0)
    found, errors = [], []
    for _ in range(400):
        x = 0.5 + autoregressive(rng, np.array([rho]), 2, 400).reshape(-1)
        sums = pair_sums(x, batches)
        found.append((sums.values[0, 0] * batches.allowed).sum() / batches.pairs)
        errors.append(standard_error(sums))
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.15)
