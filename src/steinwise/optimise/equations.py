r"""Equations whose root is the parameter of the nearest model.

With scores b_theta the squared KSD is a quadratic form in the scores of both draws of a pair, and
half of its gradient is the mean over pairs of

.. math:: g(x, y) = \partial_\theta b_\theta(y)^\top \{ b_\theta(x) k(x, y) + \nabla_x k(x, y) \}

The y-side is only a weight: for *any* distribution of y, the mean over x from p_theta is 0 by
Stein's identity. That is why KCC-SD's stand-in r may take the place of y, coordinate by coordinate,
without moving the root: E g = 0 at the right parameter whatever r is, and r only decides the
precision. Minimising the mean of k_cc over x from q and y from r instead would not work: it has no
lower bound, and a stationary point halfway between q and r.
"""

import abc
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.notes import Note
from steinwise.calibration.batches import Batches
from steinwise.draws.samples import Samples
from steinwise.optimise.model import Matrix, Vector


class AbstractEquations(abc.ABC):
    """An objective that leads to a start, and the equations whose root is the estimate."""

    @abc.abstractmethod
    def objective(self, theta: Vector) -> tuple[float, Vector]:
        """A discrepancy that is never negative, and its gradient."""

    @abc.abstractmethod
    def objective_hessian(self, theta: Vector) -> Matrix:
        """The second derivative of the objective."""

    @abc.abstractmethod
    def equation(self, theta: Vector, theta_y: Vector) -> tuple[Vector, Matrix]:
        """The mean of g without bias, with theta_y on its y-side; and its derivative in theta."""

    @abc.abstractmethod
    def jacobian(self, theta: Vector) -> Matrix:
        """The derivative of the equation where both sides have the same parameters."""

    @abc.abstractmethod
    def contributions(self, theta: Vector) -> Float[np.ndarray, "n p"]:
        """What every draw contributes to the equation, to first order."""

    @abc.abstractmethod
    def discrepancy(self, theta: Vector) -> float:
        """The squared discrepancy; an unbiased estimate can be negative near 0."""


class EstimationProblem(NamedTuple):
    """Equations to solve, with the draws that they average over."""

    equations: AbstractEquations
    samples: Samples
    batches: Batches | None  # for standard errors, where the equations already needed some
    notes: tuple[Note, ...]
