"""Signs, p-values, the maximum over settings, step-down, and standard errors."""

import numpy as np
import pytest

from benchmarks.size import interval
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import Batches, _cut
from steinwise.calibration.jackknife import standard_error
from steinwise.calibration.pvalues import calibrate, normal_tail, share_at_or_above, step_down
from steinwise.calibration.signs import bootstrap, rademacher


def mean_sums(values: np.ndarray) -> BatchSums:
    """Batches of one draw each."""
    return BatchSums(values, _cut(1, values.shape[-1], 1, independent=True))


def test_signs_are_fixed_by_the_seed() -> None:
    """Catches another generator, a shared stream, and signs that depend on JAX."""
    signs = rademacher(7, 4, 12)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    np.testing.assert_array_equal(signs, rademacher(7, 4, 12))
    assert (signs != rademacher(8, 4, 12)).any()
    expected = "+++---+++--- -+--+--++--- ++---+++++-- --+++---+++-"
    found = " ".join("".join("+" if s > 0 else "-" for s in row) for row in signs)
    assert found == expected


def test_signs_are_fair_and_unrelated() -> None:
    """Catches a biased coin, and one sign that serves two batches."""
    signs = rademacher(0, 20_000, 10)
    np.testing.assert_allclose(signs.T @ signs / 20_000, np.eye(10), atol=0.03)
    np.testing.assert_allclose(signs.mean(axis=0), 0, atol=0.03)


def test_share_at_or_above() -> None:
    """Catches a p-value of 0, and ties that are not counted."""
    null = np.array([0.0, 1.0, 1.0, 3.0])
    assert share_at_or_above(np.array(1.0), null) == (1 + 3) / 5
    assert share_at_or_above(np.array(9.0), null) == 1 / 5
    both = share_at_or_above(np.array([1.0, 9.0]), np.stack([null, null], axis=1))
    np.testing.assert_array_equal(both, [0.8, 0.2])


def test_bootstrap_of_a_mean() -> None:
    """Catches a scale that is not the standard deviation of the bootstrap, or a lost 1/n."""
    rng = np.random.default_rng(0)
    batches = _cut(1, 31, 3, independent=True)
    sums = BatchSums(rng.normal(size=(2, 3, batches.count)), batches)
    found = bootstrap(sums, rademacher(0, 100_000, batches.count))
    np.testing.assert_allclose(found.statistic, sums.values.sum(axis=-1) / 31)
    np.testing.assert_allclose(found.null.std(axis=0), found.scale, rtol=0.02)
    np.testing.assert_allclose(found.null.mean(axis=0) / found.scale, 0, atol=0.02)


@pytest.mark.parametrize("independent", [True, False])
def test_bootstrap_of_pairs(independent: bool) -> None:
    """Catches forbidden pairs that slip in, a lost mirror of U, and a wrong count of pairs."""
    rng = np.random.default_rng(1)
    batches = _cut(2, 31, 4, independent=independent)
    g = batches.count
    sums = BatchSums(rng.normal(size=(2, 2, g, g)), batches)  # not symmetric
    signs = rademacher(0, 100_000, g)
    found = bootstrap(sums, signs)
    kept = sums.values * batches.allowed
    np.testing.assert_allclose(found.statistic, kept.sum(axis=(-1, -2)) / batches.pairs)
    np.testing.assert_allclose(found.null.std(axis=0), found.scale, rtol=0.02)
    by_hand = np.einsum("lg,skgh,lh->lsk", signs[:50], kept, signs[:50]) / batches.pairs
    np.testing.assert_allclose(found.null[:50], by_hand, atol=1e-12)


def test_no_scale_gives_zero_and_not_nan() -> None:
    """Catches 0/0 where a coordinate contributes nothing."""
    sums = mean_sums(np.zeros((1, 2, 30)))
    z, null = bootstrap(sums, rademacher(0, 10, 30)).standardised
    assert (z == 0).all()
    assert (null == 0).all()


@pytest.mark.parametrize("shared", [0.0, 0.9])
def test_the_maximum_over_settings_is_calibrated_jointly(shared: float) -> None:
    """Catches the least of 20 p-values (rejects 0.64), and a Bonferroni bound (too few)."""
    rng = np.random.default_rng(2)
    batches = _cut(1, 100, 1, independent=True)
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
    batches = _cut(1, 100, 1, independent=True)
    found = calibrate([BatchSums(values, batches)], 199, 0)
    assert found.deciding == (("", 1),)
    assert found.pvalue == 1 / 200
    z = values[1].sum() / np.sqrt((values[1] ** 2).sum())
    assert found.statistic == pytest.approx(z)


def test_coordinates_may_come_in_several_blocks() -> None:
    """Catches signs drawn anew for every block, and a sum that forgets a block."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=(3, 6, 50)) + 0.1
    batches = _cut(1, 50, 1, independent=True)
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
    batches = _cut(1, 400, 1, independent=True)
    found = calibrate([BatchSums(values, batches)], 20_000, 0)
    assert found.normal_pvalue == pytest.approx(found.pvalue, abs=0.01)


def naive_step_down(z: np.ndarray, null: np.ndarray) -> np.ndarray:
    """Romano and Wolf's algorithm as it is told: drop the largest, and look again."""
    left, adjusted, before = list(range(len(z))), np.zeros(len(z)), 0.0
    while left:
        worst = max(left, key=lambda k: z[k])
        most = null[:, left].max(axis=1)
        before = max(before, (1 + (most >= z[worst]).sum()) / (1 + len(null)))
        adjusted[worst] = before
        left.remove(worst)
    return adjusted


def test_step_down_against_the_naive_algorithm() -> None:
    """Catches a maximum over all coordinates in every step, or over those already dropped."""
    rng = np.random.default_rng(6)
    for _ in range(20):
        null = rng.normal(size=(99, 8)) @ rng.normal(size=(8, 8))
        z = 3 * rng.normal(size=8)
        adjusted = step_down(z, null)
        np.testing.assert_allclose(adjusted, naive_step_down(z, null))
        assert (adjusted >= share_at_or_above(z, null)).all()
        assert (np.diff(adjusted[np.argsort(-z)]) >= 0).all()


def test_step_down_gains_over_single_step() -> None:
    """Catches a single-step maximum, which never lets go of a coordinate already accused."""
    null = np.random.default_rng(7).normal(size=(999, 3)) * np.array([10.0, 1.0, 1.0])
    z = np.array([100.0, 4.0, 0.0])
    adjusted = step_down(z, null)
    single = (1 + (null.max(axis=1) >= 4.0).sum()) / 1000
    assert adjusted[1] < 0.01 < single


def test_standard_error_of_a_mean() -> None:
    """Catches a missing n/(n-1), and batches of unequal length taken as equal."""
    values = np.random.default_rng(8).normal(size=(1, 2, 500))
    total = values.sum(axis=1)[0]
    expected = total.std(ddof=1) / np.sqrt(500)
    assert standard_error(mean_sums(values)) == pytest.approx(expected, rel=1e-12)
    batches = _cut(1, 500, 7, independent=True)
    constant = BatchSums(3.0 * batches.lengths[None, None, :], batches)
    assert standard_error(constant) == pytest.approx(0, abs=1e-12)


def pair_sums(x: np.ndarray, batches: Batches) -> BatchSums:
    """A product of features whose mean, |E f|^2, is not zero."""
    f = batches.sums(np.stack([x, x**2], axis=1))
    return BatchSums((f @ f.T)[None, None], batches)


@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_standard_error_of_pairs(rho: float) -> None:
    """Catches a jackknife that is off by a factor, or that ignores dependence, by simulation."""
    from benchmarks.simulate import autoregressive

    rng = np.random.default_rng(9)
    batches = _cut(2, 400, 5 if rho == 0 else 20, independent=rho == 0)
    found, errors = [], []
    for _ in range(400):
        x = 0.5 + autoregressive(rng, np.array([rho]), 2, 400).reshape(-1)
        sums = pair_sums(x, batches)
        found.append((sums.values[0, 0] * batches.allowed).sum() / batches.pairs)
        errors.append(standard_error(sums))
    assert np.mean(errors) == pytest.approx(np.std(found), rel=0.15)
