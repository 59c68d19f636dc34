r"""Uphill from many points at once: a quasi-Newton method (L-BFGS), one call of log p a step.

Every point has its own memory and its own line search (bisection to the weak Wolfe conditions,
Lewis and Overton 2013, so that the memory stays positive definite); what they share is the call of
the density. It is NumPy on purpose: optax's L-BFGS, compiled into the density of the user, takes
2.4 CPU seconds to compile for each density, twice a whole check of a logistic regression.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

MEMORY = 8  # pairs of steps and changes of the gradient that are kept; 3 to 20 are usual
MOST_ROUNDS = 100  # evaluations of every point at most
CLOSE = 1e-4  # nats that the next step would gain at most, at a maximum
NEARLY = 1e-2  # the same, where a line search can find no more in the last digits
MOST_BISECTIONS = 25
ENOUGH_GAIN, ENOUGH_SLOPE = 1e-4, 0.9  # of the Wolfe conditions, as is usual for L-BFGS
FAR = 1e4  # units from the origin beyond which a point is said to go off without end

ValuesAndGradients = Callable[
    [Float[np.ndarray, "m d"]], tuple[Float[np.ndarray, " m"], Float[np.ndarray, "m d"]]
]


class Arrivals(NamedTuple):
    """Where points arrived, and which of them are maxima, or went off without end, or neither.

    Points that start outside the support are none of these.
    """

    points: Float[np.ndarray, "m d"]
    values: Float[np.ndarray, " m"]
    maximum: Bool[np.ndarray, " m"]
    unbounded: Bool[np.ndarray, " m"]
    unfinished: Bool[np.ndarray, " m"]


@dataclass(eq=False)
class _Climbers:
    """The state of all points; those that are `done` are not moved any more."""

    at: np.ndarray  # (m, d)
    value: np.ndarray
    gradient: np.ndarray
    done: np.ndarray
    maximum: np.ndarray
    endless: np.ndarray  # whether the longest step that was tried was not long enough
    close: np.ndarray  # whether the last step promised next to no gain; twice in a row is a maximum
    direction: np.ndarray
    slope: np.ndarray
    step: np.ndarray
    low: np.ndarray
    high: np.ndarray
    bisections: np.ndarray
    steps: np.ndarray  # (m, memory, d)
    bends: np.ndarray  # minus the changes of the gradient in these steps
    weights: np.ndarray  # (m, memory); 0 where there is none yet

    def aim(self, rows: np.ndarray) -> None:
        """New directions for some points, and a fresh line search along them."""
        direction = _newton_like(
            self.gradient[rows], self.steps[rows], self.bends[rows], self.weights[rows]
        )
        slope = np.einsum("md,md->m", direction, self.gradient[rows])
        self.direction[rows], self.slope[rows] = direction, slope
        self.step[rows], self.low[rows], self.high[rows] = 1.0, 0.0, np.inf
        self.bisections[rows] = 0
        close = (slope < CLOSE) & (self.weights[rows, -1] > 0)
        close, self.close[rows] = close & self.close[rows], close
        still = np.abs(self.gradient[rows]).max(axis=1) < CLOSE
        self.maximum[rows] = close | still
        self.done[rows] |= close | still | (np.abs(self.at[rows]).max(axis=1) > FAR)


def climb(function: ValuesAndGradients, starts: Float[np.ndarray, "m d"]) -> Arrivals:
    """Follow log p uphill from every start, in units in which it varies by about 1.

    `function` gives values and gradients of some points, which need not be finite.
    """
    m, d = starts.shape
    value, gradient = function(starts)
    usable = np.isfinite(value) & np.isfinite(gradient).all(axis=1)
    all_points = _Climbers(
        starts.copy(),
        value,
        np.where(usable[:, None], gradient, 0.0),
        ~usable,
        *(np.zeros(m, bool), np.zeros(m, bool), np.zeros(m, bool)),
        *(np.zeros((m, d)), np.zeros(m), np.ones(m)),
        *(np.zeros(m), np.full(m, np.inf), np.zeros(m, int)),
        *(np.zeros((m, MEMORY, d)), np.zeros((m, MEMORY, d)), np.zeros((m, MEMORY))),
    )
    all_points.aim(np.flatnonzero(usable))
    for _ in range(MOST_ROUNDS - 1):
        rows = np.flatnonzero(~all_points.done)
        if len(rows) == 0:
            break
        _advance(all_points, rows, function)
    far = np.abs(all_points.at).max(axis=1) > FAR
    unbounded = usable & (far | all_points.endless | (all_points.value == np.inf))
    maximum = all_points.maximum & usable & ~unbounded
    unfinished = usable & ~maximum & ~unbounded
    return Arrivals(all_points.at, all_points.value, maximum, unbounded, unfinished)


def _advance(points: _Climbers, rows: np.ndarray, function: ValuesAndGradients) -> None:
    """One evaluation for each of these points: a step that is taken, or a shorter or longer one."""
    move = points.step[rows, None] * points.direction[rows]
    value, gradient = function(points.at[rows] + move)
    finite = np.isfinite(value) & np.isfinite(gradient).all(axis=1)
    gain = points.value[rows] + ENOUGH_GAIN * points.step[rows] * points.slope[rows]
    with np.errstate(invalid="ignore"):
        too_long = ~finite | ~(value >= gain)
        ahead = np.einsum("md,md->m", gradient, points.direction[rows])
        too_short = ~too_long & (ahead > ENOUGH_SLOPE * points.slope[rows])
    points.high[rows[too_long]] = points.step[rows[too_long]]
    points.low[rows[too_short]] = points.step[rows[too_short]]
    searching = rows[too_long | too_short]
    open_ended = np.isinf(points.high[searching])
    middle = (points.low[searching] + np.where(open_ended, 0.0, points.high[searching])) / 2
    points.step[searching] = np.where(open_ended, 2 * points.low[searching], middle)
    points.bisections[searching] += 1
    given_up = searching[points.bisections[searching] >= MOST_BISECTIONS]
    points.done[given_up] = True
    points.maximum[given_up] = points.slope[given_up] < NEARLY
    points.endless[given_up] = np.isinf(points.high[given_up]) & ~points.maximum[given_up]

    taken = ~(too_long | too_short)
    moved = rows[taken]
    bend = points.gradient[moved] - gradient[taken]
    curvature = np.einsum("md,md->m", move[taken], bend)
    for store, new in ((points.steps, move[taken]), (points.bends, bend)):
        store[moved] = np.concatenate([store[moved, 1:], new[:, None]], axis=1)
    inverse = 1 / np.where(curvature > 0, curvature, np.inf)
    points.weights[moved] = np.concatenate([points.weights[moved, 1:], inverse[:, None]], axis=1)
    points.at[moved] += move[taken]
    points.value[moved], points.gradient[moved] = value[taken], gradient[taken]
    points.aim(moved)


def _newton_like(
    gradient: Float[np.ndarray, "m d"],
    steps: Float[np.ndarray, "m k d"],
    bends: Float[np.ndarray, "m k d"],
    weights: Float[np.ndarray, "m k"],
) -> Float[np.ndarray, "m d"]:
    """The gradient times an inverse Hessian that steps and their bends suggest (two loops)."""
    direction, shares = gradient.copy(), np.zeros(weights.shape)
    for k in reversed(range(weights.shape[1])):
        shares[:, k] = weights[:, k] * np.einsum("md,md->m", steps[:, k], direction)
        direction -= shares[:, k, None] * bends[:, k]
    size = np.einsum("md,md->m", bends[:, -1], bends[:, -1])
    known = weights[:, -1] > 0
    scale = 1 / np.where(known, weights[:, -1] * size, np.linalg.norm(gradient, axis=1) + 1)
    direction *= scale[:, None]
    for k in range(weights.shape[1]):
        share = weights[:, k] * np.einsum("md,md->m", bends[:, k], direction)
        direction += (shares[:, k] - share)[:, None] * steps[:, k]
    return direction
