"""Signs of batches, and the bootstraps of means and of pairs that they give."""

import numpy as np
import pytest

from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import cut_by_length
from steinwise.calibration.signs import bootstrap, rademacher


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


def test_bootstrap_of_a_mean() -> None:
    """Catches a scale that is not the standard deviation of the bootstrap, or a lost 1/n."""
    rng = np.random.default_rng(0)
    batches = cut_by_length(1, 31, 3, independent=True)
    sums = BatchSums(rng.normal(size=(2, 3, batches.count)), batches)
    found = bootstrap(sums, rademacher(0, 100_000, batches.count))
    np.testing.assert_allclose(found.statistic, sums.values.sum(axis=-1) / 31)
    np.testing.assert_allclose(found.null.std(axis=0), found.scale, rtol=0.02)
    np.testing.assert_allclose(found.null.mean(axis=0) / found.scale, 0, atol=0.02)


@pytest.mark.parametrize("independent", [True, False])
def test_bootstrap_of_pairs(independent: bool) -> None:
    """Catches forbidden pairs that slip in, a lost mirror of U, and a wrong count of pairs."""
    rng = np.random.default_rng(1)
    batches = cut_by_length(2, 31, 4, independent=independent)
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
    sums = BatchSums(np.zeros((1, 2, 30)), cut_by_length(1, 30, 1, independent=True))
    z, null = bootstrap(sums, rademacher(0, 10, 30)).standardised
    assert (z == 0).all()
    assert (null == 0).all()


@pytest.mark.parametrize("independent", [True, False])
def test_few_statistics_and_many_have_the_same_bootstraps(
    independent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches two ways through the same sum that part company."""
    batches = cut_by_length(2, 40, 4, independent=independent)
    values = np.random.default_rng(6).normal(size=(2, 3, batches.count, batches.count))
    sums, signs = BatchSums(values, batches), rademacher(0, 50, batches.count)
    one = bootstrap(sums, signs)
    monkeypatch.setattr("steinwise.calibration.signs.FEW_ROWS", 0)
    other = bootstrap(sums, signs)
    np.testing.assert_allclose(one.null, other.null, atol=1e-12)
    np.testing.assert_allclose(one.statistic, other.statistic, atol=1e-12)
