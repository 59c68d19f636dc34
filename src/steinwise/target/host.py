"""A target from functions that run on the host, as Stan and PyTorch provide them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from steinwise._internal.escaping import clause_of
from steinwise._internal.memory import chunks
from steinwise._internal.numpy_errors import users_numpy_errors
from steinwise._internal.validation import require_flag, require_function
from steinwise.errors import InputError, TargetError
from steinwise.target.base import DEFAULT_MEMORY, NO_SCORES, AbstractTarget, require_finite
from steinwise.target.support import require_support, undeclared

# Rows of one call of the user's function: enough to vectorise, few enough that a slow function
# returns within a moment, so that an interruption is noticed.
ROWS_PER_CALL = 4096
COPIES_PER_ROW = 16  # of a row's size: room for what the function computes on the way


@dataclass(frozen=True, eq=False)
class HostTarget(AbstractTarget):
    """Scores from a function (n, d) -> (n, d) of NumPy arrays, or values from one (n, d) -> (n,).

    See `Target.from_score` and `Target.from_log_density`.
    """

    score_function: Callable[[np.ndarray], np.ndarray] | None
    log_density: Callable[[np.ndarray], np.ndarray] | None = None
    lines: Callable[..., np.ndarray] | None = None
    noisy: bool = False
    support: Any = undeclared
    conditionals: Callable[[np.ndarray, int], np.ndarray] | None = None

    def __post_init__(self) -> None:
        require_support(self.support)
        if self.conditionals is not None:
            require_function("conditionals", self.conditionals, "a function conditionals(x, j)")
        if self.score_function is None:
            require_function("log_density", self.log_density, "a function (n, d) -> (n,)")
            return
        require_function("score", self.score_function, "a function (n, d) -> (n, d)")
        if self.log_density is not None:
            require_function("log_density", self.log_density, "a function (n, d) -> (n,)")
        if self.lines is not None:
            require_function("lines", self.lines, "a function lines(x, j, y)")
        require_flag("noisy", self.noisy)
        if self.noisy and (self.log_density is not None or self.lines is not None):
            raise InputError(
                "noisy=True came with a log density or lines, which are of use only where two "
                "evaluations agree: pass the score alone, or an exact one with noisy=False."
            )

    def prepare(self, d: int) -> str:  # noqa: ARG002
        return "float64"

    def has_scores(self, d: int) -> bool:  # noqa: ARG002
        return self.score_function is not None

    def score(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray:
        if self.score_function is None:
            raise TargetError(NO_SCORES)
        out = np.empty(x.shape)
        for part in chunks(len(x), _rows_within(memory, x.shape[1])):
            rows = x[part]
            out[part] = self._call(self.score_function, (rows,), rows.shape, "score")
            require_finite(out[part], x[part], part.start, np.arange(x.shape[1]), axis=1)
        return out

    def log_values(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray | None:
        if self.log_density is None:
            return None
        return self._by_rows(self.log_density, x, (), memory, "log density")

    def values_and_scores(
        self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY
    ) -> tuple[np.ndarray, np.ndarray] | None:
        if self.score_function is None or self.log_density is None or self.noisy:
            return None
        scores = self._by_rows(self.score_function, x, x.shape[1:], memory, "score")
        return self._by_rows(self.log_density, x, (), memory, "log density"), scores

    def outcome_values(
        self,
        x: np.ndarray,
        coordinate: int,
        values: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
        complete: bool = True,
    ) -> np.ndarray:
        if self.conditionals is None or not complete:
            return super().outcome_values(x, coordinate, values, memory=memory)
        each = (len(values),)
        return self._by_rows(self.conditionals, x, each, memory, "conditionals", coordinate)

    def line_scores(
        self,
        x: np.ndarray,
        coordinates: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
        first_row: int = 0,
    ) -> np.ndarray:
        out = np.empty(y.shape)
        for c, j in enumerate(coordinates):
            out[:, c] = self._scores_with(x, int(j), y[:, c, :, None], memory, first_row)[..., 0]
        return out

    def line_values(
        self,
        x: np.ndarray,
        coordinates: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        each = np.broadcast_to(coordinates, y.shape[:2])
        if self.lines is not None:
            slopes = np.empty(y.shape)
            for j in np.unique(each):
                row, c = np.nonzero(each == j)
                scores = self._scores_with(x[row], int(j), y[row, c][..., None], memory, None)
                slopes[row, c] = scores[..., 0]
            return None, slopes

        def moved(part: slice, c: int) -> np.ndarray:
            points = np.repeat(x[part, None], y.shape[2], axis=1)
            at = each[part, c, None, None]
            np.put_along_axis(points, at, y[part, c, :, None], axis=2)
            return points

        return self._values_at(moved, np.eye(x.shape[1])[coordinates], y.shape, memory)

    def direction_values(
        self,
        x: np.ndarray,
        directions: np.ndarray,
        steps: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        def moved(part: slice, c: int) -> np.ndarray:
            direction = directions[part, None, c] if directions.ndim == 3 else directions[c]
            return x[part, None] + steps[part, c, :, None] * direction

        return self._values_at(moved, directions, steps.shape, memory)

    def _values_at(
        self,
        moved: Callable[[slice, int], np.ndarray],
        directions: np.ndarray,
        shape: tuple[int, ...],
        memory: int,
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Values and slopes at points (n, c, m); `moved` gives those of some rows on a line."""
        d = directions.shape[-1]
        slopes = None if self.score_function is None else np.empty(shape)
        values = None if self.log_density is None else np.empty(shape)
        for part in chunks(shape[0], max(1, _rows_within(memory, d) // shape[2])):
            for c in range(shape[1]):
                points = moved(part, c)
                flat = points.reshape(-1, d)
                if slopes is not None:
                    assert self.score_function is not None
                    scores = self._call(self.score_function, (flat,), flat.shape, "score")
                    along = directions[part, c, :, None] if directions.ndim == 3 else directions[c]
                    slopes[part, c] = (scores.reshape(points.shape) @ along).reshape(
                        points.shape[:2]
                    )
                if values is not None:
                    assert self.log_density is not None
                    logs = self._call(self.log_density, (flat,), flat.shape[:1], "log density")
                    values[part, c] = logs.reshape(points.shape[:2])
        return values, slopes

    def block_scores(
        self,
        x: np.ndarray,
        block: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
        first_row: int = 0,
    ) -> np.ndarray:
        return self._scores_with(x, np.asarray(block), y, memory, first_row)

    def _scores_with(
        self,
        x: np.ndarray,
        index: int | np.ndarray,
        y: np.ndarray,
        memory: int,
        first_row: int | None,
    ) -> np.ndarray:
        """Scores of the coordinates `index` at x with those coordinates replaced by y (n, m, b).

        They must be finite, unless `first_row` is None.
        """
        out = np.empty(y.shape)
        columns = np.atleast_1d(index)
        rows = max(1, _rows_within(memory, x.shape[1]) // y.shape[1])
        for part in chunks(len(x), rows):
            new = y[part]
            if self.lines is not None:
                points = new[..., 0] if isinstance(index, int) else new
                scores = self._call(self.lines, (x[part], index, points), points.shape, "lines")
                out[part] = scores.reshape(new.shape)
            else:
                if self.score_function is None:
                    raise TargetError(NO_SCORES)
                moved = np.repeat(x[part, None], new.shape[1], axis=1)
                moved[..., columns] = new
                flat = moved.reshape(-1, x.shape[1])
                scores = self._call(self.score_function, (flat,), flat.shape, "score")
                out[part] = scores.reshape(moved.shape)[..., columns]
            if first_row is not None:
                require_finite(out[part], x[part], first_row + part.start, columns, axis=2)
        return out

    def _by_rows(
        self,
        function: Callable,
        x: np.ndarray,
        each: tuple[int, ...],
        memory: int,
        name: str,
        *given: Any,
    ) -> np.ndarray:
        """What a function of the user's gives for rows x: an array of shape `each` for each."""
        out = np.empty((len(x), *each))
        for part in chunks(len(x), _rows_within(memory, x.shape[1])):
            out[part] = self._call(function, (x[part], *given), out[part].shape, name)
        return out

    def _call(
        self, function: Callable, arguments: tuple, shape: tuple[int, ...], name: str
    ) -> np.ndarray:
        """Call a function of the user's on copies and check what it returns.

        NumPy code often writes into its arguments, and we use them again.
        """
        given = ", ".join(str(np.shape(a)) if np.ndim(a) else str(a) for a in arguments)
        try:
            with users_numpy_errors():
                returned = function(
                    *(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)
                )
                out = np.asarray(returned)
        except Exception as error:
            raise TargetError(
                f"the {name} function raised {type(error).__name__} on input {given}: "
                f"{clause_of(error)}. It must take a batch of draws, one per row, as a NumPy array."
            ) from error
        if np.ma.is_masked(returned):
            raise TargetError(
                f"the {name} function returned a masked array with {np.ma.count_masked(returned)} "
                "masked entries: expected a number for every entry. Where do they come from?"
            )
        if out.shape != shape or not np.issubdtype(out.dtype, np.floating):
            raise TargetError(
                f"the {name} function returned shape {out.shape} and dtype {out.dtype} on input "
                f"{given}: expected shape {shape} and a float dtype. It must take a batch of "
                "draws; wrap a function of one draw in a loop or a vmap."
            )
        return out


def _rows_within(memory: int, d: int) -> int:
    return int(np.clip(memory // (8 * d * COPIES_PER_ROW), 1, ROWS_PER_CALL))
