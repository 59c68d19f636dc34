"""Climbing from many points at once."""

import numpy as np
import scipy.optimize

from steinwise.orbits.modes.ascent import MOST_ROUNDS, climb


def rosenbrock(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values = [-scipy.optimize.rosen(row) for row in x]
    return np.array(values), np.array([-scipy.optimize.rosen_der(row) for row in x])


def test_a_curved_valley_ends_at_its_known_maximum() -> None:
    """Catches a wrong memory or line search: steepest ascent is far from there after 100 calls."""
    starts = np.random.default_rng(0).uniform(-2, 2, size=(8, 2))
    arrived = climb(rosenbrock, starts)
    assert arrived.maximum.all()
    np.testing.assert_allclose(arrived.points, 1.0, atol=0.05)
    np.testing.assert_allclose(arrived.values, 0.0, atol=1e-3)


def test_points_do_not_depend_on_each_other() -> None:
    starts = np.random.default_rng(1).uniform(-2, 2, size=(6, 2))
    together, alone = climb(rosenbrock, starts), climb(rosenbrock, starts[3:4])
    np.testing.assert_array_equal(together.points[3:4], alone.points)


def test_a_density_without_end_has_no_maximum_and_says_so() -> None:
    def rising(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x[:, 0] - x[:, 1] ** 2, np.stack([np.ones(len(x)), -2 * x[:, 1]], axis=1)

    arrived = climb(rising, np.ones((3, 2)))
    assert arrived.unbounded.all()
    assert not arrived.maximum.any()


def test_a_rise_that_steepens_and_one_that_does_not_are_without_end() -> None:
    def valley(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        far = np.abs(x[:, 0]) > 6
        values = np.where(far, (np.abs(x[:, 0]) - 12) ** 2 - 72, -(x[:, 0] ** 2)) / 2
        return values, np.where(far[:, None], x - 12 * np.sign(x), -x)

    arrived = climb(valley, np.array([[20.0], [1.0], [-30.0]]))
    assert arrived.unbounded.tolist() == [True, False, True]
    assert arrived.maximum.tolist() == [False, True, False]
    straight = climb(lambda x: (x[:, 0], np.ones(x.shape)), np.zeros((1, 1)))
    assert straight.unbounded.all()


def test_effort_is_bounded_and_starts_outside_the_support_are_left() -> None:
    calls = []

    def half_line(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        calls.append(len(x))
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.where(x[:, 0] > 0, np.log(x[:, 0]) - x[:, 0], -np.inf)
            return values, np.where(x > 0, 1 / x - 1, np.nan)

    arrived = climb(half_line, np.array([[0.1], [-1.0], [30.0]]))
    assert arrived.maximum.tolist() == [True, False, True]
    assert not arrived.unfinished.any()
    np.testing.assert_allclose(arrived.points[[0, 2]], 1.0, atol=0.02)
    assert len(calls) <= MOST_ROUNDS
