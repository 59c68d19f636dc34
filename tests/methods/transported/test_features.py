"""Functions of the other coordinates: all of them where they are few, some where they are many."""

import numpy as np
import pytest

from steinwise.methods.transported.features import MOST_ALONE, MOST_PAIRS, Features


@pytest.mark.parametrize("d", [1, 2, 5, 31, 40])
def test_pairs_are_different_and_all_of_them_where_they_are_few(d: int) -> None:
    """Catches a pair of a coordinate with itself, or one that is never drawn."""
    pairs, every = Features.draw(d, 0).pairs, np.stack(np.triu_indices(d, 1), axis=1)
    if len(every) <= MOST_PAIRS:
        np.testing.assert_array_equal(pairs, every)
        return
    assert len(np.unique(pairs, axis=0)) == len(pairs) == MOST_PAIRS
    drawn = np.concatenate([Features.draw(d, seed).pairs for seed in range(20)])
    np.testing.assert_array_equal(np.unique(drawn, axis=0), every)


def test_many_coordinates_are_looked_at_in_part() -> None:
    """Catches features that grow with the square of the dimension."""
    few, many = (Features.draw(d, 0) for d in (1000, 10_000))
    assert few.count == many.count
    assert len(many.alone) == len(few.alone) == MOST_ALONE
    assert many.bytes_per_line(64, "float64") == few.bytes_per_line(64, "float64")
    assert many.partners("dependence", 7)[0] == many.alone[7]
