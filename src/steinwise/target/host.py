"""A target from a host score function, as users of Stan and PyTorch have it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from steinwise.errors import InputError, TargetError
from steinwise.memory import chunks
from steinwise.target.abstract import DEFAULT_MEMORY, AbstractTarget, require_finite

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
            out[part] = self._call(self.score_function, (x[part],), x[part].shape, "score")
            require_finite(out[part], x[part], part.start, "of the draws")
        return out

    def line_scores(
        self,
        x: np.ndarray,
        coordinates: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> np.ndarray:
        out = np.empty(y.shape)
        for c, j in enumerate(coordinates):
            out[:, c] = self._replaced(x, int(j), y[:, c, :, None], memory)[..., 0]
        return out

    def block_scores(
        self, x: np.ndarray, block: np.ndarray, y: np.ndarray, *, memory: int = DEFAULT_MEMORY
    ) -> np.ndarray:
        return self._replaced(x, np.asarray(block), y, memory)

    def _replaced(
        self, x: np.ndarray, index: int | np.ndarray, y: np.ndarray, memory: int
    ) -> np.ndarray:
        """Scores of the coordinates `index` at x with those coordinates replaced by y (n, m, b)."""
        out = np.empty(y.shape)
        columns = np.atleast_1d(index)
        rows = max(1, _rows_within(memory, x.shape[1]) // y.shape[1])
        for part in chunks(len(x), rows):
            some = y[part]
            if self.lines is not None:
                points = some[..., 0] if isinstance(index, int) else some
                found = self._call(self.lines, (x[part], index, points), points.shape, "lines")
                out[part] = found.reshape(some.shape)
            else:
                moved = np.repeat(x[part, None], some.shape[1], axis=1)
                moved[..., columns] = some
                flat = moved.reshape(-1, x.shape[1])
                found = self._call(self.score_function, (flat,), flat.shape, "score")
                out[part] = found.reshape(moved.shape)[..., columns]
            where = f"along coordinate {columns.tolist()}"
            require_finite(out[part], x[part], part.start, where)
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
