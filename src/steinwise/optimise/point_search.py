r"""Stein points: new points, placed one by one where they lower the KSD most.

Point t + 1 minimises over R^d what Stein thinning minimises over draws (Chen, Mackey, Gorham, Briol
and Oates, "Stein points", 2018). At every step candidates come from the given draws and from around
the points already placed. The best of them start one L-BFGS search, all together, so that the
target is called with many points at a time; the best point found is placed.

The gradient of the objective f(x, b(x)) is df/dx + H df/db, with H the Hessian of log p. The
product with H is a difference of two scores, which every target has.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.random import stream
from steinwise._internal.run_options import RunOptions
from steinwise._internal.threads import one_blas_thread
from steinwise.optimise.preconditioned import DIFFERENCE_STEP, ScaledSpace
from steinwise.optimise.regularisation import Regularisation, require_log_density
from steinwise.target import AbstractTarget

STARTS = 8  # of one search: more find better minima, at the price of a wider call of the target
# L-BFGS ends early: the next point makes up for what is missing to the minimum, and 30 iterations
# make about 100 calls of the target per point.
SEARCH_OPTIONS = {"maxiter": 30, "ftol": 1e-8}
# The standard deviation of candidates around a point, in mean absolute deviations of the draws:
# wide enough to leave the basin of the point itself, narrow enough to stay among the mass.
SPREAD = 1.0

Rows = Float[np.ndarray, "n d"]
Values = Float[np.ndarray, " n"]
PlacedRows = Float[np.ndarray, "t d"]


class PlacedPoints(NamedTuple):
    """The points placed so far, in the scaled space."""

    points: PlacedRows
    scores: PlacedRows
    gains: Float[np.ndarray, " t"]  # of each point, to the sum of k_0 over all pairs

    @classmethod
    def none(cls, d: int) -> "PlacedPoints":
        return cls(np.empty((0, d)), np.empty((0, d)), np.empty(0))

    def with_point(self, point: np.ndarray, score: np.ndarray, gain: float) -> "PlacedPoints":
        return PlacedPoints(
            np.concatenate([self.points, point[None]]),
            np.concatenate([self.scores, score[None]]),
            np.append(self.gains, gain),
        )

    @property
    def ksd(self) -> Float[np.ndarray, " t"]:
        """The squared KSD of the first 1, ..., t points."""
        return np.maximum(np.cumsum(self.gains), 0.0) / np.arange(1, len(self.gains) + 1) ** 2


def place_points(
    search: "PointSearch",
    draws: Float[np.ndarray, "n d"],
    m: int,
    candidates: int,
    run: RunOptions,
) -> PlacedPoints:
    """m points, found from candidates among and around these draws."""
    placed = PlacedPoints.none(draws.shape[1])
    for t in run.bar(range(m), m, "placing points"):
        rng = stream(run.seed, "stein points", t)
        placed = search.place_next(
            placed, candidate_points(draws, search.space.scale, placed.points, candidates, rng)
        )
    return placed


def candidate_points(
    draws: Float[np.ndarray, "n d"],
    scale: Float[np.ndarray, " d"],
    placed: PlacedRows,
    count: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "count d"]:
    """Draws, and normal steps away from points already placed, in the scaled space."""
    n_around = count // 2 if len(placed) else 0
    drawn = draws[rng.integers(len(draws), size=count - n_around)] / scale
    if not n_around:
        return drawn
    deviation = np.abs(draws - draws.mean(axis=0)).mean(axis=0) / scale
    steps = SPREAD * deviation * rng.normal(size=(n_around, draws.shape[1]))
    return np.concatenate([drawn, placed[rng.integers(len(placed), size=n_around)] + steps])


@dataclass(frozen=True, eq=False)
class PointSearch:
    """The objective of the next point, given those already placed, and the search for it."""

    space: ScaledSpace
    target: AbstractTarget
    rule: Regularisation
    memory: int

    def place_next(self, placed: PlacedPoints, candidates: Rows) -> PlacedPoints:
        """With the best point that a search from these candidates finds."""
        values = self.objective(placed, candidates)[0] + self._penalty(candidates)
        starts = candidates[np.argsort(values, kind="stable")[:STARTS]]
        ends = np.concatenate([starts[:1], self._descend(placed, starts)])
        values, gains, scores = self.objective(placed, ends)
        best = int(np.argmin(values + self._penalty(ends)))
        return placed.with_point(ends[best], scores[best], float(gains[best]))

    def objective(self, placed: PlacedPoints, x: Rows) -> tuple[Values, Values, Rows]:
        """The objective without the curvature penalty, its part from the KSD, and the scores."""
        scores = self._score(x)
        gains, _, _ = _gain(self.space.matrix, x, scores, placed.points, placed.scores)
        return gains - self._reward(placed, x), gains, scores

    def value_and_slope(self, placed: PlacedPoints, x: Rows) -> tuple[Values, Rows]:
        """The objective without the curvature penalty, and its gradient."""
        scores = self._score(x)
        gains, by_x, by_score = _gain(self.space.matrix, x, scores, placed.points, placed.scores)
        length = np.linalg.norm(by_score, axis=1, keepdims=True)
        step = DIFFERENCE_STEP * by_score / np.where(length > 0, length, 1.0)
        ahead, behind = np.split(self._score(np.concatenate([x + step, x - step])), 2)
        slopes = by_x + (ahead - behind) / (2 * DIFFERENCE_STEP) * length
        reward_slopes = self.rule.entropy * (len(placed.points) + 1) * scores
        return gains - self._reward(placed, x), slopes - reward_slopes

    def _descend(self, placed: PlacedPoints, starts: Rows) -> Rows:
        """L-BFGS on the sum of the objectives at several points."""
        from scipy.optimize import minimize

        def total(flat: np.ndarray) -> tuple[float, np.ndarray]:
            values, slopes = self.value_and_slope(placed, flat.reshape(starts.shape))
            return float(values.sum()), slopes.ravel()

        search = minimize(
            total, starts.ravel(), jac=True, method="L-BFGS-B", options=SEARCH_OPTIONS
        )
        return search.x.reshape(starts.shape)

    def _score(self, x: Rows) -> Rows:
        scale = self.space.scale
        return self.target.score(x * scale, memory=self.memory) * scale

    def _penalty(self, x: Rows) -> Values:
        if not self.rule.active:
            return np.zeros(len(x))
        return self.space.positive_curvature(self.target, x * self.space.scale, self.memory)

    def _reward(self, placed: PlacedPoints, x: Rows) -> Values:
        if not self.rule.entropy:
            return np.zeros(len(x))
        values = require_log_density(self.target, x * self.space.scale, self.memory)
        return self.rule.entropy * (len(placed.points) + 1) * values


@one_blas_thread
def _gain(
    matrix: Float[np.ndarray, "d d"], x: Rows, score: Rows, y: PlacedRows, score_y: PlacedRows
) -> tuple[Values, Rows, Rows]:
    """k_0(x, x) + 2 sum_s k_0(x, y_s), and its derivatives in x and in the score at x."""
    difference = x[:, None] - y
    u, trace = difference @ matrix, np.trace(matrix)
    q = 1 / (1 + np.einsum("ntd,ntd->nt", difference, u))
    u_squared = np.einsum("ntd,ntd->nt", u, u)
    score_difference = score[:, None] - score_y
    products = score @ score_y.T
    along = trace + np.einsum("ntd,ntd->nt", score_difference, u)
    k = np.sqrt(q)
    values = k * (products + q * (along - 3 * q * u_squared))
    by_u = k * q * (-products - 3 * q * along + 15 * q**2 * u_squared)
    by_along = k * q
    by_x = np.einsum("nt,ntd->nd", by_u, u)
    by_x += np.einsum("nt,ntd->nd", by_along, score_difference) @ matrix
    by_x -= 6 * np.einsum("nt,ntd->nd", k * q**2, u) @ matrix
    by_score = k @ score_y + np.einsum("nt,ntd->nd", by_along, u)
    own = np.einsum("nd,nd->n", score, score) + trace
    return own + 2 * values.sum(axis=1), 2 * by_x, 2 * (score + by_score)
