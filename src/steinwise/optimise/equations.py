r"""Equations whose root is the parameter of the nearest model.

With scores b_theta the squared KSD is a quadratic form in the scores of both draws of a pair, and
half of its gradient is the mean over pairs of

.. math:: g(x, y) = \partial_\theta b_\theta(y)^\top \{ b_\theta(x) k(x, y) + \nabla_x k(x, y) \}

The y-side is a weight: for *any* law of y, the mean over x from p_theta is 0 by Stein's identity.
That is why KCC-SD's stand-in r may take the place of y, coordinate by coordinate, without moving
the root: E g = 0 at the right parameter whatever r is, and r decides the precision only.
Minimising the mean of k_cc over x from q and y from r instead would have no lower bound, and a
stationary point halfway between q and r.
"""

import abc
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.compiled import precision
from steinwise._internal.memory import chunks
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import Batches
from steinwise.conditionals import AbstractConditional
from steinwise.functional import kccsd_contributions
from steinwise.kernels import AbstractKernel
from steinwise.kernels.per_coordinate import one_per_coordinate
from steinwise.kernels.precision import in_precision_of
from steinwise.target.derivatives import along_coordinate, gradient
from steinwise.target.differentiation import DifferentiationPlan

LARGEST_TILE, ROWS_PER_CALL = 512, 256

Vector = Float[np.ndarray, " p"]
Matrix = Float[np.ndarray, "p p"]


@dataclass(frozen=True)
class Model:
    """log_density(theta, x) with theta as a vector; equal to another of the same function."""

    log_density: Callable[[Any, Array], Array]
    structure: Any  # of theta as the user has it
    shapes: tuple[tuple[int, ...], ...]

    def tree(self, vector: Any) -> Any:
        """The vector in the user's form."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = jnp.split(vector, ends) if isinstance(vector, jax.Array) else np.split(vector, ends)
        leaves = [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]
        return jax.tree.unflatten(self.structure, leaves)

    def __call__(self, vector: Array, x: Array) -> Array:
        return self.log_density(self.tree(vector), x)

    def score(self, mode: str, vector: Array, x: Float[Array, " d"]) -> Float[Array, " d"]:
        return gradient(functools.partial(self, vector), mode)(x)


class AbstractEquations(abc.ABC):
    """An objective to start with, and the equations whose root is the estimate."""

    @abc.abstractmethod
    def objective(self, theta: Vector) -> tuple[float, Vector]:
        """A discrepancy that is never negative, and its gradient."""

    @abc.abstractmethod
    def curvature(self, theta: Vector) -> Matrix:
        """The second derivative of the objective."""

    @abc.abstractmethod
    def equation(self, theta: Vector, weights: Vector) -> tuple[Vector, Matrix]:
        """The mean of g without bias, its y-side at other parameters; and its derivative."""

    @abc.abstractmethod
    def slope(self, theta: Vector) -> Matrix:
        """The derivative of the equation where both sides have the same parameters."""

    @abc.abstractmethod
    def rows(self, theta: Vector) -> Float[np.ndarray, "n p"]:
        """What every draw contributes to the equation, to first order."""

    @abc.abstractmethod
    def discrepancy(self, theta: Vector) -> float:
        """The squared discrepancy; an unbiased estimate can be negative near 0."""


@dataclass(frozen=True, eq=False)
class PairEquations(AbstractEquations):
    """KSD: y is another draw, in a batch that is neither x's own nor next to it."""

    model: Model
    plan: DifferentiationPlan
    kernel: AbstractKernel
    x: Float[np.ndarray, "n d"]
    batches: Batches
    memory: int
    _known: dict = field(default_factory=dict, repr=False)  # what does not depend on theta

    def objective(self, theta: Vector) -> tuple[float, Vector]:
        scores = self.scores(theta)
        value, pull = self._pairs(scores, every=True)
        pairs = len(self.x) ** 2
        return value / pairs, 2 * self._per_draw(theta, pull).sum(axis=0) / pairs

    def curvature(self, theta: Vector) -> Matrix:
        return 2 * self._slope_sums(theta, every=True) / len(self.x) ** 2

    def slope(self, theta: Vector) -> Matrix:
        return self._slope_sums(theta) / self.batches.pairs

    def equation(self, theta: Vector, weights: Vector) -> tuple[Vector, Matrix]:
        _, pull = self._pairs(self.scores(theta))
        value = self._per_draw(weights, pull).sum(axis=0)
        derivative = self._through_x(theta, weights)
        return value / self.batches.pairs, derivative / self.batches.pairs

    def _slope_sums(self, theta: Vector, every: bool = False) -> Matrix:
        _, pull = self._pairs(self.scores(theta), every)
        through_y = _over_rows(self, _pulled_curvature, theta, self.x, pull).sum(axis=0)
        return through_y + self._through_x(theta, theta, every)

    def _through_x(self, theta: Vector, weights: Vector, every: bool = False) -> Matrix:
        """The derivative of the sum of g in the parameters of its x-side."""
        columns = []
        for direction in np.eye(len(theta)):
            moved = self._times(self._tangent(theta, direction), every)
            columns.append(self._per_draw(weights, moved).sum(axis=0))
        return np.stack(columns, axis=1)

    def rows(self, theta: Vector) -> Float[np.ndarray, "n p"]:
        scores = self.scores(theta)
        as_second = self._per_draw(theta, self._pairs(scores)[1])
        as_first = [
            self._row_sums(scores, self._tangent(theta, direction))
            for direction in np.eye(len(theta))
        ]
        return (as_second + np.stack(as_first, axis=1)) * len(self.x) / self.batches.pairs

    def discrepancy(self, theta: Vector) -> float:
        return self._pairs(self.scores(theta))[0] / self.batches.pairs

    def scores(self, theta: Vector) -> Float[np.ndarray, "n d"]:
        return _over_rows(self, _scores, theta, self.x)

    def _tangent(self, theta: Vector, direction: Vector) -> Float[np.ndarray, "n d"]:
        return _over_rows(self, _tangents, theta, self.x, fixed=(direction,))

    def _per_draw(self, theta: Vector, pull: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n p"]:
        """The gradient in theta of <b_theta(x_l), pull_l>."""
        return _over_rows(self, _pulled, theta, self.x, pull)

    def _tiles(self, every: bool = False) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Pairs of slices and which of their pairs of draws count."""
        n = len(self.x)
        batch = np.repeat(np.arange(self.batches.count), self.batches.lengths)
        allowed = np.ones_like(self.batches.allowed) if every else self.batches.allowed
        side = int(np.clip(np.sqrt(self.memory / (8 * 16)), 1, min(LARGEST_TILE, n)))
        for one in chunks(n, side):
            for other in chunks(n, side):
                yield one, other, allowed[np.ix_(batch[one], batch[other])].astype(float)

    def _pairs(
        self, scores: Float[np.ndarray, "n d"], every: bool = False
    ) -> tuple[float, Float[np.ndarray, "n d"]]:
        """The sum of the Stein kernel over pairs, and half of its gradient in the scores.

        A quadratic form in the scores, whose constants are found once.
        """
        constant, slope = self._at_zero(every)
        pull = slope + self._times(scores, every)
        return constant + float(np.sum(scores * (slope + pull))), pull

    def _at_zero(self, every: bool) -> tuple[float, Float[np.ndarray, "n d"]]:
        """The form where all scores are 0, and half of its gradient there."""
        if ("zero", every) not in self._known:
            value, slope, zero = 0.0, np.zeros_like(self.x), np.zeros_like(self.x)
            with precision(self.plan.wide):
                for one, other, counts in self._tiles(every):
                    rows = self.x[one], self.x[other], zero[one], zero[other]
                    found, part = _tile(self.kernel, *rows, counts)
                    value += float(found)
                    slope[other] += np.asarray(part)
            self._known["zero", every] = value, slope
        return self._known["zero", every]

    def _times(self, scores: Float[np.ndarray, "n d"], every: bool = False) -> np.ndarray:
        """sum_i k(x_i, x_l) scores_i over the pairs that count."""
        out = np.zeros_like(scores)
        for one, other, gram in self._grams(every):
            out[other] += gram.T @ scores[one]
        return out

    def _grams(self, every: bool) -> Iterable[tuple[slice, slice, np.ndarray]]:
        """Tiles of the kernel, 0 for pairs that do not count; kept where the memory allows it."""
        if ("grams", every) in self._known:
            return self._known["grams", every]
        tiles = self._make_grams(every)
        if 4 * 8 * len(self.x) ** 2 > self.memory:
            return tiles
        self._known["grams", every] = list(tiles)
        return self._known["grams", every]

    def _make_grams(self, every: bool) -> Iterator[tuple[slice, slice, np.ndarray]]:
        for one, other, counts in self._tiles(every):
            with precision(self.plan.wide):
                gram = np.asarray(_kernel_tile(self.kernel, self.x[one], self.x[other]))
            yield one, other, counts * gram

    def _row_sums(self, scores: np.ndarray, tangent: np.ndarray) -> Float[np.ndarray, " n"]:
        """Of g in one direction of theta, over y."""
        out = np.zeros(len(scores))
        with precision(self.plan.wide):
            for one, other, counts in self._tiles():
                found = _tile_rows(
                    self.kernel, self.x[one], self.x[other], scores[one], tangent[other], counts
                )
                out[one] += np.asarray(found)
        return out


@dataclass(frozen=True, eq=False)
class ConditionalEquations(AbstractEquations):
    """KCC-SD: y from a stand-in for q(x_j | x_-j), learnt from other draws, one per coordinate."""

    model: Model
    plan: DifferentiationPlan
    kernel: AbstractKernel  # as one per coordinate
    conditional: AbstractConditional
    x: Float[np.ndarray, "n d"]
    run: RunOptions

    @property
    def memory(self) -> int:
        return self.run.memory

    def objective(self, theta: Vector) -> tuple[float, Vector]:
        """With atoms of r in both places: the discrepancy of r from the model."""
        found = self._mean(_stand_in_form, theta)
        return float(found[0]), found[1:]

    def curvature(self, theta: Vector) -> Matrix:
        return self._mean(_stand_in_curvature, theta)

    def equation(self, theta: Vector, weights: Vector) -> tuple[Vector, Matrix]:
        found = self._mean(_equation_and_derivative, theta, weights)
        return found[0], found[1:].T

    def slope(self, theta: Vector) -> Matrix:
        return self._mean(_slope, theta)

    def rows(self, theta: Vector) -> Float[np.ndarray, "n p"]:
        return np.concatenate(list(self._parts(_equation, theta, theta)))

    def discrepancy(self, theta: Vector) -> float:
        return float(self._mean(_contribution, theta)[0])

    def _mean(self, function: Callable, theta: Vector, *more: Vector) -> np.ndarray:
        parts = self._parts(function, theta, *more)
        return np.sum([part.sum(axis=0) for part in parts], axis=0) / len(self.x)

    def _parts(self, function: Callable, theta: Vector, *more: Vector) -> Iterator[np.ndarray]:
        """The function of every row, some rows at a time: their atoms never exist all at once."""
        for part in chunks(len(self.x), self.conditional.rows_per_call(self.x.shape[1])):
            x = self.x[part]
            atoms = self.conditional.atoms(x, self.run.seed, part.start)
            points, weights = atoms.points, atoms.weights
            fixed, points_per_row = (*more, self.kernel), points[0].size
            yield _over_rows(
                self, function, theta, x, points, weights, fixed=fixed, size=points_per_row
            )


def _over_rows(
    equations: Any,
    function: Callable,
    theta: Vector,
    *arrays: np.ndarray,
    fixed: tuple = (),
    size: int = 1,
) -> np.ndarray:
    """A compiled function of rows, in chunks of few shapes; `size` is evaluations per row."""
    n, d = arrays[0].shape
    room = equations.memory // (8 * 64 * d * size * len(theta))
    rows = int(np.clip(room, 1, min(ROWS_PER_CALL, 1 << (n - 1).bit_length())))
    pieces = []
    with precision(equations.plan.wide):
        for part in chunks(n, rows):
            padded = [np.resize(array[part], (rows, *array.shape[1:])) for array in arrays]
            found = function(equations.model, equations.plan, theta, *fixed, *padded)
            pieces.append(np.asarray(found, dtype=np.float64)[: part.stop - part.start])
    return np.concatenate(pieces)


def _per_row(count: int) -> Callable:
    """For a function of (model, plan, theta, ...) whose last `count` arguments have rows."""

    def wrap(function: Callable) -> Callable:
        @functools.partial(jax.jit, static_argnums=(0, 1))
        def compiled(
            model: Model, plan: DifferentiationPlan, theta: Array, *arguments: Any
        ) -> Array:
            fixed, rows = arguments[:-count], arguments[-count:]
            return jax.vmap(lambda *row: function(model, plan, theta, *fixed, *row))(*rows)

        return compiled

    return wrap


# -- functions of one draw, for pairs -------------------------------------------------------------


@_per_row(1)
def _scores(model: Model, plan: DifferentiationPlan, theta: Array, x: Array) -> Array:
    return model.score(plan.score, theta, x)


@_per_row(1)
def _tangents(
    model: Model, plan: DifferentiationPlan, theta: Array, direction: Array, x: Array
) -> Array:
    along = functools.partial(model.score, plan.score, x=x)
    return jax.jvp(along, (theta,), (direction,))[1]


def _pull(
    model: Model, plan: DifferentiationPlan, x: Array, pull: Array
) -> Callable[[Array], Array]:
    return jax.grad(lambda theta: jnp.dot(model.score(plan.score, theta, x), pull))


@_per_row(2)
def _pulled(model: Model, plan: DifferentiationPlan, theta: Array, x: Array, pull: Array) -> Array:
    return _pull(model, plan, x, pull)(theta)


@_per_row(2)
def _pulled_curvature(
    model: Model, plan: DifferentiationPlan, theta: Array, x: Array, pull: Array
) -> Array:
    return jax.jacfwd(_pull(model, plan, x, pull))(theta)


@jax.jit
def _tile(kernel, x, y, score_x, score_y, counts) -> tuple[Array, Array]:
    def total(score_y: Array) -> Array:
        gram = in_precision_of(x, kernel).stein_gram(x, y, score_x, score_y)
        return jnp.sum(counts * gram)

    return jax.value_and_grad(total)(score_y)


@jax.jit
def _kernel_tile(kernel, x, y) -> Array:
    return in_precision_of(x, kernel)(x, y)


@jax.jit
def _tile_rows(kernel, x, y, score_x, tangent_y, counts) -> Array:
    gram = functools.partial(in_precision_of(x, kernel).stein_gram, x, y, score_x)
    return jnp.sum(counts * (gram(tangent_y) - gram(jnp.zeros_like(tangent_y))), axis=1)


# -- functions of one draw and its atoms ----------------------------------------------------------


def _line_scores(
    model: Model,
    plan: DifferentiationPlan,
    theta: Array,
    x: Float[Array, " d"],
    y: Float[Array, "d m"],
) -> Float[Array, "d m"]:
    def at(j: Array, t: Array) -> Array:
        return along_coordinate(functools.partial(model, theta), plan.line, x, j, t)[1]

    return jax.vmap(jax.vmap(at, in_axes=(None, 0)))(jnp.arange(len(x)), y)


def _kernel_parts(kernels: AbstractKernel, x: Array, y: Array) -> Any:
    """The kernel of every coordinate, between x_j and its atoms, with derivatives (d, m)."""

    def at(kernel: AbstractKernel, x: Array, y: Array) -> Any:
        return jax.tree.map(jnp.squeeze, kernel.parts(x[None], y[None]))

    return jax.vmap(jax.vmap(at, in_axes=(None, None, 0)))(kernels, x, y)


def _g(model, plan, theta, weights, kernel, x, y, w) -> Array:
    k = _kernel_parts(one_per_coordinate(kernel, len(x)), x, y)
    score = model.score(plan.score, theta, x)
    pull = w * (score[:, None] * k.value + k.dx)
    return jax.grad(lambda t: jnp.vdot(pull, _line_scores(model, plan, t, x, y)))(weights)


_equation = _per_row(3)(_g)


@_per_row(3)
def _equation_and_derivative(model, plan, theta, weights, kernel, x, y, w) -> Array:
    def of(theta: Array) -> tuple[Array, Array]:
        found = _g(model, plan, theta, weights, kernel, x, y, w)
        return found, found

    derivative, found = jax.jacfwd(of, has_aux=True)(theta)
    return jnp.concatenate([found[None], derivative.T])


@_per_row(3)
def _slope(model, plan, theta, kernel, x, y, w) -> Array:
    return jax.jacfwd(lambda t: _g(model, plan, t, t, kernel, x, y, w))(theta)


def _stand_in(model, plan, kernel, x, y, w) -> Callable[[Array], Array]:
    """sum_j of the mean of k_cc over two atoms of r_j, as a function of theta."""
    kernels = one_per_coordinate(kernel, len(x))

    def line(kernel: AbstractKernel, y: Array, b: Array, w: Array) -> Array:
        return kernel.stein_norm(y[:, None], b[:, None], w)

    def total(theta: Array) -> Array:
        return jnp.sum(jax.vmap(line)(kernels, y, _line_scores(model, plan, theta, x, y), w))

    return total


@_per_row(3)
def _stand_in_form(model, plan, theta, kernel, x, y, w) -> Array:
    value, slope = jax.value_and_grad(_stand_in(model, plan, kernel, x, y, w))(theta)
    return jnp.concatenate([value[None], slope])


@_per_row(3)
def _stand_in_curvature(model, plan, theta, kernel, x, y, w) -> Array:
    return jax.hessian(_stand_in(model, plan, kernel, x, y, w))(theta)


@_per_row(3)
def _contribution(model, plan, theta, kernel, x, y, w) -> Array:
    score, along = model.score(plan.score, theta, x), _line_scores(model, plan, theta, x, y)
    every = kccsd_contributions(kernel, x[None], score[None], y[None], along[None], w[None])
    return jnp.sum(every)[None]
