"""A target from a JAX log density: derivatives along coordinate lines, not full gradients."""

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from steinwise._internal.memory import chunks
from steinwise.errors import InputError
from steinwise.target.base import DEFAULT_MEMORY, AbstractTarget, require_finite
from steinwise.target.differentiation import (
    Plan,
    block_gradient,
    check_lines,
    gradient,
    make_plan,
    on_direction,
    on_line,
    precision,
)

POINTS_PER_CALL = (256, 2048, 16384)  # evaluations in one compiled call, the smallest that will do
POINTS_PER_BATCH = 256  # evaluations that are vectorised together inside it


@dataclass(frozen=True, eq=False)
class Target(AbstractTarget):
    """A density given by a JAX-traceable log density, known up to a constant.

    Parameters
    ----------
    log_density
        ``x`` of shape (d,) to a scalar.
    lines
        ``lines(x, j, y)``: the conditional score where the model has a cheaper one than a
        derivative of `log_density`. For a coordinate, `j` is an integer, `y` a scalar and the
        result d log p / d x_j at x with x_j replaced by y. For a block, `j` and `y` are vectors of
        the same length, and so is the result.

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
        from steinwise.target.host import HostTarget

        return HostTarget(score, log_density, lines)

    @property
    def dim(self) -> int | None:
        return None

    def prepare(self, d: int) -> str:
        return self._plan(d).dtype

    def score(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray:
        found = self._at_points("score", x.shape[1], memory, len(x), lambda i: (x[i],))
        require_finite(found, x, 0, np.arange(x.shape[1]), axis=1)
        return found

    def log_values(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray:
        return self._at_points("value", x.shape[1], memory, len(x), lambda i: (x[i],))

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
        found = self._on_lines("line", x, y, index, memory)
        require_finite(found, x, first_row, index, axis=1)
        return found

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
        found = self._on_lines("line value", x, y, index, memory)
        return found[..., 0], found[..., 1]

    def direction_values(
        self,
        x: np.ndarray,
        directions: np.ndarray,
        steps: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> tuple[np.ndarray | None, np.ndarray]:
        found = self._on_lines("direction value", x, steps, directions, memory)
        return found[..., 0], found[..., 1]

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

        found = self._at_points("block", x.shape[1], memory, len(flat), points).reshape(y.shape)
        require_finite(found, x, first_row, index, axis=2)
        return found

    def _on_lines(
        self, kind: str, x: np.ndarray, y: np.ndarray, index: np.ndarray, memory: int
    ) -> np.ndarray:
        flat = y.reshape(-1)
        lines, per_line = y.shape[1], y.shape[2]

        def points(i: np.ndarray) -> tuple[np.ndarray, ...]:
            line = i // per_line
            return x[line // lines], index[line % lines], flat[i]

        found = self._at_points(kind, x.shape[1], memory, y.size, points)
        return found.reshape(*y.shape, *found.shape[1:])

    def _at_points(
        self,
        kind: str,
        d: int,
        memory: int,
        count: int,
        points: Callable[[np.ndarray], tuple[np.ndarray, ...]],
    ) -> np.ndarray:
        """Run a compiled function over points, in calls of few sizes, so that it compiles rarely.

        `points(i)` gives the arguments of the points numbered i, one row each.
        """
        plan = self._plan(d)
        compiled = self._function(kind, plan)
        most = _points_within(memory, d)
        size = min(most, next(s for s in POINTS_PER_CALL if s >= min(count, POINTS_PER_CALL[-1])))
        pieces = []
        with precision(plan.wide):
            for part in chunks(count, size):
                index = np.minimum(np.arange(part.start, part.start + size), count - 1)
                found = np.asarray(compiled(*points(index)), dtype=np.float64)
                pieces.append(found[: part.stop - part.start])
        return np.concatenate(pieces)

    def _function(self, kind: str, plan: Plan) -> Callable[..., Array]:
        cache: dict = self._compiled  # type: ignore[attr-defined]
        key = (kind, plan)
        if key not in cache:
            cache[key] = jax.jit(functools.partial(_map_points, self._build(kind, plan)))
        return cache[key]

    def _build(self, kind: str, plan: Plan) -> Callable[..., Array]:
        """The function of one point."""
        p = self.log_density
        if kind == "value":
            return p
        if kind == "score":
            return gradient(p, plan.score)
        if kind == "block":
            return self.lines or block_gradient(p, plan.score)
        if kind == "line":
            return self.lines or (lambda x, j, y: on_line(p, plan.line, x, j, y)[1])
        along = {"line value": on_line, "direction value": on_direction}[kind]
        return lambda *point: jnp.stack(along(p, plan.line, *point))

    def _plan(self, d: int) -> Plan:
        plans: dict[int, Plan] = self._plans  # type: ignore[attr-defined]
        if d not in plans:
            plan = make_plan(self.log_density, d)
            if self.lines is not None:
                check_lines(self.lines, d, plan)
            plans[d] = plan
        return plans[d]


def as_target(target: Any) -> AbstractTarget:
    """A target from what the user gave: a target, or a plain callable log density."""
    if isinstance(target, AbstractTarget):
        return target
    if isinstance(target, types.FunctionType):
        return _target_of_function(target)
    if callable(target):
        density: Any = target
        return Target(density)
    raise InputError(
        f"target is of type {type(target).__name__}: expected a log density (a JAX-traceable "
        "function of one draw), sw.Target(...), sw.Target.from_score(...) or sw.Gaussian(...)."
    )


@functools.lru_cache(maxsize=16)
def _target_of_function(function: types.FunctionType) -> Target:
    return Target(function)  # the same function again need not compile again


def _points_within(memory: int, d: int) -> int:
    """Evaluations per compiled call: each is given room for 32 copies of its point."""
    return int(np.clip(memory // (8 * d * 32), 1, POINTS_PER_CALL[-1]))


def _map_points(function: Callable, *points: Array) -> Array:
    """function(point) for every row of the arguments, a batch at a time to bound the memory."""
    count = len(points[0])
    batch = min(POINTS_PER_BATCH, count)
    pad = -count % batch
    batches = [jnp.concatenate([a, jnp.repeat(a[-1:], pad, axis=0)]) for a in points]
    batches = tuple(a.reshape(-1, batch, *a.shape[1:]) for a in batches)
    out = jax.lax.map(lambda some: jax.vmap(function)(*some), batches)
    return out.reshape(-1, *out.shape[2:])[:count]
