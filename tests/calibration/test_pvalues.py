"""p-values by rank, and the step-down maximum."""

import numpy as np

from steinwise.calibration.pvalues import share_at_or_above, step_down


def test_share_at_or_above() -> None:
    """Catches a p-value of 0, and ties that are not counted."""
    null = np.array([0.0, 1.0, 1.0, 3.0])
    assert share_at_or_above(np.array(1.0), null) == (1 + 3) / 5
    assert share_at_or_above(np.array(9.0), null) == 1 / 5
    both = share_at_or_above(np.array([1.0, 9.0]), np.stack([null, null], axis=1))
    np.testing.assert_array_equal(both, [0.8, 0.2])


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
