"""A target from a host score function, as users of Stan and PyTorch have it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steinwise._internal.memory import chunks
from steinwise.errors import InputError, TargetError
from steinwise.target.base import DEFAULT_MEMORY, AbstractTarget, require_finite

ROWS_PER_CALL = 4096


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

    @property
    def dim(self) -> int | None:
        return None

    def prepare(self, d: int) -> str:  # noqa: ARG002
        return "float64"

    def score(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray:
        out = np.empty(x.shape)
        for part in chunks(len(x), _rows_within(memory, x.shape[1])):
            # a copy: NumPy code often writes into its argument
            some = x[part].copy()
            out[part] = self._call(self.score_function, (some,), some.shape, "score")
            require_finite(out[part], x[part], part.start, np.arange(x.shape[1]), axis=1)
        return out

    def log_values(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray | None:
        if self.log_density is None:
            return None
        out = np.empty(len(x))
        for part in chunks(len(x), _rows_within(memory, x.shape[1])):
            some = x[part].copy()
            out[part] = self._call(self.log_density, (some,), (len(some),), "log density")
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
            out[:, c] = self._replaced(x, int(j), y[:, c, :, None], memory, first_row)[..., 0]
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
            slopes[:, c] = self._replaced(x, int(j), y[:, c, :, None], memory, None)[..., 0]
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
                some = steps[part, c]
                moved = (x[part, None] + some[..., None] * direction).reshape(-1, x.shape[1])
                found = self._call(self.score_function, (moved,), moved.shape, "score")
                slopes[part, c] = (found @ direction).reshape(some.shape)
                if values is not None:
                    assert self.log_density is not None
                    found = self._call(self.log_density, (moved,), moved.shape[:1], "log density")
                    values[part, c] = found.reshape(some.shape)
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
        return self._replaced(x, np.asarray(block), y, memory, first_row)

    def _replaced(
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
            some = y[part]
            if self.lines is not None:
                points = some[..., 0] if isinstance(index, int) else some
                arguments = (x[part].copy(), index, points.copy())
                found = self._call(self.lines, arguments, points.shape, "lines")
                out[part] = found.reshape(some.shape)
            else:
                moved = np.repeat(x[part, None], some.shape[1], axis=1)
                moved[..., columns] = some
                flat = moved.reshape(-1, x.shape[1])
                found = self._call(self.score_function, (flat,), flat.shape, "score")
                out[part] = found.reshape(moved.shape)[..., columns]
            if first_row is not None:
                require_finite(out[part], x[part], first_row + part.start, columns, axis=2)
        return out

    def _call(
        self, function: Callable, arguments: tuple, shape: tuple[int, ...], name: str
    ) -> np.ndarray:
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
    return int(np.clip(memory // (8 * d * 16), 1, ROWS_PER_CALL))
