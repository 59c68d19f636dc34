"""Draws that are learned from are not tested; verdicts on several splits are averaged."""

import numpy as np
import pytest
from scipy import stats

import steinwise as sw
from steinwise.calibration.pvalues import Calibration, average_over_splits
from steinwise.conditionals import Linear
from steinwise.methods.kccsd import KCCSD
from tests.conditionals.examples import COVARIANCE, TARGET, D, Recorder, normal


def test_no_draw_is_learned_from_and_tested() -> None:
    draws, recorder = normal(0, 200), Recorder.new()
    result = sw.check(draws, TARGET, method=KCCSD(recorder))
    (train, validation), tested = recorder.fitted_to[0], np.concatenate(recorder.tested)
    assert (len(train), len(validation), len(tested)) == (40, 20, 140)
    assert result.findings.learning is not None
    assert result.findings.learning.train == 40
    assert result.draws.held_out == 60
    parts = np.concatenate([train, validation, tested])
    np.testing.assert_array_equal(np.sort(parts, axis=0), np.sort(draws, axis=0))
    assert not np.array_equal(train, draws[:40])  # independent draws are shuffled, by the seed


def test_a_chain_is_cut_into_stretches() -> None:
    draws = normal(0, 800).reshape(2, 400, D)
    recorder = Recorder.new()
    sw.check(draws, TARGET, method=KCCSD(recorder), batch_length=8)
    train, validation = recorder.fitted_to[0]
    np.testing.assert_array_equal(train, draws[:, :80].reshape(-1, D))
    np.testing.assert_array_equal(validation, draws[:, 80:120].reshape(-1, D))

    recorder = Recorder.new()
    sw.check(draws, TARGET, method=KCCSD(recorder, splits=3), batch_length=8)
    for number, (stretch, _) in enumerate(recorder.fitted_to):
        start = round(number / 3 * 280)
        np.testing.assert_array_equal(stretch, draws[:, start : start + 80].reshape(-1, D))


def test_several_splits_are_averaged() -> None:
    draws, target = normal(0, 300) * 1.1, sw.Gaussian(np.zeros(D), COVARIANCE)
    one, four = (
        sw.check(draws, target, method=KCCSD(Linear(), splits=splits)) for splits in (1, 4)
    )
    assert four.findings.learning is not None
    assert four.findings.learning.splits == 4
    assert "4 splits averaged" in str(four)
    assert one.pvalue != four.pvalue


def test_p_values_are_averaged_on_the_scale_of_normal_scores() -> None:
    def verdict(p: float) -> Calibration:
        only = np.array([p])
        return Calibration(1.0, p, None, np.zeros(999), only, only, only, (), discrepancy=1.0)

    together = average_over_splits([verdict(p) for p in (0.01, 0.2, 0.6)])
    expected = stats.norm.sf(np.mean(stats.norm.isf([0.01, 0.2, 0.6])))
    assert together.pvalue == pytest.approx(expected)
    assert together.adjusted_pvalues[0] == pytest.approx(expected)
    assert average_over_splits([verdict(0.3)]).pvalue == 0.3
    assert average_over_splits([verdict(1.0), verdict(0.001)]).pvalue == pytest.approx(0.5)
