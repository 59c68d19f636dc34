"""sw.points: where the points go, how good they are, and what is refused."""

import numpy as np
import pytest

import steinwise as sw
from tests.optimise.cases import gaussian, stein_gram, wide_draws


def test_points_of_a_normal_start_at_its_mode_and_spread_out() -> None:
    """Catches a search that stays at the candidates: the first minimiser of |b|^2 is the mean."""
    rough = np.random.default_rng(0).normal(2.0, 3.0, size=(100, 2))
    placed = sw.points(rough, sw.Gaussian([1.0, -1.0], np.diag([1.0, 4.0])), 40)
    assert placed.points[0] == pytest.approx([1.0, -1.0], abs=1e-3)
    assert placed.points.mean(axis=0) == pytest.approx([1.0, -1.0], abs=0.3)
    assert placed.points.std(axis=0) == pytest.approx([1.0, 2.0], rel=0.3)


def test_points_are_better_than_the_draws_and_the_same_for_the_same_seed() -> None:
    """Catches a search that makes things worse, and a random number from anywhere but the seed."""
    rough, density = np.random.default_rng(0).normal(size=(150, 3)), gaussian()
    for regularised in (True, False):
        options = {"regularised": regularised, "standardise": False, "preconditioner": "id"}
        thinned = sw.thin(rough, density, 15, **options)
        placed = sw.points(rough, density, 15, **options)
        again = sw.points(rough, density, 15, **options)
        assert placed.ksd[-1] < 0.7 * thinned.ksd[-1]
        assert (placed.points == again.points).all()
        pairs = stein_gram(placed.points, density.score(placed.points), np.eye(3))
        assert placed.ksd[-1] == pytest.approx(pairs.mean())
    assert "15, in 3 coordinates" in str(placed)


def test_points_refuse_a_bad_seed_and_too_few_candidates() -> None:
    with pytest.raises(sw.InputError, match="seed is -1"):
        sw.points(wide_draws(), gaussian(), 5, seed=-1)
    with pytest.raises(sw.InputError, match="candidates is 2"):
        sw.points(wide_draws(), gaussian(), 5, candidates=2)
