"""Terms times features: no line sees its own coordinate, and sketches are unbiased."""

import numpy as np
import pytest
from scipy.special import ndtri

from steinwise.methods.complete_conditionals.batch_products import (
    SlabFeatures,
    Sums,
    add_products,
)
from steinwise.methods.complete_conditionals.features import LINEAR_SKETCHES, SKETCHES, Features
from steinwise.methods.complete_conditionals.terms import PLACE_TERMS, terms_of
from steinwise.orbits.places import Places
from tests.methods.complete_conditionals.formulas import kappa


def products(others: np.ndarray, seed: int = 0) -> Sums:
    """Terms times features in batches of one draw, for lines whose terms are all the same."""
    n, d = others.shape
    features = Features.draw(d, seed)
    out = Sums.zeros(features, PLACE_TERMS.count, n, d, "float64")
    terms = terms_of(Places.of_normal_scores(np.full((n, d), ndtri(0.3))), np.dtype(float))
    seen = SlabFeatures.of(others.T, np.ones((n, 1)), features, np.dtype(float))
    add_products(out, terms, PLACE_TERMS, seen, np.arange(d))
    return out


@pytest.mark.parametrize("d", [4, 12, 80])
def test_features_never_see_the_coordinate_of_their_line(d: int) -> None:
    """Catches a kappa made from the tested coordinate, which destroys the level.

    With 12 coordinates the products are sketched, with 80 the coordinates and squares too.
    """
    rng = np.random.default_rng(1)
    others = rng.normal(size=(7, d))
    features = Features.draw(d, 0)
    assert (features.pair_signs is None) == (d == 4)
    assert (features.signs is None) == (d < 80)
    before = products(others)
    for j in {0, 1, d // 2, d - 1}:
        moved = others.copy()
        moved[:, j] += rng.normal(size=7)
        after = products(moved)
        for name, one, other in zip(before._fields, after, before, strict=True):
            if one.size:
                change = np.abs(one - other).max(axis=(0, *range(2, one.ndim)))
                assert change[j] < 1e-11
                everywhere = name in ("dependence", "dependence_on_size", "interaction")
                assert not everywhere or (np.delete(change, j) > 1e-3).all()
        assert np.array_equal(after.alone, before.alone)


@pytest.mark.parametrize(("context", "first"), [("dependence", 0), ("dependence on size", 1)])
def test_sketches_of_coordinates_are_unbiased(context: str, first: int) -> None:
    """Catches an own share that is subtracted with the wrong sign, and signs that are shared."""
    d = 80
    both = np.random.default_rng(13).normal(size=(2, d))
    term, values = np.sqrt(2) * np.cos(np.pi * 0.3), []
    for seed in range(200):
        sums, features = products(both, seed), Features.draw(d, seed)
        one, other = sums.of(context)[:, 0, PLACE_TERMS.place]
        values.append(one @ other / term**2 / LINEAR_SKETCHES)
        single = sums.singles(features, PLACE_TERMS, context)[:, 3, 0] / term
        expected = both if first == 0 else both**2 - 1
        expected = np.where(np.arange(d) == 3, 0.0, expected)
        np.testing.assert_allclose(single, expected, atol=1e-12)
    exact = kappa(context, both[0, 1:], both[1, 1:])
    assert np.mean(values) == pytest.approx(exact, abs=4 * np.std(values) / np.sqrt(200))


def test_the_sketch_is_unbiased_for_all_products() -> None:
    """Catches squares that are left in, or a wrong scale of the sketch against itself."""
    both = np.random.default_rng(2).normal(size=(2, 12))
    term, values = np.sqrt(2) * np.cos(np.pi * 0.3), []
    for seed in range(300):
        one, other = products(both, seed).interaction[:, 0, PLACE_TERMS.place]
        values.append(one @ other / term**2 / SKETCHES / 2)
    exact = kappa("interaction", both[0, 1:], both[1, 1:])
    assert np.mean(values) == pytest.approx(exact, abs=4 * np.std(values) / np.sqrt(300))
