"""Batches: how draws are cut, and which pairs of batches count."""

import numpy as np
import pytest

from steinwise.calibration.batches import cut_by_length


@pytest.mark.parametrize("count", [1, 3, 4])
@pytest.mark.parametrize(("draws", "length"), [(100, 7), (101, 10), (12, 12), (9, 20), (50, 1)])
def test_cut_covers_every_row_once_inside_one_chain(count: int, draws: int, length: int) -> None:
    """Catches a lost remainder, a batch across two chains, and batches of unequal length."""
    batches = cut_by_length(count, draws, length, independent=False)
    owner = np.repeat(np.arange(count), draws)
    covered = np.zeros(count * draws, dtype=int)
    for g in range(batches.count):
        rows = slice(batches.bounds[g], batches.bounds[g + 1])
        covered[rows] += 1
        assert (owner[rows] == batches.chain[g]).all()
    assert (covered == 1).all()
    assert np.ptp(batches.lengths) <= 1
    assert batches.lengths.min() >= min(length, draws)


def test_allowed_leaves_out_itself_and_neighbours_in_the_same_chain_only() -> None:
    """Catches neighbours kept in (size 0.18), and pairs lost across the border of two chains."""
    batches = cut_by_length(2, 30, 10, independent=False)
    expected = np.zeros((6, 6), dtype=bool)
    for g in range(6):
        for h in range(6):
            same_chain = g // 3 == h // 3
            expected[g, h] = g != h and not (same_chain and abs(g - h) == 1)
    np.testing.assert_array_equal(batches.allowed, expected)
    assert batches.allowed[2, 3]
    independent = cut_by_length(1, 30, 5, independent=True)
    np.testing.assert_array_equal(independent.allowed, ~np.eye(6, dtype=bool))


def test_pairs_counts_pairs_of_draws() -> None:
    """Catches a count of pairs of batches, or one that takes all batches as equally long."""
    batches = cut_by_length(2, 31, 7, independent=False)
    batch_of = np.repeat(np.arange(batches.count), batches.lengths)
    assert batches.pairs == batches.allowed[batch_of][:, batch_of].sum()


def test_sums_and_padded_agree_with_loops() -> None:
    """Catches padding that counts, rows that shift by one, and a last batch cut short."""
    batches = cut_by_length(3, 23, 5, independent=False)
    values = np.random.default_rng(0).normal(size=(69, 2, 3))
    loop = np.stack([part.sum(axis=0) for part in np.split(values, batches.bounds[1:-1])])
    np.testing.assert_allclose(batches.sums(values), loop, rtol=1e-12)
    padded, weight = batches.padded(values)
    assert padded.shape == (batches.count, batches.lengths.max(), 2, 3)
    np.testing.assert_array_equal(weight.sum(axis=1), batches.lengths)
    np.testing.assert_allclose(np.einsum("gl,gl...->g...", weight, padded), loop, rtol=1e-12)
