"""The search for Stein points: the gradient of its objective, and its steps."""

import numpy as np
import pytest

from steinwise.optimise.point_search import PlacedPoints, PointSearch
from steinwise.optimise.preconditioned import ScaledSpace
from steinwise.optimise.regularisation import Regularisation
from tests.optimise.cases import stein_gram, two_modes


def search(entropy: float) -> PointSearch:
    space = ScaledSpace(np.array([1.0, 2.0]), np.array([[1.0, 0.4], [0.4, 0.5]]), "")
    return PointSearch(space, two_modes(0.7, 2.0), Regularisation(True, entropy), 2**30)


@pytest.mark.parametrize("entropy", [0.0, 0.3])
def test_the_slope_of_the_search_is_that_of_its_objective(entropy: float) -> None:
    """Catches a wrong derivative, with which L-BFGS would stop at its start."""
    objective, placed = search(entropy), PlacedPoints.none(2)
    for seed in (0, 1):
        candidates = np.random.default_rng(seed).normal(size=(10, 2))
        placed = objective.place_next(placed, candidates)
    x, h = np.random.default_rng(2).normal(size=(4, 2)), 1e-5
    values, slopes = objective.value_and_slope(placed, x)
    assert values == pytest.approx(objective.objective(placed, x)[0])
    for j, step in enumerate(h * np.eye(2)):
        ahead, behind = (objective.objective(placed, x + s)[0] for s in (step, -step))
        assert slopes[:, j] == pytest.approx((ahead - behind) / (2 * h), abs=1e-5)


def test_a_step_leaves_the_points_before_it_as_they_were() -> None:
    """Catches a search that keeps its points to itself, and a KSD of other points than these."""
    before = PlacedPoints.none(2)
    first = search(0.0).place_next(before, np.random.default_rng(0).normal(size=(10, 2)))
    second = search(0.0).place_next(first, np.random.default_rng(1).normal(size=(10, 2)))
    assert (len(before.points), len(first.points), len(second.points)) == (0, 1, 2)
    assert (second.points[:1] == first.points).all()
    pairs = stein_gram(second.points, second.scores, search(0.0).space.matrix)
    assert second.ksd == pytest.approx([pairs[0, 0], pairs.mean()])
