"""KCC-SD's equations: y comes from a stand-in for q(x_j | x_-j) that other draws taught."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.memory import chunks
from steinwise._internal.run_options import RunOptions
from steinwise.conditionals.base import AbstractFittedConditional
from steinwise.draws.samples import Samples
from steinwise.functional import kccsd_contributions
from steinwise.kernels import AbstractKernel
from steinwise.kernels.per_coordinate import one_per_coordinate
from steinwise.methods.kccsd import KCCSD
from steinwise.optimise.equations import AbstractEquations, EstimationProblem
from steinwise.optimise.model import Matrix, Model, Vector, evaluate_rows, per_row


def conditional_problem(
    method: KCCSD, model: Model, samples: Samples, run: RunOptions
) -> EstimationProblem:
    """The equations of KCC-SD on the draws that the conditional was not learned from."""
    fitted = next(iter(method.prepare(samples, None, run)))  # no target: the draws' conditionals
    x = fitted.samples.rows
    assert isinstance(fitted.kernel, AbstractKernel)
    kernel = fitted.kernel.resolve(x / fitted.scale, run.seed, per_coordinate=True)
    equations = ConditionalEquations(model, kernel, fitted.scale, fitted.conditional, x, run)
    return EstimationProblem(equations, fitted.samples, None, fitted.notes())


@dataclass(frozen=True, eq=False)
class ConditionalEquations(AbstractEquations):
    """Means over draws x and atoms y of the stand-in, summed over coordinates."""

    model: Model
    kernel: AbstractKernel  # on one coordinate; parameters may differ by coordinate
    scale: Float[np.ndarray, " d"]  # that coordinates are divided by, for the kernel
    conditional: AbstractFittedConditional
    x: Float[np.ndarray, "n d"]
    run: RunOptions

    def objective(self, theta: Vector) -> tuple[float, Vector]:
        """With atoms of r in both places: the discrepancy of r from the model."""
        mean = self._mean(_atoms_form, theta)
        return float(mean[0]), mean[1:]

    def objective_hessian(self, theta: Vector) -> Matrix:
        return self._mean(_atoms_hessian, theta)

    def equation(self, theta: Vector, theta_y: Vector) -> tuple[Vector, Matrix]:
        mean = self._mean(_equation_and_derivative, theta, theta_y)
        return mean[0], mean[1:].T

    def jacobian(self, theta: Vector) -> Matrix:
        return self._mean(_jacobian, theta)

    def contributions(self, theta: Vector) -> Float[np.ndarray, "n p"]:
        return np.concatenate(list(self._by_chunk(_equation, theta, theta)))

    def discrepancy(self, theta: Vector) -> float:
        return float(self._mean(_stein_contribution, theta)[0])

    def _mean(self, function: Callable, theta: Vector, *shared: Vector) -> np.ndarray:
        by_chunk = self._by_chunk(function, theta, *shared)
        return np.sum([rows.sum(axis=0) for rows in by_chunk], axis=0) / len(self.x)

    def _by_chunk(self, function: Callable, theta: Vector, *shared: Vector) -> Iterator[np.ndarray]:
        """The function of every row, chunk by chunk: the atoms never exist all at once."""
        for chunk in chunks(len(self.x), self.conditional.rows_per_call(self.x.shape[1])):
            x = self.x[chunk]
            atoms = self.conditional.atoms(x.copy(), self.run.seed, chunk.start)
            yield evaluate_rows(
                function,
                self.model,
                theta,
                x,
                atoms.points,
                atoms.weights,
                memory=self.run.memory,
                shared=(*shared, self.kernel, self.scale),
                points_per_row=atoms.points[0].size,
            )


# -- functions of one draw x (d), with atoms y (d, m) of weights w (d, m), and scales s (d) --------


def _kernel_parts(kernels: AbstractKernel, x: Array, y: Array) -> Any:
    """The kernel of every coordinate, between x_j and its atoms, with derivatives (d, m)."""

    def at(kernel: AbstractKernel, x: Array, y: Array) -> Any:
        return jax.tree.map(jnp.squeeze, kernel.parts(x[None], y[None]))

    return jax.vmap(jax.vmap(at, in_axes=(None, None, 0)))(kernels, x, y)


def _g(model: Model, theta: Array, theta_y: Array, kernel, s, x, y, w) -> Array:
    k = _kernel_parts(one_per_coordinate(kernel, len(x)), x / s, y / s[:, None])
    score = model.score(theta, x) * s
    vectors = w * (score[:, None] * k.value + k.dx) * s[:, None]
    return jax.grad(lambda t: jnp.vdot(vectors, model.line_scores(t, x, y)))(theta_y)


_equation = per_row(3)(_g)


@per_row(3)
def _equation_and_derivative(model: Model, theta, theta_y, kernel, s, x, y, w) -> Array:
    def twice(theta: Array) -> tuple[Array, Array]:
        value = _g(model, theta, theta_y, kernel, s, x, y, w)
        return value, value

    derivative, value = jax.jacfwd(twice, has_aux=True)(theta)
    return jnp.concatenate([value[None], derivative.T])


@per_row(3)
def _jacobian(model: Model, theta, kernel, s, x, y, w) -> Array:
    return jax.jacfwd(lambda t: _g(model, t, t, kernel, s, x, y, w))(theta)


def _atoms_discrepancy(model: Model, kernel, s, x, y, w) -> Callable[[Array], Array]:
    """sum_j of the mean of k_cc over two atoms of r_j, as a function of theta."""
    kernels = one_per_coordinate(kernel, len(x))

    def line(kernel: AbstractKernel, y: Array, b: Array, w: Array) -> Array:
        return kernel.stein_norm(y[:, None], b[:, None], w)

    def total(theta: Array) -> Array:
        scores = model.line_scores(theta, x, y) * s[:, None]
        return jnp.sum(jax.vmap(line)(kernels, y / s[:, None], scores, w))

    return total


@per_row(3)
def _atoms_form(model: Model, theta, kernel, s, x, y, w) -> Array:
    value, slope = jax.value_and_grad(_atoms_discrepancy(model, kernel, s, x, y, w))(theta)
    return jnp.concatenate([value[None], slope])


@per_row(3)
def _atoms_hessian(model: Model, theta, kernel, s, x, y, w) -> Array:
    return jax.hessian(_atoms_discrepancy(model, kernel, s, x, y, w))(theta)


@per_row(3)
def _stein_contribution(model: Model, theta, kernel, s, x, y, w) -> Array:
    score, atom_scores = model.score(theta, x) * s, model.line_scores(theta, x, y) * s[:, None]
    rows = x / s, score, y / s[:, None], atom_scores, w
    return jnp.sum(kccsd_contributions(kernel, *(row[None] for row in rows)))[None]
