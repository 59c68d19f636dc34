"""Kinds of evidence, put on one scale and judged together."""

import numpy as np
import pytest
from scipy import stats

from benchmarks.rates import interval
from steinwise.calibration.batch_sums import WEIGHT_OF_SIGNS, BatchSums, KnownSquares
from steinwise.calibration.batches import cut_by_length
from steinwise.calibration.families import (
    calibrate,
    largest_of,
    largest_per_coordinate,
    tail_scores,
)
from steinwise.calibration.pvalues import normal_tail, share_at_or_above, step_down


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_the_maximum_over_settings_is_calibrated_jointly(shared: float) -> None:
    """Catches the least of 20 p-values (rejects 0.64), and a Bonferroni bound (too few)."""
    rng = np.random.default_rng(2)
    batches = cut_by_length(1, 100, 1, independent=True)
    repetitions, rejected = 400, 0
    for seed in range(repetitions):
        common = rng.normal(size=(1, 1, 100))
        own = rng.normal(size=(20, 1, 100))
        values = np.sqrt(shared) * common + np.sqrt(1 - shared) * own
        rejected += calibrate([BatchSums(values, batches)], 199, seed).pvalue <= 0.05
    low, high = interval(0.05, repetitions)
    assert low <= rejected / repetitions <= high


def test_settings_are_compared_in_units_of_their_own() -> None:
    """Catches a maximum that the setting with the largest numbers always wins."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(2, 1, 100))
    values[0] *= 1000
    values[1] += 1.0
    batches = cut_by_length(1, 100, 1, independent=True)
    found = calibrate([BatchSums(values, batches)], 199, 0)
    assert found.deciding == (("", 1),)
    assert found.pvalue == 1 / 200
    z = values[1].sum() / np.sqrt((values[1] ** 2).sum())
    assert found.statistic == pytest.approx(z)


def test_coordinates_may_come_in_several_blocks() -> None:
    """Catches signs drawn anew for every block, and a sum that forgets a block."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=(3, 6, 50)) + 0.1
    batches = cut_by_length(1, 50, 1, independent=True)
    whole = calibrate([BatchSums(values, batches)], 99, 5)
    blocks = [BatchSums(values[:, :2], batches), BatchSums(values[:, 2:], batches)]
    parts = calibrate(blocks, 99, 5)
    assert parts.pvalue == whole.pvalue
    np.testing.assert_array_equal(parts.adjusted_pvalues, whole.adjusted_pvalues)
    np.testing.assert_array_equal(parts.coordinate_pvalues, whole.coordinate_pvalues)
    np.testing.assert_allclose(parts.values, whole.values)


def test_the_normal_tail_agrees_with_the_bootstrap_of_a_mean() -> None:
    """Catches a two-sided tail, or a z that is not standardised."""
    assert normal_tail(1.6448536) == pytest.approx(0.05, abs=1e-6)
    values = np.random.default_rng(5).normal(size=(1, 1, 400)) + 0.07
    batches = cut_by_length(1, 400, 1, independent=True)
    found = calibrate([BatchSums(values, batches)], 20_000, 0)
    assert found.normal_pvalue == pytest.approx(found.pvalue, abs=0.01)


def test_tail_scores_are_monotone_and_agree_with_the_pool() -> None:
    """Catches a score that turns around, or stays flat, beyond the null."""
    null = np.random.default_rng(12).normal(size=(500, 1))
    observed = np.linspace(-5, 12, 200)
    scores = np.array([tail_scores(1.0, one[None], null)[0][0] for one in observed])
    assert (np.diff(scores) >= 0).all()
    assert (np.diff(scores[observed > null.max()]) > 0).all()
    _, again = tail_scores(1.0, np.array([0.0]), null)
    share = 1 - (stats.rankdata(np.append(null, 0.0))[:-1] - 0.5) / 501
    low = null[:, 0] < np.quantile(null, 0.94)
    np.testing.assert_allclose(np.exp(-again[low, 0]), share[low], atol=1e-9)
    doubled, _ = tail_scores(2.0, np.array([0.0]), null)
    np.testing.assert_allclose(doubled - tail_scores(1.0, np.array([0.0]), null)[0], np.log(2))


def test_evidence_that_does_not_exist_is_not_the_largest() -> None:
    """Catches ties that count as the far tail: a constant null then outdoes all other evidence."""
    zeros = np.zeros(200)
    observed, null = tail_scores(1.0, np.asarray(0.0), zeros)
    assert observed == null[0] < 0.1
    real = np.arange(200.0)
    observed, null = largest_of([(1.0, np.asarray(195.0), real), (1.0, np.asarray(0.0), zeros)])
    assert share_at_or_above(observed, null) == pytest.approx(6 / 201)


def _scales(rng: np.random.Generator, rows: int) -> list[np.ndarray]:
    """Dependent statistics of three very different laws, one column each."""
    z = rng.normal(size=(rows, 3)) @ np.array([[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 1.0]])
    return [z[:, 0], 100 * np.exp(z[:, 1]), -1 / (0.1 + np.abs(z[:, 2]))]


def test_the_largest_of_several_kinds_of_evidence_is_calibrated_exactly() -> None:
    """Catches the least of three p-values, and scores that tell the observed from the null.

    With each of 200 rows as the observed one in turn, at most 10 may have a p-value of 0.05.
    """
    columns = _scales(np.random.default_rng(13), 200)
    for weights in [(1.0, 1.0, 1.0), (8.0, 1.0, 3.0)]:
        pvalues = []
        for row in range(200):
            evidence = [
                (w, np.asarray(c[row]), np.delete(c, row))
                for w, c in zip(weights, columns, strict=True)
            ]
            pvalues.append(float(share_at_or_above(*largest_of(evidence))))
        excess = np.sort(pvalues) - np.arange(1, 201) / 200  # above 0 where scores are tied
        assert excess.min() > -1e-12
        assert excess.max() < 0.03


def test_no_kind_of_evidence_always_wins_unless_it_weighs_more() -> None:
    """Catches a scale that one kind of evidence always wins, and weights that do nothing."""
    rng = np.random.default_rng(13)
    wins, heavier = np.zeros(3), np.zeros(3)
    for _ in range(300):
        columns = _scales(rng, 200)
        scores = [float(tail_scores(1.0, np.asarray(c[0]), c[1:])[0]) for c in columns]
        wins[int(np.argmax(scores))] += 1
        heavier[int(np.argmax([scores[0] + np.log(8), *scores[1:]]))] += 1
    assert wins.min() > 60
    assert heavier[0] > 1.5 * wins[0]
    lone = (1.0, np.asarray(1.0), np.arange(3.0))
    assert largest_of([lone]) == lone[1:]


def test_coordinates_are_judged_by_their_best_family() -> None:
    """Catches scales that differ between coordinates, so that a small one never decides."""
    rng = np.random.default_rng(14)
    hits, values, evidence = 0, np.empty((2, 200, 4)), {}
    for _ in range(300):
        values = np.stack([rng.normal(size=(200, 4)), np.exp(rng.normal(size=(200, 4)))])
        evidence = {n: (1.0, one[0], one[1:]) for n, one in zip("ab", values, strict=True)}
        scores, null_scores, deciding = largest_per_coordinate(evidence)
        assert set(deciding) <= {"a", "b"}
        hits += step_down(scores, null_scores).min() <= 0.05
    low, high = stats.binom.interval(0.999, 300, 0.05)
    assert low <= hits <= high
    far = values[0, 0].copy()
    far[2] = 50.0
    scores, null_scores, deciding = largest_per_coordinate(
        evidence | {"a": (1.0, far, values[0, 1:])}
    )
    assert deciding[2] == "a"
    assert scores.argmax() == 2


def test_exact_pvalues_take_a_hundredth_of_the_level() -> None:
    """Catches a level that is spent twice, and a family-wise bound without its factor."""
    sums = BatchSums(
        np.random.default_rng(16).normal(size=(1, 3, 40)), cut_by_length(1, 40, 1, independent=True)
    )
    found = calibrate([sums], 199, 0)
    joined = found.joined_with(np.array([1e-6, 0.5, 1.0]))
    assert joined.pvalue == pytest.approx(3e-4)
    assert joined.adjusted_pvalues[0] == pytest.approx(3e-4)
    assert joined.coordinate_pvalues[0] == pytest.approx(1e-4)
    expected = np.minimum(found.adjusted_pvalues[1:] / 0.99, 1.0)
    np.testing.assert_allclose(joined.adjusted_pvalues[1:], expected)


def test_groups_of_coordinates_are_judged_together() -> None:
    """Catches the families of one group that are asked about the coordinates of another."""
    rng = np.random.default_rng(15)
    batches = cut_by_length(1, 60, 1, independent=True)

    def sums(family: str, group: str, k: int, shift: float, **options) -> BatchSums:
        values = rng.normal(shift, 1.0, size=(2, k, 60))
        return BatchSums(values, batches, family, group, max_weight=1.0, **options)

    blocks = [
        sums("axes settings", "axes", 3, 0.0),
        sums("dependence", "axes", 3, 0.0, sum_weight=0.0, two_sided=True),
        sums("directions settings", "directions", 2, 2.0),
    ]
    found = calibrate(blocks, 199, 0)
    assert found.pvalue == 1 / 200
    assert len(found.values) == len(found.deciding) == len(found.adjusted_pvalues) == 5
    assert {family for family, _ in found.deciding[3:]} == {"directions settings"}
    assert (found.adjusted_pvalues[3:] <= 0.05).all()
    assert (found.adjusted_pvalues[:3] > 0.05).all()
    assert set(found.families) == {"axes settings", "dependence", "directions settings"}


def test_the_spread_of_signs_counts_for_less_where_it_estimates_the_known_one() -> None:
    """Catches the larger of a spread and its own estimate (5 x 5 spins, 50 draws: too few
    rejections), and a known spread alone (too many, of chains and of rare events).
    """
    known, observed = np.array([[4.0, 1.0, 1.0, 1.0]]), np.array([[1.0, 0.9, 9.0, 0.0]])
    in_chains = KnownSquares(known, observed).caution
    np.testing.assert_allclose(in_chains, [[2.0, np.sqrt(1 / 0.9), 1.0, 1.0]])
    squares = KnownSquares(known, observed, independent=True)
    np.testing.assert_allclose(squares.caution, [[2.0, np.sqrt(1 / 0.9), WEIGHT_OF_SIGNS, 1.0]])
    assert squares.total.independent
    assert not squares.added(KnownSquares(known, observed)).independent
