"""A JAX log density at many points and along many lines, compiled at its first use."""

from collections.abc import Callable
from functools import partial

import numpy as np
from jaxtyping import Array

from steinwise._internal.compiled import precision, rows_of
from steinwise.errors import TargetError
from steinwise.target.base import DEFAULT_MEMORY, LineSeries
from steinwise.target.differentiation import (
    DifferentiationPlan,
    check_conditionals,
    check_lines,
    plan_differentiation,
)
from steinwise.target.pointwise import (
    POINTS_PER_BATCH,
    POINTS_PER_CALL,
    POINTS_PER_SMALL_BATCH,
    POINTS_PER_STEP,
    call_over_points,
    compile_over_points,
    points_per_call,
)
from steinwise.target.series import SeriesPlan, plan_series

DIRECTION, DIRECTION_LEVEL = "direction value", "direction level"  # kinds of `compile_over_points`


class JaxDensity:
    """The functions of a `Target`, with what was found out about them and compiled from them.

    All of that is kept for each number of coordinates, so that it is done once.
    """

    def __init__(
        self, log_density: Callable, lines: Callable | None, conditionals: Callable | None
    ) -> None:
        self._log_density, self._lines, self._conditionals = log_density, lines, conditionals
        self._plans: dict[int, DifferentiationPlan] = {}
        self._functions: dict[tuple[str, DifferentiationPlan], Callable[..., Array]] = {}
        self._series: dict[tuple[int, int], SeriesPlan | None] = {}  # by dimension and order

    def plan(self, d: int) -> DifferentiationPlan:
        """How the density is differentiated in d dimensions; an error if it does not work there."""
        if d not in self._plans:
            plan = plan_differentiation(self._log_density, d)
            if self._lines is not None:
                check_lines(self._lines, d, plan)
            if self._conditionals is not None:
                check_conditionals(self._conditionals, d, plan)
            self._plans[d] = plan
        return self._plans[d]

    def require_derivative(self, d: int) -> DifferentiationPlan:
        """The plan, if it has derivatives."""
        plan = self.plan(d)
        if plan.no_derivative:
            raise TargetError(plan.no_derivative)
        return plan

    def values_and_scores(self, x: np.ndarray, memory: int) -> tuple[np.ndarray, np.ndarray]:
        """log p and its gradient, whether they are finite or not."""
        sizes = POINTS_PER_STEP, POINTS_PER_SMALL_BATCH
        both = self.at_points("value and score", x.shape[1], memory, len(x), rows_of(x), sizes)
        return both[:, 0], both[:, 1:]

    def along_coordinates(
        self, x: np.ndarray, coordinates: np.ndarray, y: np.ndarray, memory: int
    ) -> np.ndarray:
        """log p and its slope, side by side, with each coordinate replaced by its y.

        Where lines leave what LAPACK computes as it is, that is computed once per line.
        """
        plan = self._known_series(x.shape[1])
        lines = np.broadcast_to(coordinates, y.shape[:2])
        shared = np.zeros(lines.shape, bool) if plan is None else ~plan.moves_lapack[lines]
        if plan is None or not plan.uses_lapack or not shared.any():
            return self.on_lines(DIRECTION, x, y, coordinates, memory)
        found = np.empty((*y.shape, 2))
        row, column = np.nonzero(shared)
        j = lines[row, column]
        steps = y[row, column] - x[row, j][:, None]
        found[row, column] = plan.values_and_slopes(x[row], j, steps)
        if not shared.all():
            row, column = np.nonzero(~shared)
            given = x[row], y[row, column][:, None], lines[row, column][:, None]
            found[row, column] = self.on_lines(DIRECTION, *given, memory)[:, 0]
        return found

    def line_series(
        self, x: np.ndarray, directions: np.ndarray, order: int, most_evaluations: float
    ) -> LineSeries | None:
        """log p along lines as Taylor series around the draws; see `AbstractTarget.line_series`."""
        n, d = x.shape
        plan = self._series_plan(d, order)
        if plan is None or (directions.ndim == 2 and not plan.supported.all()):
            return None
        count = len(directions)
        cost = plan.direction_cost(count) if directions.ndim == 2 else plan.cost * count / d
        if cost > most_evaluations * count:
            return None
        if directions.ndim == 2:
            point_by_point = partial(self._values_along, plan, x, directions)

            def direction_values(rows: np.ndarray, steps: np.ndarray) -> np.ndarray:
                return plan.direction_values(x[rows], directions, steps)

            return LineSeries(
                plan.direction_series(x, directions),
                cost * n,
                point_by_point if plan.uses_lapack else direction_values,
            )

        def values(rows: np.ndarray, steps: np.ndarray) -> np.ndarray:
            alone = plan.moves_lapack[directions]
            found = np.empty(steps.shape)
            if alone.any():
                lines = directions[alone]
                found[:, alone] = self._values_along(plan, x, lines, rows, steps[:, alone])
            if not alone.all():
                everywhere = np.zeros((len(rows), d, steps.shape[2]))
                everywhere[:, directions] = steps
                together = plan.coordinate_values(x[rows], everywhere)[:, directions]
                found[:, ~alone] = together[:, ~alone]
            return found

        return LineSeries(plan.coordinate_series(x)[:, directions], cost * n, values)

    def _values_along(
        self,
        plan: SeriesPlan,
        x: np.ndarray,
        lines: np.ndarray,
        rows: np.ndarray,
        steps: np.ndarray,
    ) -> np.ndarray:
        """log p at steps along lines through some rows, point by point.

        Where a pass is small, with slopes that nobody asked for: nodes need that function anyway,
        and another one would take longer to compile.
        """
        points = steps
        if lines.ndim == 1:
            lines = np.asarray(lines, dtype=np.int32)
            points = x[rows][:, lines, None] + steps
        if plan.one_pass:
            return self.on_lines(DIRECTION, x[rows], points, lines, DEFAULT_MEMORY)[..., 0]
        return self.on_lines(DIRECTION_LEVEL, x[rows], points, lines, DEFAULT_MEMORY)

    def _series_plan(self, d: int, order: int) -> SeriesPlan | None:
        """The series along lines; None with conditional scores of the user's own, or in 32 bit."""
        plan = self.plan(d)
        if self._lines is not None or not plan.wide or plan.no_derivative:
            return None
        if (d, order) not in self._series:
            with precision():
                self._series[d, order] = plan_series(self._log_density, d, order)
        return self._series[d, order]

    def _known_series(self, d: int) -> SeriesPlan | None:
        """A plan of series that was made before, which knows what each line leaves as it is."""
        return next((plan for key, plan in self._series.items() if key[0] == d), None)

    def on_lines(
        self, kind: str, x: np.ndarray, y: np.ndarray, lines: np.ndarray, memory: int
    ) -> np.ndarray:
        """A function at points y (row, line, point) of lines through the rows of x.

        `lines` holds the line of each column of y, or that of each row and column.
        """
        flat = y.reshape(-1)
        lines_per_row, points_per_line = y.shape[1], y.shape[2]
        along_coordinates = np.issubdtype(lines.dtype, np.integer)
        by_row = lines.shape[:2] == y.shape[:2] and lines.ndim == (2 if along_coordinates else 3)
        each = lines.reshape(-1, *lines.shape[2:]) if by_row else lines

        def points(i: np.ndarray) -> tuple[np.ndarray, ...]:
            line = i // points_per_line
            point = x[line // lines_per_row], each[line % len(each)], flat[i]
            as_direction = along_coordinates and kind in (DIRECTION, DIRECTION_LEVEL)
            return _at_coordinates(*point) if as_direction else point

        results = self.at_points(kind, x.shape[1], memory, y.size, points)
        return results.reshape(*y.shape, *results.shape[1:])

    def at_points(
        self,
        kind: str,
        d: int,
        memory: int,
        count: int,
        points: Callable[[np.ndarray], tuple[np.ndarray, ...]],
        sizes: tuple[int, int] = (POINTS_PER_CALL, POINTS_PER_BATCH),
    ) -> np.ndarray:
        """A function at points; `points(i)` gives the arguments of those numbered i, a row each.

        Its kinds are those of `compile_over_points`.
        """
        plan = self.plan(d)
        if (kind, plan) not in self._functions:
            functions = self._log_density, self._lines, self._conditionals
            self._functions[kind, plan] = compile_over_points(kind, plan, *functions)
        size, batch = points_per_call(d, memory, *sizes)
        function = self._functions[kind, plan]
        results = call_over_points(function, points, count, size, batch, wide=plan.wide)
        return results.astype(np.float64, copy=False)


def _at_coordinates(
    x: np.ndarray, coordinates: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of x with one coordinate replaced by y, its direction, and no step along it."""
    row = np.arange(len(x))
    points, directions = x.copy(), np.zeros_like(x)
    points[row, coordinates], directions[row, coordinates] = y, 1
    return points, directions, np.zeros_like(y)
