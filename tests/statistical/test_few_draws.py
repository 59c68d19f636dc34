"""Few draws: the scale of skewed terms is drawn towards what correct draws lead to expect."""

import numpy as np
import pytest

import steinwise as sw
from benchmarks.rates import interval
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import Batches, cut_by_length, even_batches
from steinwise.calibration.families import calibrate
from steinwise.calibration.signs import bootstrap, rademacher
from steinwise.draws.samples import Samples
from steinwise.methods.complete_conditionals.settings import expected_squares
from steinwise.methods.complete_conditionals.terms import BASE_TERMS, terms_of
from steinwise.methods.transported import Transported
from steinwise.orbits.places import Places


def sums_of_tails(
    draws: np.ndarray, covariance: np.ndarray, batches: Batches
) -> dict[str, BatchSums]:
    """Of Hermite polynomials along coordinates, and along directions if there are any."""
    target = sw.Gaussian(np.zeros(len(covariance)), covariance)
    method = Transported(bases=["tails"], contexts=["alone"])
    samples = Samples.of(draws, independent=batches.independent)
    run = RunOptions()
    statistic = next(method.prepare(samples, target, run)).statistic(target, run)
    return {sums.group: sums for sums in statistic.batch_sums(batches)}


def test_one_of_many_right_coordinates_does_not_stand_out_by_its_small_scale() -> None:
    """Catches a scale that is only the seen one: 0.11 of 50 draws of 100 coordinates then fail."""
    batches, hits = cut_by_length(1, 50, 1, independent=True), 0
    for seed in range(500):
        z = np.random.default_rng([30, seed]).normal(size=(50, 100))
        places = Places.of_normal_scores(z)
        terms = terms_of(places, np.dtype("float32"))[BASE_TERMS["tails"][0]]
        products = np.einsum("tcg,tch->cgh", terms, terms, optimize=True)
        expected = expected_squares([("tails", "alone")], batches, held_out=0)
        sums = BatchSums(products[None], batches, expected=expected)
        hits += calibrate([sums], 199, seed).adjusted_pvalues.min() <= 0.05
    low, high = interval(0.05, 500)
    assert low <= hits / 500 <= high


def test_what_is_expected_of_the_squares_is_their_mean() -> None:
    """Catches a factor of 2, batches of several draws, and draws that are held out."""
    batches, covariance = even_batches(1, 90, 60, independent=True), 0.1 * np.eye(3) + 0.9
    rng, g, h = np.random.default_rng(31), *np.triu_indices(60, 1)
    seen: dict[str, list[float]] = {"coordinates": [], "directions": []}
    expected = {}
    for _ in range(400):
        draws = rng.multivariate_normal(np.zeros(3), covariance, size=90)
        for group, sums in sums_of_tails(draws, covariance, batches).items():
            both = sums.values[..., g, h] + sums.values[..., h, g]
            seen[group].append(float((both**2).sum(axis=-1).mean()))
            assert sums.expected is not None
            expected[group] = sums.expected.squares[0]
    for group, squares in seen.items():
        error = np.std(squares) / np.sqrt(len(squares))
        assert abs(np.mean(squares) - expected[group]) < 4 * error < 0.4 * expected[group]


def test_the_scale_lies_between_the_seen_and_the_expected() -> None:
    """Catches a weight that does not fall with the number of draws, and other settings' scales."""
    signs = rademacher(0, 10, 50)
    for n, weight in ((50, 1 / 2), (200, 1 / 5)):
        draws = np.random.default_rng(n).normal(size=(n, 2))
        batches = even_batches(1, n, 50, independent=True)
        sums = sums_of_tails(draws, np.eye(2), batches)["coordinates"]
        assert sums.expected is not None
        seen = bootstrap(BatchSums(sums.values, batches), signs).scale ** 2
        known = sums.expected.squares[0] / batches.pairs**2
        found = bootstrap(sums, signs).scale ** 2
        np.testing.assert_allclose(found, (1 - weight) * seen + weight * known, rtol=1e-5)


def test_only_independent_draws_lead_to_expect_anything() -> None:
    """Catches the spread of independent draws where a batch is a piece of a chain."""
    draws = np.random.default_rng(32).normal(size=(200, 2))
    chain = sums_of_tails(draws, np.eye(2), cut_by_length(1, 200, 5, independent=False))
    assert chain["coordinates"].expected is None
    samples, run = Samples.of(draws, independent=True), RunOptions()
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    found = next(Transported().prepare(samples, target, run)).statistic(target, run)
    batches = cut_by_length(1, 200, 5, independent=True)
    weights = {one.family: one.expected for one in found.batch_sums(batches) if not one.two_sided}
    alone, others = weights["lines: coordinates alone"], weights["lines: coordinates with others"]
    assert alone is not None
    assert alone.weight == pytest.approx([0, 0, 0.2])  # shape, shift, tails
    assert others is None or not others.weight.any()
