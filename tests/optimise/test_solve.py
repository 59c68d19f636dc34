"""The solver on equations in closed form: how a search can end, and the covariance of a root."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from steinwise.calibration.batches import even_batches
from steinwise.draws.samples import Samples
from steinwise.errors import TargetError
from steinwise.optimise.equations import AbstractEquations, EstimationProblem
from steinwise.optimise.solve import covariance, solve

NAMES = ("a", "b")
DRAWS = np.random.default_rng(0).normal([1.0, -2.0], [1.0, 3.0], size=(400, 2))


@dataclass(frozen=True)
class Equations(AbstractEquations):
    """f(theta) = 0, with |theta - start|^2 as the objective that leads to a start."""

    f: Callable[[np.ndarray], np.ndarray]
    derivative: Callable[[np.ndarray], np.ndarray]
    start: tuple[float, float] = (0.5, 0.5)

    def objective(self, theta):
        difference = theta - np.array(self.start)
        return 1.0 + float(difference @ difference), 2 * difference

    def objective_hessian(self, theta):
        return 2 * np.eye(len(theta))

    def equation(self, theta, theta_y):  # noqa: ARG002
        return self.f(theta), self.derivative(theta)

    def jacobian(self, theta):
        return self.derivative(theta)

    def contributions(self, theta):
        return theta - DRAWS

    def discrepancy(self, theta):
        return float(self.f(theta) @ self.f(theta))


def linear(matrix, root=(1.0, -2.0)) -> Equations:
    matrix, root = np.asarray(matrix, dtype=float), np.asarray(root)
    return Equations(lambda theta: matrix @ (theta - root), lambda _: matrix)


def test_a_root_is_found_and_is_a_minimum() -> None:
    solution = solve(linear([[2.0, 0.3], [0.1, 1.0]]), np.array([5.0, 5.0]), NAMES, 50)
    assert solution.outcome == "solved"
    assert solution.notes == ()
    assert solution.theta == pytest.approx([1.0, -2.0], abs=1e-7)


@pytest.mark.parametrize(
    ("equations", "outcome", "kind", "names"),
    [
        (linear([[1.0, 0.0], [0.0, 0.0]]), "not identified", "parameters without effect", "b"),
        (linear([[1.0, 1.0], [1.0, 1.0]]), "not identified", "parameters only together", "a, b"),
        (linear([[1.0, 0.0], [0.0, np.inf]]), "not identified", "fit overflows", None),
        (linear([[1.0, 3.0], [3.0, 1.0]]), "solved", "fit is a saddle", None),
        (
            Equations(lambda t: 1 + t**2, lambda t: np.diag(2 * t)),
            "not solved",
            "fit not converged",
            None,
        ),
    ],
)
def test_how_a_search_can_end(equations, outcome, kind, names) -> None:
    """Catches an ending that is taken for another, and parameters that are not named."""
    solution = solve(equations, np.array([0.1, 0.2]), NAMES, 50)
    assert solution.outcome == outcome
    assert [each.kind for each in solution.notes] == [kind]
    assert solution.notes[0].values.get("names") == names


def test_a_parameter_without_first_order_effect_stops_the_search() -> None:
    """Catches a division by 0: with theta_y held fixed the derivative's diagonal vanishes."""

    class Symmetric(Equations):
        def equation(self, theta, theta_y):  # noqa: ARG002
            return theta, np.array([[0.0, 1.0], [1.0, 0.0]])

    equations = Symmetric(lambda theta: theta, lambda _: np.eye(2))
    solution = solve(equations, np.array([1.0, 1.0]), NAMES, 50)
    assert solution.outcome == "not solved"
    assert [each.kind for each in solution.notes] == ["fit stuck"]


def test_an_objective_that_is_not_finite_at_the_start_is_refused() -> None:
    class Overflowing(Equations):
        def objective(self, theta):
            return np.inf, np.zeros_like(theta)

    with pytest.raises(TargetError, match="not finite at theta0"):
        solve(Overflowing(lambda t: t, lambda _: np.eye(2)), np.zeros(2), NAMES, 50)


def test_the_covariance_of_a_mean_is_that_of_its_draws() -> None:
    """Catches a factor of n or of the batches, and an inverse that was left out."""
    equations = Equations(lambda t: 2 * (t - DRAWS.mean(axis=0)), lambda _: 2 * np.eye(2))
    samples = Samples.of(DRAWS, independent=True)
    batches = even_batches(1, len(DRAWS), 100, independent=True)
    expected = np.cov(DRAWS, rowvar=False) / len(DRAWS) / 4
    solution = solve(equations, np.zeros(2), NAMES, 50)
    for given, count in ((None, 400), (batches, 100)):
        errors = covariance(EstimationProblem(equations, samples, given, ()), solution)
        assert errors is not None
        assert errors.n_batches == count
        assert np.diagonal(errors.matrix) == pytest.approx(np.diagonal(expected), rel=0.3)
    few = Samples.of(DRAWS[:5], independent=True)
    assert covariance(EstimationProblem(equations, few, None, ()), solution) is None
