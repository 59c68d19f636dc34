"""A target from a score function that runs on the host, as Stan and PyTorch provide it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steinwise._internal.memory import chunks
from steinwise.errors import InputError, TargetError
from steinwise.target.base import DEFAULT_MEMORY, AbstractTarget, require_finite

# Rows of one call of the user's function: enough to vectorise, few enough that a slow function
# returns within a moment, so that an interruption is noticed.
ROWS_PER_CALL = 4096
COPIES_PER_ROW = 16  # of a row's size: room for what the function computes on the way


@dataclass(frozen=True, eq=False)
class HostTarget(AbstractTarget):
    """Scores from a function (n, d) -> (n, d) of NumPy arrays; see `Target.from_score`."""

    score_function: Callable[[np.ndarray], np.ndarray]
    log_density: Callable[[np.ndarray], np.ndarray] | None = None
    lines: Callable[..., np.ndarray] | None = None

    def __post_init__(self) -> None:
        if not callable(self.score_function):
            raise InputError(
                f"score is of type {type(self.score_function).__name__}: expected a function "
                "(n, d) -> (n, d)."
            )

    def prepare(self, d: int) -> str:  # noqa: ARG002
        return "float64"

    def score(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray:
        out = np.empty(x.shape)
        for part in chunks(len(x), _rows_within(memory, x.shape[1])):
            rows = x[part].copy()  # NumPy code often writes into its argument
            out[part] = self._call(self.score_function, (rows,), rows.shape, "score")
            require_finite(out[part], x[part], part.start, np.arange(x.shape[1]), axis=1)
        return out

    def log_values(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray | None:
        if self.log_density is None:
            return None
        out = np.empty(len(x))
        for part in chunks(len(x), _rows_within(memory, x.shape[1])):
            rows = x[part].copy()
            out[part] = self._call(self.log_density, (rows,), (len(rows),), "log density")
        return out

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
    ) -> tuple[np.ndarray | None, np.ndarray]:
        if self.lines is None:
            directions = np.eye(x.shape[1])[coordinates]
            steps = y - x[:, coordinates, None]
            return self.direction_values(x, directions, steps, memory=memory)
        slopes = np.empty(y.shape)
        for c, j in enumerate(coordinates):
            slopes[:, c] = self._scores_with(x, int(j), y[:, c, :, None], memory, None)[..., 0]
        return None, slopes

    def direction_values(
        self,
        x: np.ndarray,
        directions: np.ndarray,
        steps: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> tuple[np.ndarray | None, np.ndarray]:
        slopes = np.empty(steps.shape)
        values = None if self.log_density is None else np.empty(steps.shape)
        for part in chunks(len(x), max(1, _rows_within(memory, x.shape[1]) // steps.shape[2])):
            for c, direction in enumerate(directions):
                step = steps[part, c]
                moved = (x[part, None] + step[..., None] * direction).reshape(-1, x.shape[1])
                scores = self._call(self.score_function, (moved,), moved.shape, "score")
                slopes[part, c] = (scores @ direction).reshape(step.shape)
                if values is not None:
                    assert self.log_density is not None
                    logs = self._call(self.log_density, (moved,), moved.shape[:1], "log density")
                    values[part, c] = logs.reshape(step.shape)
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
                arguments = (x[part].copy(), index, points.copy())
                scores = self._call(self.lines, arguments, points.shape, "lines")
                out[part] = scores.reshape(new.shape)
            else:
                moved = np.repeat(x[part, None], new.shape[1], axis=1)
                moved[..., columns] = new
                flat = moved.reshape(-1, x.shape[1])
                scores = self._call(self.score_function, (flat,), flat.shape, "score")
                out[part] = scores.reshape(moved.shape)[..., columns]
            if first_row is not None:
                require_finite(out[part], x[part], first_row + part.start, columns, axis=2)
        return out

    def _call(
        self, function: Callable, arguments: tuple, shape: tuple[int, ...], name: str
    ) -> np.ndarray:
        """Call a function of the user's and check what it returns."""
        given = ", ".join(str(np.shape(a)) if np.ndim(a) else str(a) for a in arguments)
        try:
            out = np.asarray(function(*arguments))
        except Exception as error:
            raise TargetError(
                f"the {name} function raised {type(error).__name__} on input {given}: {error}. It "
                "must take a batch of draws, one per row, as a NumPy array."
            ) from error
        if out.shape != shape or not np.issubdtype(out.dtype, np.floating):
            raise TargetError(
                f"the {name} function returned shape {out.shape} and dtype {out.dtype} on input "
                f"{given}: expected shape {shape} and a float dtype. It must take a batch of "
                "draws; wrap a function of one draw in a loop or a vmap."
            )
        return out


def _rows_within(memory: int, d: int) -> int:
    return int(np.clip(memory // (8 * d * COPIES_PER_ROW), 1, ROWS_PER_CALL))
