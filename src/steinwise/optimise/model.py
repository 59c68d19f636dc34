"""A model with parameters: log_density(theta, x), with theta as one vector."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.compiled import call_in_chunks, precision, rows_of
from steinwise._internal.validation import as_numbers
from steinwise.errors import InputError, TargetError
from steinwise.target.derivatives import along_coordinate, gradient
from steinwise.target.differentiation import DifferentiationPlan, plan_differentiation
from steinwise.target.indexing import require_indices_inside

ROWS_PER_CALL = 256  # of a compiled call; more use more memory without being faster
NUMBERS_PER_ENTRY = 64  # kept per coordinate and parameter: a generous guess for two derivatives

Vector = Float[np.ndarray, " p"]
Matrix = Float[np.ndarray, "p p"]


@dataclass(frozen=True)
class ParameterLayout:
    """How a vector of parameters is laid out in the user's number, array or pytree."""

    structure: Any  # the tree definition of theta0
    shapes: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]  # one per number

    @classmethod
    def of(cls, theta0: Any) -> tuple["ParameterLayout", Vector]:
        """The layout of theta0, and theta0 as a vector.

        >>> layout, vector = ParameterLayout.of({"mean": np.zeros(2), "scale": 1.0})
        >>> layout.names, vector.tolist()
        (('mean[0]', 'mean[1]', 'scale'), [0.0, 0.0, 1.0])
        """
        paths, structure = jax.tree_util.tree_flatten_with_path(theta0)
        leaves, names = [], []
        for path, leaf in paths:
            array = as_numbers(leaf)
            if array is None:
                raise InputError(f"theta0 has {leaf!r} in it: expected numbers or arrays.")
            name = jax.tree_util.keystr(path, simple=True, separator=".") or "theta"
            index = [""] if array.ndim == 0 else [str(list(i)) for i in np.ndindex(array.shape)]
            names += [name + position for position in index]
            leaves.append(array)
        vector = np.concatenate([leaf.ravel() for leaf in leaves]) if leaves else np.empty(0)
        if not vector.size or not np.isfinite(vector).all():
            raise InputError(
                f"theta0 is {theta0!r}: expected at least one number, all of them finite."
            )
        return cls(structure, tuple(leaf.shape for leaf in leaves), tuple(names)), vector

    def tree(self, vector: Any) -> Any:
        """The vector in the user's form."""
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        split = jnp.split if isinstance(vector, jax.Array) else np.split
        pieces = split(vector, ends)
        leaves = [piece.reshape(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]
        return jax.tree.unflatten(self.structure, leaves)


@dataclass(frozen=True, eq=False)
class Model:
    """A log density with parameters, how it can be differentiated, and what was compiled of it.

    A function may read from outside what changes between two fits, so each fit compiles it anew.
    Only a function that went through `jax.jit`, which fixes what it reads, is compiled once.
    """

    log_density: Callable[[Any, Array], Array]
    layout: ParameterLayout
    plan: DifferentiationPlan
    compiled: dict[Callable, Callable]  # the functions of `per_row`

    @classmethod
    def of(
        cls,
        log_density: Callable[[Any, Array], Array],
        layout: ParameterLayout,
        start: Vector,
        d: int,
    ) -> "Model":
        """The model, after a test that it can be differentiated in theta as well as in x."""
        if not callable(log_density):
            raise InputError(
                f"log_density is of type {type(log_density).__name__}: expected a function of "
                "(theta, x)."
            )

        def at_start(x: Array) -> Array:
            return log_density(layout.tree(jnp.asarray(start, x.dtype)), x)

        plan = plan_differentiation(at_start, d)
        fixed = isinstance(log_density, jax.stages.Wrapped)
        compiled = _compiled_before(log_density, layout, plan) if fixed else {}
        model = cls(log_density, layout, plan, compiled)
        model._require_derivatives(len(start), d)
        return model

    def _require_derivatives(self, parameters: int, d: int) -> None:
        def curvature(theta: Array, x: Array) -> Array:
            return jax.jacfwd(jax.grad(lambda t: self.score(t, x).sum()))(theta)

        number = np.float64 if self.plan.wide else np.float32
        with precision(self.plan.wide):
            try:
                arguments = [jax.ShapeDtypeStruct((size,), number) for size in (parameters, d)]
                jax.eval_shape(curvature, *arguments)
            except Exception as error:
                raise TargetError(
                    "the log density cannot be differentiated twice in theta and once in x: "
                    f"{(str(error).splitlines() or [''])[0]} Does it use a while_loop, or NumPy "
                    "instead of jax.numpy?"
                ) from error

    def try_draw(self, theta: Vector, draw: Float[np.ndarray, " d"]) -> None:
        """Raise what shows only when the density is evaluated at a draw."""

        def at_theta(x: Array) -> Array:
            return self(jnp.asarray(theta, x.dtype), x)

        require_indices_inside(at_theta, draw, self.plan.wide)

    def __call__(self, theta: Array, x: Array) -> Array:
        return self.log_density(self.layout.tree(theta), x)

    def score(self, theta: Array, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """The gradient in x."""
        return gradient(functools.partial(self, theta), self.plan.score)(x)

    def line_scores(
        self, theta: Array, x: Float[Array, " d"], y: Float[Array, "d m"]
    ) -> Float[Array, "d m"]:
        """b_j at x with x_j replaced by y_jk, for every coordinate j and point k."""

        def at(j: Array, t: Array) -> Array:
            return along_coordinate(functools.partial(self, theta), self.plan.line, x, j, t)[1]

        return jax.vmap(jax.vmap(at, in_axes=(None, 0)))(jnp.arange(len(x)), y)


@functools.lru_cache(maxsize=16)
def _compiled_before(*_of_model: Any) -> dict[Callable, Callable]:
    return {}


def per_row(count: int) -> Callable:
    """Compile a function of (model, theta, ...) over rows of its last `count` arguments."""

    def wrap(function: Callable) -> Callable:
        def over_rows(model: Model, theta: Array, *arguments: Any) -> Array:
            shared, rows = arguments[:-count], arguments[-count:]
            return jax.vmap(lambda *row: function(model, theta, *shared, *row))(*rows)

        def call(model: Model, theta: Array, *arguments: Any) -> Array:
            if function not in model.compiled:
                model.compiled[function] = jax.jit(functools.partial(over_rows, model))
            return model.compiled[function](theta, *arguments)

        return call

    return wrap


def evaluate_rows(
    function: Callable,
    model: Model,
    theta: Vector,
    *arrays: np.ndarray,
    memory: int,
    shared: tuple = (),
    points_per_row: int = 1,
) -> np.ndarray:
    """A `per_row` function of all rows of the arrays, within a memory budget.

    `shared` are arguments without rows; each row evaluates the density at `points_per_row` points.
    """
    n, d = arrays[0].shape
    bytes_per_row = 8 * NUMBERS_PER_ENTRY * d * points_per_row * len(theta)
    size = int(np.clip(memory // bytes_per_row, 1, min(ROWS_PER_CALL, 1 << (n - 1).bit_length())))
    bound = functools.partial(function, model, theta, *shared)
    out = call_in_chunks(bound, rows_of(*arrays), n, size, wide=model.plan.wide)
    return out.astype(np.float64)


def model_scores(
    model: Model, theta: Vector, x: Float[np.ndarray, "n d"], memory: int
) -> Float[np.ndarray, "n d"]:
    """b_theta(x_i), one row per draw."""
    return evaluate_rows(_scores, model, theta, x, memory=memory)


@per_row(1)
def _scores(model: Model, theta: Array, x: Array) -> Array:
    return model.score(theta, x)
