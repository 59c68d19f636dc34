"""KSD's equations: y is another draw, from a batch that is neither x's own nor next to it."""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batch_plan import FEWEST_BATCHES, plan_for_error
from steinwise.calibration.batches import Batches, cut_into
from steinwise.draws.samples import Samples
from steinwise.kernels import AbstractKernel
from steinwise.methods.ksd import KSD
from steinwise.methods.statistics import draws_and_scores
from steinwise.optimise.equations import AbstractEquations, EstimationProblem
from steinwise.optimise.kernel_pairs import KernelPairs
from steinwise.optimise.model import Matrix, Model, Vector, evaluate_rows, model_scores, per_row
from steinwise.target.base import require_finite

# At most, as for KSD's test: shorter batches leave out fewer pairs, but the number of pairs of
# batches grows quadratically.
PAIR_BATCHES = 250

Rows = Float[np.ndarray, "n d"]


def pair_problem(
    method: KSD, model: Model, samples: Samples, start: Vector, run: RunOptions
) -> EstimationProblem:
    """The equations of KSD with the method's kernel."""
    x = samples.rows
    kernel = method.kernel.resolve(x, run.seed, per_coordinate=False)
    scores = model_scores(model, start, x, run.memory)
    require_finite(scores, x, 0, np.arange(samples.dim), axis=1)
    columns = draws_and_scores(x, scores)
    plan = plan_for_error(
        samples, lambda first, rows, _: columns[first : first + len(rows)], most=PAIR_BATCHES
    )
    if plan is None:  # too few batches for standard errors; some are needed to leave pairs out
        equations = pair_equations(model, kernel, x, cut_into(samples, FEWEST_BATCHES), run.memory)
        return EstimationProblem(equations, samples, None, ())
    equations = pair_equations(model, kernel, x, plan.batches, run.memory)
    return EstimationProblem(equations, samples, plan.batches, plan.notes)


def pair_equations(
    model: Model, kernel: AbstractKernel, x: Rows, batches: Batches, memory: int
) -> "PairEquations":
    """The equations over pairs of draws in batches that are neither equal nor neighbours."""
    batch = np.repeat(np.arange(batches.count), batches.lengths)

    def pairs(counted: np.ndarray) -> KernelPairs:
        return KernelPairs(kernel, x, batch, counted, memory, model.plan.wide)

    every = pairs(np.ones_like(batches.allowed))
    return PairEquations(model, x, memory, every, pairs(batches.allowed), batches.pairs)


@dataclass(frozen=True, eq=False)
class PairEquations(AbstractEquations):
    """The V-statistic as objective, the U-statistic's first-order condition as equation."""

    model: Model
    x: Rows
    memory: int
    every_pair: KernelPairs
    allowed_pairs: KernelPairs  # without those whose draws depend on each other
    n_allowed: float  # how many

    def objective(self, theta: Vector) -> tuple[float, Vector]:
        total, half_gradient = self.every_pair.stein_form(self.scores(theta))
        count = len(self.x) ** 2
        return total / count, 2 * self._pulled_back(theta, half_gradient).sum(axis=0) / count

    def objective_hessian(self, theta: Vector) -> Matrix:
        return 2 * self._jacobian_sums(theta, self.every_pair) / len(self.x) ** 2

    def equation(self, theta: Vector, theta_y: Vector) -> tuple[Vector, Matrix]:
        _, half_gradient = self.allowed_pairs.stein_form(self.scores(theta))
        value = self._pulled_back(theta_y, half_gradient).sum(axis=0)
        derivative = self._through_x(theta, theta_y, self.allowed_pairs)
        return value / self.n_allowed, derivative / self.n_allowed

    def jacobian(self, theta: Vector) -> Matrix:
        return self._jacobian_sums(theta, self.allowed_pairs) / self.n_allowed

    def contributions(self, theta: Vector) -> Float[np.ndarray, "n p"]:
        scores = self.scores(theta)
        as_y = self._pulled_back(theta, self.allowed_pairs.stein_form(scores)[1])
        as_x = [
            self.allowed_pairs.row_sums(scores, self._score_derivative(theta, direction))
            for direction in np.eye(len(theta))
        ]
        return (as_y + np.stack(as_x, axis=1)) * len(self.x) / self.n_allowed

    def discrepancy(self, theta: Vector) -> float:
        return self.allowed_pairs.stein_form(self.scores(theta))[0] / self.n_allowed

    def scores(self, theta: Vector) -> Rows:
        return model_scores(self.model, theta, self.x, self.memory)

    def _jacobian_sums(self, theta: Vector, pairs: KernelPairs) -> Matrix:
        _, half_gradient = pairs.stein_form(self.scores(theta))
        through_y = self._evaluate(_pulled_back_derivative, theta, half_gradient).sum(axis=0)
        return through_y + self._through_x(theta, theta, pairs)

    def _through_x(self, theta: Vector, theta_y: Vector, pairs: KernelPairs) -> Matrix:
        """The derivative of the sum of g in the parameters of its x-side."""
        columns = []
        for direction in np.eye(len(theta)):
            moved = pairs.times(self._score_derivative(theta, direction))
            columns.append(self._pulled_back(theta_y, moved).sum(axis=0))
        return np.stack(columns, axis=1)

    def _score_derivative(self, theta: Vector, direction: Vector) -> Rows:
        """The derivative of all scores along a direction of theta."""
        return self._evaluate(_score_derivative, theta, shared=(direction,))

    def _pulled_back(self, theta: Vector, vectors: Rows) -> Float[np.ndarray, "n p"]:
        """The gradient in theta of <b_theta(x_l), vectors_l>, one row per draw."""
        return self._evaluate(_pulled_back, theta, vectors)

    def _evaluate(
        self, function: Callable, theta: Vector, *arrays: np.ndarray, shared: tuple = ()
    ) -> np.ndarray:
        return evaluate_rows(
            function, self.model, theta, self.x, *arrays, memory=self.memory, shared=shared
        )


# -- functions of one draw -------------------------------------------------------------------------


@per_row(1)
def _score_derivative(model: Model, theta: Array, direction: Array, x: Array) -> Array:
    return jax.jvp(functools.partial(model.score, x=x), (theta,), (direction,))[1]


def _pull_back(model: Model, x: Array, vector: Array) -> Callable[[Array], Array]:
    return jax.grad(lambda theta: jnp.dot(model.score(theta, x), vector))


@per_row(2)
def _pulled_back(model: Model, theta: Array, x: Array, vector: Array) -> Array:
    return _pull_back(model, x, vector)(theta)


@per_row(2)
def _pulled_back_derivative(model: Model, theta: Array, x: Array, vector: Array) -> Array:
    return jax.jacfwd(_pull_back(model, x, vector))(theta)
