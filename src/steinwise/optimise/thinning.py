r"""Stein thinning: the draws whose empirical distribution has the smallest KSD, one at a time.

Draw t + 1 is the minimiser over all draws of

.. math:: k_0(x, x) + 2 \sum_{s \le t} k_0(x, x_s),

which is what x adds to the squared KSD of t + 1 points, times (t + 1)^2 (Riabiz, Chen, Cockayne,
Swietach, Niederer, Mackey and Oates, "Optimal thinning of MCMC output", 2022). The terms of
`regularisation` are added to it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.memory import chunks
from steinwise._internal.run_options import RunOptions
from steinwise._internal.threads import one_blas_thread
from steinwise.draws.samples import Samples
from steinwise.methods.base import scores_of
from steinwise.optimise.preconditioned import ScaledSpace, SteinColumns
from steinwise.optimise.regularisation import Regularisation, require_log_density
from steinwise.target import AbstractTarget

# Relative to the sum of k_0(x, x) over the chosen draws: objectives closer than this belong to the
# same draw twice. Products of matrices round such copies differently, by some 1e-16 per addition.
ROUNDING = 1e-12
CURVATURE_ENTRIES = 2**21  # of a chunk of rows, 16 MB; its lines take a few times as much


class ChosenDraws(NamedTuple):
    """The numbers of the chosen draws, and the squared KSD of the first 1, ..., m of them."""

    indices: Int[np.ndarray, " m"]
    ksd: Float[np.ndarray, " m"]


def choose_draws(
    samples: Samples,
    target: AbstractTarget,
    m: int,
    space: ScaledSpace,
    rule: Regularisation,
    run: RunOptions,
) -> ChosenDraws:
    """The m draws that Stein thinning chooses."""
    x, n, d = samples.rows, samples.n, samples.dim
    scaled = x / space.scale
    scores = scores_of(samples, target, run) * space.scale
    penalty, reward = np.zeros(n), np.zeros(n)
    if rule.active:
        reward = rule.entropy * require_log_density(target, x, run.memory)
        for rows in chunks(n, CURVATURE_ENTRIES // d):
            penalty[rows] = space.positive_curvature(target, x[rows], run.memory)
    return _choose_greedily(SteinColumns.of(space, scaled, scores), scaled, penalty, reward, m, run)


@one_blas_thread
def _choose_greedily(
    columns: SteinColumns,
    x: Float[np.ndarray, "n d"],
    penalty: Float[np.ndarray, " n"],
    reward: Float[np.ndarray, " n"],
    m: int,
    run: RunOptions,
) -> ChosenDraws:
    d = x.shape[1]
    indices, total, ksd, scale = np.empty(m, int), 0.0, np.empty(m), 0.0
    gain = columns.diagonal.copy()  # to the sum of k_0 over all pairs of points
    for t in run.bar(range(m), m, "choosing draws"):
        objective = gain + penalty - (t + 1) * reward
        best = int(objective.argmin())
        scale += columns.diagonal[best]
        i = indices[t] = int(np.argmax(objective <= objective[best] + ROUNDING * scale))
        total += gain[i]
        ksd[t] = max(total, 0.0) / (t + 1) ** 2
        gain += 2 * columns.with_point(x[i], columns.columns[d:, i])
    return ChosenDraws(indices, ksd)
