"""Functions of the other coordinates: all of them where they are few, some where they are many."""

import numpy as np
import pytest

from steinwise.methods.complete_conditionals.batch_products import SlabFeatures
from steinwise.methods.complete_conditionals.features import (
    MOST_TESTED_PAIRS,
    MOST_TESTED_SINGLES,
    SKETCHES,
    Features,
    squared_features,
)


@pytest.mark.parametrize("d", [1, 2, 5, 31, 40])
def test_pairs_are_different_and_all_of_them_where_they_are_few(d: int) -> None:
    """Catches a pair of a coordinate with itself, or one that is never drawn."""
    pairs, every = Features.draw(d, 0).pairs, np.stack(np.triu_indices(d, 1), axis=1)
    if len(every) * d <= MOST_TESTED_PAIRS:
        np.testing.assert_array_equal(pairs, every)
        return
    assert len(np.unique(pairs, axis=0)) == len(pairs) == MOST_TESTED_PAIRS // d
    drawn = np.concatenate([Features.draw(d, seed).pairs for seed in range(20)])
    np.testing.assert_array_equal(np.unique(drawn, axis=0), every)


def test_many_coordinates_are_looked_at_in_part() -> None:
    """Catches features that grow with the square of the dimension."""
    few, many = (Features.draw(d, 0) for d in (1000, 10_000))
    assert few.count == many.count
    for features in (few, many):
        assert len(features.alone) == MOST_TESTED_SINGLES // features.d
        assert len(features.pairs) == MOST_TESTED_PAIRS // features.d
    assert many.bytes_per_line(26, 64, "float64") < few.bytes_per_line(26, 64, "float64")
    assert many.partners("dependence", 4)[0] == many.alone[4]


def test_products_that_nobody_looks_at_are_not_computed() -> None:
    """Catches directions that pay for the names of their partners, which they never give."""
    few, many = (Features.draw(d, 0, one_by_one=False) for d in (5, 60))
    assert len(few.pairs) == few.counts[-1] == 10  # they are the context itself
    assert len(many.pairs) == 0
    assert many.counts[-1] == SKETCHES


def test_squares_are_those_of_all_features_without_the_own_coordinate() -> None:
    """Catches a coordinate among its own features, or a product that counts twice."""
    z = np.random.default_rng(0).normal(size=(5, 7))
    found = squared_features(z, np.array([0, 3]))
    for line, own in enumerate([0, 3]):
        rest = np.delete(z, own, axis=0)
        one, other = np.triu_indices(4, 1)
        features = [np.ones((1, 7)), rest, rest**2 - 1, rest[one] * rest[other]]
        expected = np.stack([(feature**2).sum(axis=0) for feature in features])
        np.testing.assert_allclose(found[line], expected)


@pytest.mark.parametrize("d", [5, 12, 80])
def test_sketches_have_as_large_squares_as_what_they_stand_for(d: int) -> None:
    """On average over their signs: what correct draws lead to expect is known from all features."""
    z = np.random.default_rng(0).normal(size=(d + 1, 40))
    z[0] = 0.0  # the line's own coordinate
    sums = np.zeros((4, 40))
    for seed in range(30):
        features = Features.draw(d + 1, seed)
        seen = SlabFeatures.of(z, np.ones((1, 40)), features, np.dtype("float64"))
        for k, part in enumerate(seen.of_contexts):
            sums[k] += (part**2).sum(axis=0) / features.multiplicities[k] / 30
    # a sketch of coordinates has the own one too: of squares less 1 it counts 1
    expected = squared_features(z, np.array([0]))[0]
    expected[2] += 1
    np.testing.assert_allclose(sums.mean(axis=1), expected.mean(axis=1), rtol=0.15)
