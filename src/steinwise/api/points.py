r"""Stein points: new points, placed one by one where the KSD of their law falls most.

Point t + 1 minimises over R^d what Stein thinning minimises over draws (Chen, Mackey, Gorham, Briol
and Oates, "Stein points", 2018). The search at every step: candidates from the given draws and
around the points already placed; the best of them start one L-BFGS search, all together, so that
the target is called with many points at a time; the best point found is placed.

The gradient of the objective f(x, b(x)) is df/dx + H df/db, with H the Hessian of log p. The
product with H is a difference of two scores, which every target has.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from steinwise._internal.memory import budget_bytes
from steinwise._internal.random import seed_words, stream
from steinwise._internal.run_options import RunOptions
from steinwise._internal.threads import one_blas_thread
from steinwise._internal.validation import require_whole
from steinwise.api.thin import as_samples, describe, entropy_weight, log_density
from steinwise.draws.samples import Samples
from steinwise.optimise.preconditioned import STEP, Frame
from steinwise.results.points import PointSet
from steinwise.target import AbstractTarget, as_target

STARTS = 8  # searched from together
SEARCH = {"maxiter": 30, "ftol": 1e-8}
SPREAD = 1.0  # of candidates around a point, in mean absolute deviations of the draws

Rows = Float[np.ndarray, "n d"]
Placed = Float[np.ndarray, "t d"]


def points(
    draws: Any,
    target: Any,
    m: int,
    *,
    preconditioner: str | np.ndarray = "med",
    standardise: bool = True,
    regularised: bool = True,
    entropy: float | None = None,
    candidates: int = 200,
    names: Sequence[str] | None = None,
    seed: Any = 0,
    memory: str | int = "1GiB",
    progress: bool | None = None,
) -> PointSet:
    r"""Place m new points that represent the density: Stein points.

    .. math:: x_{t+1} = \arg\min_{x \in R^d} \; k_0(x, x) + 2 \sum_{s \le t} k_0(x, x_s)

    The objective has many local minima; the search is of many starts, and finds good ones, not
    surely the least.

    Parameters
    ----------
    draws
        Where to look, and the scale of each coordinate: draws of a short run, of the prior or of a
        rough approximation, in any form that `sw.check` takes. They need not fit the density, but
        a mode that none of them is near may not be found.
    target
        As in `sw.check`; it is called about 100 times a point, with some dozen points at a time.
    m, preconditioner, standardise, entropy
        As in `sw.thin`.
    regularised
        As in `sw.thin`. The entropic term is part of the search; the Laplacian correction, whose
        gradient has third derivatives, decides among the points that it starts from and finds.
    candidates
        How many points are looked at before each search, half of them draws, half around points
        already placed.
    names, memory, progress
        As in `sw.thin`.
    seed
        An integer or a JAX key, for the candidates.

    Returns
    -------
    PointSet
        `points` and `ksd`, the squared KSD of the first 1, ..., m of them.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> target = sw.Gaussian([0, 0], np.eye(2))
    >>> rough = np.random.default_rng(0).normal(1.0, 2.0, size=(200, 2))
    >>> placed = sw.points(rough, target, 20)
    >>> placed.ksd[-1] < sw.thin(rough, target, 20).ksd[-1]
    np.True_
    """
    require_whole("m", m, least=1)
    require_whole("candidates", candidates, least=STARTS)
    seed_words(seed)
    weight = entropy_weight(regularised, entropy, m)
    run = RunOptions(seed, budget_bytes(memory), progress=progress)
    samples = as_samples(draws, names)
    density = as_target(target)
    density.prepare(samples.dim)
    frame = Frame.of(samples.rows, preconditioner, standardise)
    search = _Search(frame, density, run.memory, regularised, weight)
    for t in run.bar(range(m), m, "Stein points"):
        search.place(_candidates(samples, search, candidates, run.seed, t))
    return PointSet(
        points=search.points * frame.scale,
        ksd=np.maximum(np.cumsum(search.gains), 0.0) / np.arange(1, m + 1) ** 2,
        names=samples.names,
        description=describe("Stein points", frame, standardise, regularised, weight),
        preconditioner=frame.matrix,
        scale=frame.scale,
    )


def _candidates(samples: Samples, search: "_Search", count: int, seed: object, step: int) -> Rows:
    """Draws, and normal steps away from points already placed, in the frame."""
    rng = stream(seed, "stein points", step)
    scale, placed = search.frame.scale, search.points
    around = count // 2 if len(placed) else 0
    drawn = samples.rows[rng.integers(samples.n, size=count - around)] / scale
    if not around:
        return drawn
    away = np.abs(samples.rows - samples.rows.mean(axis=0)).mean(axis=0) / scale
    steps = SPREAD * away * rng.normal(size=(around, samples.dim))
    return np.concatenate([drawn, placed[rng.integers(len(placed), size=around)] + steps])


class _Search:
    """The points placed so far, in the frame, and the search for the next."""

    def __init__(
        self,
        frame: Frame,
        target: AbstractTarget,
        memory: int,
        regularised: bool,
        weight: float,
    ) -> None:
        self.frame, self.target, self.memory = frame, target, memory
        self.regularised, self.weight = regularised, weight
        d = len(frame.scale)
        self.points, self.scores = np.empty((0, d)), np.empty((0, d))
        self.gains: list[float] = []  # to the sum of k_0 over all pairs of points

    def place(self, candidates: Rows) -> None:
        """Add the best point that a search from these candidates finds."""
        values = self._objective(candidates)[0] + self._correction(candidates)
        starts = candidates[np.argsort(values, kind="stable")[:STARTS]]
        found = np.concatenate([starts[:1], self._descend(starts)])
        values, gains, scores = self._objective(found)
        best = int(np.argmin(values + self._correction(found)))
        self.points = np.concatenate([self.points, found[best : best + 1]])
        self.scores = np.concatenate([self.scores, scores[best : best + 1]])
        self.gains.append(float(gains[best]))

    def _descend(self, starts: Rows) -> Rows:
        """L-BFGS on the sum of the objectives at several points."""
        from scipy.optimize import minimize

        def total(flat: np.ndarray) -> tuple[float, np.ndarray]:
            values, slopes = self._value_and_slope(flat.reshape(starts.shape))
            return float(values.sum()), slopes.ravel()

        found = minimize(total, starts.ravel(), jac=True, method="L-BFGS-B", options=SEARCH)
        return found.x.reshape(starts.shape)

    def _score(self, x: Rows) -> Rows:
        scale = self.frame.scale
        return self.target.score(x * scale, memory=self.memory) * scale

    def _correction(self, x: Rows) -> Float[np.ndarray, " n"]:
        if not self.regularised:
            return np.zeros(len(x))
        scale = self.frame.scale
        return self.frame.positive_curvature(self.target, x * scale, self.memory)

    def _tilt(self, x: Rows) -> Float[np.ndarray, " n"]:
        if not self.weight:
            return np.zeros(len(x))
        values = log_density(self.target, x * self.frame.scale, self.memory)
        return self.weight * (len(self.points) + 1) * values

    def _objective(self, x: Rows) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Rows]:
        """The objective without the correction, its part that is the KSD's, and the scores."""
        scores = self._score(x)
        gains, _, _ = _gain(self.frame.matrix, x, scores, self.points, self.scores)
        return gains - self._tilt(x), gains, scores

    def _value_and_slope(self, x: Rows) -> tuple[Float[np.ndarray, " n"], Rows]:
        scores = self._score(x)
        gains, by_x, by_score = _gain(self.frame.matrix, x, scores, self.points, self.scores)
        length = np.linalg.norm(by_score, axis=1, keepdims=True)
        step = STEP * by_score / np.where(length > 0, length, 1.0)
        ahead, behind = np.split(self._score(np.concatenate([x + step, x - step])), 2)
        slopes = by_x + (ahead - behind) / (2 * STEP) * length
        tilt = self.weight * (len(self.points) + 1) * scores
        return gains - self._tilt(x), slopes - tilt


@one_blas_thread
def _gain(
    matrix: Float[np.ndarray, "d d"], x: Rows, score: Rows, y: Placed, score_y: Placed
) -> tuple[Float[np.ndarray, " n"], Rows, Rows]:
    """k_0(x, x) + 2 sum_s k_0(x, y_s), and its derivatives in x and in the score at x."""
    away = x[:, None] - y
    u, trace = away @ matrix, np.trace(matrix)
    q = 1 / (1 + np.einsum("ntd,ntd->nt", away, u))
    steep = np.einsum("ntd,ntd->nt", u, u)
    apart = score[:, None] - score_y
    products = score @ score_y.T
    along = trace + np.einsum("ntd,ntd->nt", apart, u)
    k = np.sqrt(q)
    values = k * (products + q * (along - 3 * q * steep))
    of_u = k * q * (-products - 3 * q * along + 15 * q**2 * steep)
    of_slopes = k * q
    by_x = np.einsum("nt,ntd->nd", of_u, u)
    by_x += np.einsum("nt,ntd->nd", of_slopes, apart) @ matrix
    by_x -= 6 * np.einsum("nt,ntd->nd", k * q**2, u) @ matrix
    by_score = k @ score_y + np.einsum("nt,ntd->nd", of_slopes, u)
    own = np.einsum("nd,nd->n", score, score) + trace
    return own + 2 * values.sum(axis=1), 2 * by_x, 2 * (score + by_score)
