"""A target from a JAX log density: derivatives along single lines, not full gradients."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Array

from steinwise._internal.compiled import call_in_chunks, rows_of
from steinwise.errors import InputError
from steinwise.target.base import DEFAULT_MEMORY, AbstractTarget, require_finite
from steinwise.target.differentiation import DifferentiationPlan, check_lines, plan_differentiation
from steinwise.target.host import HostTarget
from steinwise.target.pointwise import compile_over_points, points_per_call


@dataclass(frozen=True, eq=False)
class Target(AbstractTarget):
    """A density given by a JAX-traceable log density, known up to a constant.

    Parameters
    ----------
    log_density
        ``x`` of shape (d,) to a scalar.
    lines
        ``lines(x, j, y)``: the conditional score, if the model has a cheaper one than a derivative
        of `log_density`. For a coordinate, `j` is an integer, `y` a scalar and the result
        d log p / d x_j at x with x_j replaced by y. For a block, `j` and `y` are vectors of the
        same length, and so is the result.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, steinwise as sw
    >>> target = sw.Target(lambda x: -0.5 * jnp.sum(x**2))
    >>> print(target.score(np.array([[1.0, -2.0]])))
    [[-1.  2.]]
    """

    log_density: Callable[[Array], Array]
    lines: Callable[..., Array] | None = None

    def __init__(
        self,
        log_density: Callable[[Array], Array],
        *,
        lines: Callable[..., Array] | None = None,
    ) -> None:
        for name, function in (("log_density", log_density), ("lines", lines)):
            if not callable(function) and not (name == "lines" and function is None):
                raise InputError(
                    f"{name} is of type {type(function).__name__}: expected a function. For a "
                    "Gaussian use sw.Gaussian(mean, covariance)."
                )
        object.__setattr__(self, "log_density", log_density)
        object.__setattr__(self, "lines", lines)
        object.__setattr__(self, "_plans", {})
        object.__setattr__(self, "_compiled", {})

    @staticmethod
    def from_score(
        score: Callable[[np.ndarray], np.ndarray],
        log_density: Callable[[np.ndarray], np.ndarray] | None = None,
        *,
        lines: Callable[..., np.ndarray] | None = None,
    ) -> AbstractTarget:
        """A target from a host function (n, d) -> (n, d), called in batches; no JAX needed.

        Parameters
        ----------
        score
            The gradient of log p, one row per draw, NumPy in and out.
        log_density
            Optional: (n, d) -> (n,), up to a constant.
        lines
            Optional: ``lines(x, j, y)`` with x (n, d) and y (n, m) to (n, m) for a coordinate;
            j of length b and y (n, m, b) to (n, m, b) for a block.
        """
        return HostTarget(score, log_density, lines)

    def prepare(self, d: int) -> str:
        return self._plan(d).dtype

    def score(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray:
        scores = self._at_points("score", x.shape[1], memory, len(x), rows_of(x))
        require_finite(scores, x, 0, np.arange(x.shape[1]), axis=1)
        return scores

    def log_values(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray:
        return self._at_points("value", x.shape[1], memory, len(x), rows_of(x))

    def line_scores(
        self,
        x: np.ndarray,
        coordinates: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
        first_row: int = 0,
    ) -> np.ndarray:
        index = np.asarray(coordinates, dtype=np.int32)
        scores = self._on_lines("line", x, y, index, memory)
        require_finite(scores, x, first_row, index, axis=1)
        return scores

    def line_values(
        self,
        x: np.ndarray,
        coordinates: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> tuple[np.ndarray | None, np.ndarray]:
        index = np.asarray(coordinates, dtype=np.int32)
        if self.lines is not None:
            return None, self._on_lines("line", x, y, index, memory)
        values_and_slopes = self._on_lines("line value", x, y, index, memory)
        return values_and_slopes[..., 0], values_and_slopes[..., 1]

    def direction_values(
        self,
        x: np.ndarray,
        directions: np.ndarray,
        steps: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> tuple[np.ndarray | None, np.ndarray]:
        values_and_slopes = self._on_lines("direction value", x, steps, directions, memory)
        return values_and_slopes[..., 0], values_and_slopes[..., 1]

    def block_scores(
        self,
        x: np.ndarray,
        block: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
        first_row: int = 0,
    ) -> np.ndarray:
        plan = self._plan(x.shape[1])
        if self.lines is not None:
            check_lines(self.lines, x.shape[1], plan, len(block))
        index = np.asarray(block, dtype=np.int32)
        flat = y.reshape(-1, len(index))

        def points(i: np.ndarray) -> tuple[np.ndarray, ...]:
            return x[i // y.shape[1]], np.broadcast_to(index, (len(i), len(index))), flat[i]

        scores = self._at_points("block", x.shape[1], memory, len(flat), points).reshape(y.shape)
        require_finite(scores, x, first_row, index, axis=2)
        return scores

    def _on_lines(
        self, kind: str, x: np.ndarray, y: np.ndarray, lines: np.ndarray, memory: int
    ) -> np.ndarray:
        """A function at points y (row, line, point) of lines through the rows of x."""
        flat = y.reshape(-1)
        lines_per_row, points_per_line = y.shape[1], y.shape[2]

        def points(i: np.ndarray) -> tuple[np.ndarray, ...]:
            line = i // points_per_line
            return x[line // lines_per_row], lines[line % lines_per_row], flat[i]

        results = self._at_points(kind, x.shape[1], memory, y.size, points)
        return results.reshape(*y.shape, *results.shape[1:])

    def _at_points(
        self,
        kind: str,
        d: int,
        memory: int,
        count: int,
        points: Callable[[np.ndarray], tuple[np.ndarray | None, ...]],
    ) -> np.ndarray:
        """A function at points; `points(i)` gives the arguments of those numbered i, a row each."""
        plan = self._plan(d)
        function = self._compile(kind, plan)
        size = points_per_call(count, d, memory)
        results = call_in_chunks(function, points, count, size, wide=plan.wide)
        return results.astype(np.float64, copy=False)

    def _compile(self, kind: str, plan: DifferentiationPlan) -> Callable[..., Array]:
        cache: dict = self._compiled  # type: ignore[attr-defined]
        key = (kind, plan)
        if key not in cache:
            cache[key] = compile_over_points(kind, plan, self.log_density, self.lines)
        return cache[key]

    def _plan(self, d: int) -> DifferentiationPlan:
        plans: dict[int, DifferentiationPlan] = self._plans  # type: ignore[attr-defined]
        if d not in plans:
            plan = plan_differentiation(self.log_density, d)
            if self.lines is not None:
                check_lines(self.lines, d, plan)
            plans[d] = plan
        return plans[d]
