"""A target from a JAX log density: derivatives along single lines, not full gradients."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Array

from steinwise._internal.compiled import rows_of
from steinwise._internal.validation import require_function
from steinwise.errors import InputError
from steinwise.target.at_draws import ScoresAtDraws
from steinwise.target.base import (
    DEFAULT_MEMORY,
    AbstractTarget,
    LineSeries,
    require_finite,
    require_outcomes,
)
from steinwise.target.differentiation import check_lines
from steinwise.target.host import HostTarget
from steinwise.target.indexing import require_indices_inside
from steinwise.target.jax_density import DIRECTION, DIRECTION_LEVEL, JaxDensity
from steinwise.target.support import require_support, undeclared
from steinwise.target.unconstrained import Unconstrained


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
    support
        Where the coordinates live, such as ``sw.support.positive``: one for all, a list with one
        for each, or a dict by number or name of those that are not real.
    conditionals
        ``conditionals(x, j)``: the log probabilities, up to a constant, of all values of a discrete
        coordinate `j` given the others, if the model has them for less than evaluations of
        `log_density`; in the order of its support. `j` is an integer. Not used for coordinates
        whose support has no end, or more than 65,536 values.

    Notes
    -----
    A target is compiled at its first use and reused after that: pass the same `sw.Target` to many
    calls to save the time. It keeps what its functions read from outside at that moment (global
    variables, closures, attributes). If these change, make a new `sw.Target`. A plain function,
    passed to `sw.check` or any other function in place of a target, is read anew in every call.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, steinwise as sw
    >>> target = sw.Target(lambda x: -0.5 * jnp.sum(x**2))
    >>> print(target.score(np.array([[1.0, -2.0]])))
    [[-1.  2.]]
    """

    log_density: Callable[[Array], Array]
    lines: Callable[..., Array] | None = None
    support: Any = undeclared
    conditionals: Callable[..., Array] | None = None
    _density: JaxDensity = field(init=False, repr=False)
    _space: Unconstrained | None = field(init=False, repr=False)  # in which `composed` targets are
    _composed: dict[tuple, "Target"] = field(init=False, repr=False)
    _tried: set[int] = field(init=False, repr=False)  # numbers of coordinates of draws

    def __init__(
        self,
        log_density: Callable[[Array], Array],
        *,
        lines: Callable[..., Array] | None = None,
        support: Any = undeclared,
        conditionals: Callable[..., Array] | None = None,
    ) -> None:
        require_support(support)
        given = {"log_density": log_density, "lines": lines, "conditionals": conditionals}
        for name, function in given.items():
            if not callable(function) and not (name != "log_density" and function is None):
                raise InputError(
                    f"{name} is of type {type(function).__name__}: expected a function. For a "
                    "Gaussian use sw.Gaussian(mean, covariance)."
                )
            # an object of its own: JAX remembers traces by function, also those of another target
            # with the same function, and what it reads may have changed since
            own = None if function is None else partial(function)
            object.__setattr__(self, name, own)
        object.__setattr__(self, "support", support)
        density = JaxDensity(self.log_density, self.lines, self.conditionals)
        object.__setattr__(self, "_density", density)
        object.__setattr__(self, "_space", None)
        object.__setattr__(self, "_composed", {})
        object.__setattr__(self, "_tried", set())

    @staticmethod
    def from_score(
        score: Callable[[np.ndarray], np.ndarray],
        log_density: Callable[[np.ndarray], np.ndarray] | None = None,
        *,
        lines: Callable[..., np.ndarray] | None = None,
        noisy: bool = False,
        support: Any = undeclared,
    ) -> AbstractTarget:
        r"""A target from a host function (n, d) -> (n, d), called in batches; no JAX needed.

        Parameters
        ----------
        score
            The gradient of log p, one row per draw, NumPy in and out. What it has for discrete
            coordinates is not used, but must be finite, such as 0.
        log_density
            Optional: (n, d) -> (n,), up to a constant.
        lines
            Optional: ``lines(x, j, y)`` with x (n, d) and y (n, m) to (n, m) for a coordinate;
            j of length b and y (n, m, b) to (n, m, b) for a block.
        noisy
            Whether the score is an unbiased estimate, as from minibatches of the data, that
            differs from call to call. Only methods that keep their level with such scores take
            it; the others refuse.
        support
            Where the coordinates live, as in `Target`.

        Notes
        -----
        A noisy score g must have the right mean *given the draw*, :math:`E[g(x_t) | x_t] =
        \nabla \log p(x_t)`, and be independent from draw to draw. So use a new minibatch for every
        row of x, chosen after the draw was made. Two short cuts break this:

        - The gradient that a sampler such as SGLD keeps with x_t, where its minibatch is the one
          that moved the chain to x_t: x_t depends on that minibatch, and its gradient is biased
          given x_t. Draws that are too wide are then reported as too narrow.
        - One minibatch for all rows: it gives the scores of another posterior, that of these data
          alone. Correct draws are rejected.

        Examples
        --------
        The mean of 1000 numbers, with a new minibatch of 100 for every draw:

        >>> import numpy as np, steinwise as sw
        >>> rng = np.random.default_rng(0)
        >>> data = rng.normal(size=1000)
        >>> def score(x):
        ...     chosen = rng.integers(len(data), size=(len(x), 100))
        ...     return 10 * (data[chosen] - x).sum(axis=1, keepdims=True)
        >>> target = sw.Target.from_score(score, noisy=True)
        >>> print(target.score(np.zeros((2, 1))).shape)
        (2, 1)
        """
        require_function("score", score, "a function (n, d) -> (n, d)")
        return HostTarget(score, log_density, lines, noisy, support)

    @staticmethod
    def from_log_density(
        log_density: Callable[[np.ndarray], np.ndarray],
        *,
        support: Any = undeclared,
        conditionals: Callable[[np.ndarray, int], np.ndarray] | None = None,
    ) -> AbstractTarget:
        """A target from a host function (n, d) -> (n,) of values alone: no gradient, no JAX.

        The default method takes it; methods that need scores refuse.

        Parameters
        ----------
        log_density
            log p, up to a constant, one number per draw, NumPy in and out. -inf where there is no
            density.
        support
            Where the coordinates live, as in `Target`.
        conditionals
            Optional: ``conditionals(x, j)`` with x (n, d) to (n, k), the log probabilities, up to a
            constant per row, of all k values of a discrete coordinate j given the others. Not used
            where its support has no end, or more than 65,536 values.

        Examples
        --------
        >>> import numpy as np, steinwise as sw
        >>> def log_density(x):
        ...     return -np.abs(x).sum(axis=1)
        >>> draws = np.random.default_rng(0).laplace(size=(400, 2))
        >>> sw.check(draws, sw.Target.from_log_density(log_density)).rejected
        False
        """
        return HostTarget(None, log_density, support=support, conditionals=conditionals)

    @staticmethod
    def at_draws(scores: Any, *, noisy: bool = False, support: Any = undeclared) -> AbstractTarget:
        """A target of which only the scores at the draws are known, such as a sampler keeps them.

        Methods that evaluate the density nowhere else take it; the others refuse, and say which
        do. Nothing tells whether the scores belong to the draws but their order: row by row those
        of the draws that are checked.

        Parameters
        ----------
        scores
            grad log p at every draw, in the shape of the draws: (n, d) or (chain, draw, d); an
            array in memory, memory-mapped, or of zarr, HDF5 or Dask, which are read in slabs. For
            discrete coordinates any finite numbers, such as 0: they are not used.
        noisy
            Whether they are unbiased estimates, each from a minibatch of its own that was chosen
            after the draw was made: see the notes of `Target.from_score`.
        support
            Where the coordinates live, as in `Target`.

        Examples
        --------
        >>> import numpy as np, steinwise as sw
        >>> draws = np.random.default_rng(0).normal(size=(4, 250, 2))
        >>> sw.check(draws, sw.Target.at_draws(-draws), method="ksd").rejected
        False
        """
        return ScoresAtDraws(scores, noisy, support)

    def prepare(self, d: int) -> str:
        return self._density.plan(d).dtype

    def has_scores(self, d: int) -> bool:
        return not self._density.plan(d).no_derivative

    def no_derivative(self, d: int) -> str:
        return "" if self.lines is not None else self._density.plan(d).no_derivative

    def on_own_scale(self, x: np.ndarray) -> np.ndarray:
        return x if self._space is None else self._space.from_line(x)

    def line_limits(self) -> tuple[np.ndarray, np.ndarray] | None:
        return None if self._space is None else self._space.limits

    def composed(self, space: Unconstrained) -> "Target":
        """The same density with its bounded coordinates on the real line; compiled once."""
        key = (*space.low.tolist(), *space.high.tolist())
        if key not in self._composed:
            self._composed[key] = Target(space.composed(self.log_density))
            object.__setattr__(self._composed[key], "_space", space)
        return self._composed[key]

    def try_draw(self, draw: np.ndarray) -> None:
        if len(draw) not in self._tried:
            require_indices_inside(self.log_density, draw, self._density.plan(len(draw)).wide)
            self._tried.add(len(draw))

    def score(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray:
        self._density.require_derivative(x.shape[1])
        values, scores = self._density.values_and_scores(x, memory)
        scores[_not_of_a_density(values, scores)] = np.nan
        require_finite(scores, x, 0, np.arange(x.shape[1]), axis=1)
        return scores

    def log_values(self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY) -> np.ndarray:
        return self._density.at_points("value", x.shape[1], memory, len(x), rows_of(x))

    def values_and_scores(
        self, x: np.ndarray, *, memory: int = DEFAULT_MEMORY
    ) -> tuple[np.ndarray, np.ndarray] | None:
        return self._density.values_and_scores(x, memory) if self.has_scores(x.shape[1]) else None

    def line_scores(
        self,
        x: np.ndarray,
        coordinates: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
        first_row: int = 0,
    ) -> np.ndarray:
        self._density.require_derivative(x.shape[1])
        index = np.asarray(coordinates, dtype=np.int32)
        if self.lines is not None:
            scores = self._density.on_lines("line", x, y, index, memory)
        else:
            found = self._density.on_lines(DIRECTION, x, y, index, memory)
            scores = np.where(np.isfinite(found[..., 0]), found[..., 1], np.nan)
        require_finite(scores, x, first_row, index, axis=1)
        return scores

    def line_values(
        self,
        x: np.ndarray,
        coordinates: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        index = np.asarray(coordinates, dtype=np.int32)
        if self.lines is not None:
            return None, self._density.on_lines("line", x, y, index, memory)
        if not self.has_scores(x.shape[1]):
            return self._density.on_lines(DIRECTION_LEVEL, x, y, index, memory), None
        values_and_slopes = self._density.along_coordinates(x, index, y, memory)
        return values_and_slopes[..., 0], values_and_slopes[..., 1]

    def outcome_values(
        self,
        x: np.ndarray,
        coordinate: int,
        values: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
        complete: bool = True,
    ) -> np.ndarray:
        index = np.array([coordinate], np.int32)
        if self.conditionals is not None and complete:
            given = np.zeros((len(x), 1, 1))
            logs = self._density.on_lines("conditional", x, given, index, memory)
            return require_outcomes(logs.reshape(len(x), -1), len(values), coordinate)
        points = np.broadcast_to(values, (len(x), 1, len(values)))
        return self._density.on_lines(DIRECTION_LEVEL, x, points, index, memory)[:, 0]

    def direction_values(
        self,
        x: np.ndarray,
        directions: np.ndarray,
        steps: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        if not self.has_scores(x.shape[1]):
            return self._density.on_lines(DIRECTION_LEVEL, x, steps, directions, memory), None
        values_and_slopes = self._density.on_lines(DIRECTION, x, steps, directions, memory)
        return values_and_slopes[..., 0], values_and_slopes[..., 1]

    def line_series(
        self,
        x: np.ndarray,
        directions: np.ndarray,
        order: int,
        most_evaluations: float = np.inf,
    ) -> LineSeries | None:
        return self._density.line_series(x, directions, order, most_evaluations)

    def block_scores(
        self,
        x: np.ndarray,
        block: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = DEFAULT_MEMORY,
        first_row: int = 0,
    ) -> np.ndarray:
        d = x.shape[1]
        plan = self._density.require_derivative(d)
        if self.lines is not None:
            check_lines(self.lines, d, plan, len(block))
        index = np.asarray(block, dtype=np.int32)
        flat = y.reshape(-1, len(index))

        def points(i: np.ndarray) -> tuple[np.ndarray, ...]:
            return x[i // y.shape[1]], np.broadcast_to(index, (len(i), len(index))), flat[i]

        scores = self._density.at_points("block", d, memory, len(flat), points).reshape(y.shape)
        require_finite(scores, x, first_row, index, axis=2)
        return scores


def _not_of_a_density(values: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Rows where the log density is not finite, while no score says which coordinate is to blame.

    The derivative of log(x) is 1 / x for negative x too, and that of -inf outside a support is 0:
    numbers that no density has.
    """
    return ~np.isfinite(values) & np.isfinite(scores).all(axis=1)
