"""Solving the equations of a fit, and the covariance of their root."""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.notes import Note, note
from steinwise.calibration.batch_plan import plan_for_error
from steinwise.calibration.batches import Batches
from steinwise.errors import TargetError
from steinwise.optimise.equations import AbstractEquations, EstimationProblem
from steinwise.optimise.model import Matrix, Vector

# The gradient, relative to the objective at theta0 (or to 1e-6, if that is smaller), at which the
# first search ends. It only has to come near the root.
ROUGH = 1e-6
# Rounds with the y-side held fixed, each from the last root, and evaluations in a round. Normal,
# quartic and Student-t models take 2 to 7 rounds of at most 6 evaluations; a fit that takes ten
# times as many moves between roots or drifts to infinity.
MOST_ROUNDS, MOST_EVALUATIONS = 30, 100
# The step, relative to the parameters, at which a root counts as found: far below any standard
# error, and above what is lost to rounding in sums over millions of pairs.
SMALL_STEP = 1e-7
# A singular value of the Jacobian below this share of the largest counts as 0, parameters in units
# of their own curvature. It is about the square root of the rounding error, so that parameters that
# are not identified are recognised as such in spite of rounding.
SINGULAR = 1e-8
SMALL_ENTRY = 0.1  # of a unit vector: parameters below it are not named as part of a combination
MOST_NAMED = 5  # parameters in a note
MEAN_BATCHES = 1000  # at most, for the covariance of a mean: its batch sums cost next to nothing


class Solution(NamedTuple):
    """Where the search ended, how, and the derivative of the equations there."""

    theta: Vector
    jacobian: Matrix
    outcome: Literal["solved", "not identified", "not solved"]
    notes: tuple[Note, ...] = ()


def solve(
    equations: AbstractEquations, start: Vector, names: tuple[str, ...], max_iterations: int
) -> Solution:
    """A trust region on the form that is never negative, then the roots of the unbiased equations.

    Flat densities have a finite discrepancy: a method whose steps are not held back, such as
    L-BFGS, can end up among them, and nothing leads back.
    """
    from scipy.optimize import minimize

    def objective(theta: Vector) -> tuple[float, Vector]:
        value, slope = equations.objective(theta)
        usable = np.isfinite(value) and np.isfinite(slope).all()
        return (value, slope) if usable else (np.inf, np.zeros_like(theta))

    first, _ = objective(start)
    if not np.isfinite(first):
        raise TargetError(
            "the discrepancy is not finite at theta0: the log density or its derivatives overflow "
            "there. Start elsewhere."
        )
    rough = minimize(
        objective,
        start,
        jac=True,
        hess=equations.objective_hessian,
        method="trust-exact",
        options={"maxiter": max_iterations, "gtol": ROUGH * max(first, ROUGH)},
    )
    theta = np.asarray(rough.x, dtype=np.float64)
    for _ in range(MOST_ROUNDS):
        jacobian = equations.jacobian(theta)
        unidentified = _unidentified(jacobian, names)
        if unidentified is not None:
            return Solution(theta, jacobian, "not identified", (unidentified,))
        root = _root(equations, theta)
        if root is None:
            return Solution(theta, jacobian, "not solved", (note("fit stuck"),))
        moved, is_root = root
        step, theta = np.abs(moved - theta).max(), moved
        if is_root and step <= SMALL_STEP * (1 + np.abs(theta).max()):
            jacobian = equations.jacobian(theta)
            saddle = () if _is_minimum(jacobian) else (note("fit is a saddle"),)
            return Solution(theta, jacobian, "solved", saddle)
    failed = note("fit not converged", steps=rough.nit, message=rough.message, rounds=MOST_ROUNDS)
    return Solution(theta, equations.jacobian(theta), "not solved", (failed,))


def _root(equations: AbstractEquations, theta_y: Vector) -> tuple[Vector, bool] | None:
    """The root with theta_y held on the y-side, starting there, and whether it is one.

    None where a parameter does not change the equation to first order. With the y-side held fixed
    the equation is a fixed number of Stein's identities: flat densities, whose scores are 0 on both
    sides, do not solve it.
    """
    from scipy.optimize import least_squares

    latest: dict[bytes, tuple[Vector, Matrix]] = {}  # value and derivative, which come together

    def at(theta: Vector) -> tuple[Vector, Matrix]:
        key = theta.tobytes()
        if key not in latest:
            latest.clear()
            latest[key] = equations.equation(theta, theta_y)
        return latest[key]

    curvature = np.abs(np.diagonal(at(theta_y)[1]))
    if not curvature.all():
        return None
    scale = 1 / np.sqrt(curvature)
    search = least_squares(
        lambda theta: at(theta)[0] * scale,
        theta_y,
        jac=lambda theta: at(theta)[1] * scale[:, None],  # pyright: ignore[reportArgumentType]
        x_scale=scale,
        xtol=SMALL_STEP / 10,
        ftol=None,  # pyright: ignore[reportArgumentType]
        gtol=None,  # pyright: ignore[reportArgumentType]
        max_nfev=MOST_EVALUATIONS,
    )
    error = np.linalg.solve(search.jac, search.fun)
    return search.x, bool(np.abs(error).max() <= SMALL_STEP * (1 + np.abs(search.x).max()))


def _unidentified(jacobian: Matrix, names: tuple[str, ...]) -> Note | None:
    """What the draws do not determine; None where all parameters are identified."""
    largest = np.abs(jacobian).max()
    if not np.isfinite(largest):
        return note("fit overflows")
    own = np.sqrt(np.abs(np.diagonal(jacobian)))
    without_effect = [
        name
        for name, curvature in zip(names, own, strict=True)
        if curvature**2 <= SINGULAR**2 * largest
    ]
    if without_effect:
        return note("parameters without effect", names=", ".join(without_effect[:MOST_NAMED]))
    _, values, vectors = np.linalg.svd(jacobian / np.outer(own, own))
    if values[-1] > SINGULAR * values[0]:
        return None
    entries = np.abs(vectors[-1])
    together = [name for name, entry in zip(names, entries, strict=True) if entry > SMALL_ENTRY]
    return note("parameters only together", names=", ".join(together[:MOST_NAMED]))


def _is_minimum(jacobian: Matrix) -> bool:
    own = np.sqrt(np.abs(np.diagonal(jacobian)))
    scaled = jacobian / np.outer(own, own)
    return bool(np.linalg.eigvalsh((scaled + scaled.T) / 2)[0] > 0)


class Covariance(NamedTuple):
    """The covariance of an estimate, and the number of batches behind it."""

    matrix: Matrix
    n_batches: int


def covariance(problem: EstimationProblem, solution: Solution) -> Covariance | None:
    """The covariance of a root; None where the draws make too few batches."""
    contributions = problem.equations.contributions(solution.theta)
    batches = problem.batches
    if batches is None:
        plan = plan_for_error(
            problem.samples,
            lambda first, rows, _: contributions[first : first + len(rows)],
            most=MEAN_BATCHES,
        )
        if plan is None:
            return None
        batches = plan.batches
    return Covariance(_sandwich(contributions, solution.jacobian, batches), batches.count)


def _sandwich(
    contributions: Float[np.ndarray, "n p"], jacobian: Matrix, batches: Batches
) -> Matrix:
    """M^-1 S M^-T, with S the covariance of the mean contribution, from batch sums."""
    n = len(contributions)
    sums = batches.sums(contributions - contributions.mean(axis=0))
    spread = sums.T @ sums / n**2 * batches.count / (batches.count - 1)
    inverse = np.linalg.inv(jacobian)
    return inverse @ spread @ inverse.T
