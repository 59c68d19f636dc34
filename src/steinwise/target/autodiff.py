"""A target from a JAX log density: derivatives along coordinate lines, not full gradients."""

import functools
import types
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from steinwise.errors import InputError, SteinwiseWarning, TargetError
from steinwise.memory import chunks
from steinwise.target.abstract import (
    DEFAULT_MEMORY,
    AbstractTarget,
    require_finite,
)

POINTS_PER_CALL = (256, 2048, 16384)  # evaluations in one compiled call, the smallest that will do
POINTS_PER_BATCH = 256  # evaluations that are vectorised together inside it
FORWARD, REVERSE = "forward", "reverse"


class _Plan(NamedTuple):
    """How the density can be differentiated, found out once by abstract evaluation."""

    wide: bool  # in 64 bit; otherwise in 32 bit, the caller's precision when the plan was made
    dtype: str
    score: str  # FORWARD or REVERSE
    line: str


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
            _check_lines(self.lines, x.shape[1], plan, len(block))
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
        with _precision(plan.wide):
            for part in chunks(count, size):
                index = np.minimum(np.arange(part.start, part.start + size), count - 1)
                found = np.asarray(compiled(*points(index)), dtype=np.float64)
                pieces.append(found[: part.stop - part.start])
        return np.concatenate(pieces)

    def _function(self, kind: str, plan: _Plan) -> Callable[..., Array]:
        cache: dict = self._compiled  # type: ignore[attr-defined]
        key = (kind, plan)
        if key not in cache:
            cache[key] = jax.jit(functools.partial(_map_points, self._build(kind, plan)))
        return cache[key]

    def _build(self, kind: str, plan: _Plan) -> Callable[..., Array]:
        """The function of one point."""
        p = self.log_density
        if kind == "score":
            return _gradient(p, plan.score)
        if kind == "block":
            return self.lines or _block_gradient(p, plan.score)
        if kind == "line":
            return self.lines or (lambda x, j, y: _on_line(p, plan.line, x, j, y)[1])
        along = {"line value": _on_line, "direction value": _on_direction}[kind]
        return lambda *point: jnp.stack(along(p, plan.line, *point))

    def _plan(self, d: int) -> _Plan:
        plans: dict[int, _Plan] = self._plans  # type: ignore[attr-defined]
        if d not in plans:
            plan = _make_plan(self.log_density, d)
            if self.lines is not None:
                _check_lines(self.lines, d, plan)
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


def _precision(wide: bool) -> AbstractContextManager:
    return jax.enable_x64(wide)


# -- the functions that are compiled ------------------------------------------------------------


def _map_points(function: Callable, *points: Array) -> Array:
    """function(point) for every row of the arguments, a batch at a time to bound the memory."""
    count = len(points[0])
    batch = min(POINTS_PER_BATCH, count)
    pad = -count % batch
    batches = [jnp.concatenate([a, jnp.repeat(a[-1:], pad, axis=0)]) for a in points]
    batches = tuple(a.reshape(-1, batch, *a.shape[1:]) for a in batches)
    out = jax.lax.map(lambda some: jax.vmap(function)(*some), batches)
    return out.reshape(-1, *out.shape[2:])[:count]


def _gradient(log_density: Callable, mode: str) -> Callable:
    return jax.grad(log_density) if mode == REVERSE else jax.jacfwd(log_density)


def _on_line(p: Callable, mode: str, x: Array, j: Array, y: Array) -> tuple[Array, Array]:
    """log p and its derivative along coordinate j, at x with x_j replaced by y."""
    return _value_and_derivative(lambda t: p(x.at[j].set(t)), mode, y)


def _on_direction(
    p: Callable, mode: str, x: Array, direction: Array, step: Array
) -> tuple[Array, Array]:
    return _value_and_derivative(lambda t: p(x + t * direction), mode, step)


def _value_and_derivative(line: Callable, mode: str, t: Array) -> tuple[Array, Array]:
    if mode == FORWARD:
        return jax.jvp(line, (t,), (jnp.ones_like(t),))
    return jax.value_and_grad(line)(t)


def _block_gradient(log_density: Callable, mode: str) -> Callable:
    def gradient(x: Array, block: Array, y: Array) -> Array:
        return _gradient(lambda t: log_density(x.at[block].set(t)), mode)(y)

    return gradient


# -- finding out how the density can be differentiated -------------------------------------------


def _make_plan(log_density: Callable, d: int) -> _Plan:
    """Try 64 bit, then the caller's precision; forward mode for lines, reverse for scores."""
    ambient_is_wide = jax.dtypes.canonicalize_dtype(np.float64) == np.float64
    first_error: Exception | None = None
    for wide in (True,) if ambient_is_wide else (True, False):
        with _precision(wide):
            try:
                jax.eval_shape(log_density, jax.ShapeDtypeStruct((d,), _float(wide)))
            except Exception as error:  # kept, and raised below if nothing else works
                first_error = first_error or error
                continue
            _check_shape(log_density, d, wide)
            score = _first_that_traces(
                {m: _gradient(log_density, m) for m in (REVERSE, FORWARD)}, (d,), wide
            )
            line = _first_that_traces(
                {
                    m: functools.partial(_at_zero, functools.partial(_on_line, log_density, m))
                    for m in (FORWARD, REVERSE)
                },
                (d,),
                wide,
            )
        if not wide:
            warnings.warn(
                "the log density cannot be traced in 64 bit (a float32 scan carry, cond branch or "
                f"literal dtype inside it: {_first_line(first_error)}). It is evaluated in "
                "float32, so scores carry about 7 digits. Let its dtypes follow its input, "
                "x.dtype, to have 64 bit.",
                SteinwiseWarning,
                stacklevel=2,
            )
        return _Plan(wide, "float64" if wide else "float32", score, line)
    raise TargetError(
        f"the log density failed on one draw of shape ({d},): {type(first_error).__name__}: "
        f"{_first_line(first_error)} It must take one draw, not a batch, and use jax.numpy. Does "
        f"it expect another number of coordinates than the {d} of the draws? A function that only "
        "runs in NumPy or PyTorch goes in by sw.Target.from_score."
    ) from first_error


def _float(wide: bool) -> type:
    return np.float64 if wide else np.float32


def _at_zero(derivative: Callable, x: Array) -> Array:
    return derivative(x, jnp.int32(0), x[0])


def _first_line(error: Exception | None) -> str:
    return (str(error).strip().splitlines() or [""])[0]


def _check_shape(log_density: Callable, d: int, wide: bool) -> None:
    out = jax.eval_shape(log_density, jax.ShapeDtypeStruct((d,), _float(wide)))
    if not isinstance(out, jax.ShapeDtypeStruct) or out.shape != ():
        raise TargetError(
            f"the log density returned {out!r} for one draw of shape ({d},): expected a scalar, "
            "shape (). Sum over the coordinates (jnp.sum), or drop the batch axis: it is called "
            "with one draw at a time."
        )
    if not jnp.issubdtype(out.dtype, jnp.floating):
        raise TargetError(f"the log density returned dtype {out.dtype}: expected a real float.")


def _first_that_traces(candidates: dict[str, Callable], shape: tuple, wide: bool) -> str:
    errors = []
    for mode, function in candidates.items():
        try:
            # under vmap, as it will run: forward mode through a custom_vjp fails only there
            jax.eval_shape(jax.vmap(function), jax.ShapeDtypeStruct((1, *shape), _float(wide)))
        except Exception as error:  # both are reported below
            errors.append(error)
        else:
            return mode
    raise TargetError(
        "the log density can be evaluated but not differentiated, neither in forward nor in "
        f"reverse mode: {_first_line(errors[0])} / {_first_line(errors[1])} Give its score by "
        "sw.Target.from_score, or its conditional scores by lines=."
    ) from errors[0]


def _check_lines(lines: Callable, d: int, plan: _Plan, block: int | None = None) -> None:
    """Try `lines` on a coordinate, or on a block of some size."""
    shape = () if block is None else (block,)
    kind = "an integer j and a scalar y" if block is None else f"a block: j and y of shape {shape}"
    with _precision(plan.wide):
        x = jax.ShapeDtypeStruct((d,), _float(plan.wide))
        j = jax.ShapeDtypeStruct(shape, np.int32)
        y = jax.ShapeDtypeStruct(shape, _float(plan.wide))
        try:
            out = jax.eval_shape(lines, x, j, y)
        except Exception as error:
            raise TargetError(
                f"lines(x, j, y) failed on x of shape ({d},), {kind}: {_first_line(error)} It must "
                "be JAX-traceable in all three."
            ) from error
    if getattr(out, "shape", None) != shape:
        raise TargetError(
            f"lines(x, j, y) returned {out!r} on x of shape ({d},), {kind}: expected shape "
            f"{shape}, the derivative of the log density along j at x with x_j replaced by y."
        )
