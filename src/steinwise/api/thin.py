r"""Stein thinning: the draws whose empirical law has the smallest KSD, chosen one by one.

Draw t + 1 is the minimiser over all draws of

.. math:: k_0(x, x) + 2 \sum_{s \le t} k_0(x, x_s),

which is what the squared KSD of t + 1 points, times (t + 1)^2, gains by x (Riabiz, Chen, Cockayne,
Swietach, Niederer, Mackey and Oates, "Optimal thinning of MCMC output", 2022).

Two pathologies (Benard, Staber and Da Veiga, "Kernel Stein discrepancy thinning: a theoretical
perspective of pathologies and a practical fix with regularization", 2023). The score is 0, and
k_0(x, x) least, at every stationary point of p: saddles and minima between modes are chosen as
gladly as modes. And k_0 of two draws in modes far apart is almost 0: the KSD hardly sees how much
mass each mode has. The regularised objective adds to it

.. math:: \sum_j \max(0, \partial_j^2 \log p(x)) - \lambda (t + 1) \log p(x), \quad \lambda = 1/m,

where the first term is 0 at modes and positive where p is convex, and the second prefers the
higher of two modes, with a weight that is as small as the KSD itself, O(1/m).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.memory import budget_bytes, chunks
from steinwise._internal.run_options import RunOptions
from steinwise._internal.threads import one_blas_thread
from steinwise._internal.validation import require_whole
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, TargetError
from steinwise.optimise.preconditioned import Frame, SteinColumns
from steinwise.results.points import Thinned
from steinwise.target import AbstractTarget, as_target

ROUNDING = 1e-12  # relative: values this close are the same draw twice
CURVATURE_ENTRIES = 2**21  # of a chunk of rows


def thin(
    draws: Any,
    target: Any,
    m: int,
    *,
    preconditioner: str | np.ndarray = "med",
    standardise: bool = True,
    regularised: bool = True,
    entropy: float | None = None,
    names: Sequence[str] | None = None,
    memory: str | int = "1GiB",
    progress: bool | None = None,
) -> Thinned:
    r"""Choose the m draws that represent the density best: Stein thinning.

    .. math::
        x_{t+1} = \arg\min_x \; k_0(x, x) + 2 \sum_{s \le t} k_0(x, x_s)
        + \sum_j \max(0, \partial_j^2 \log p(x)) - \lambda (t + 1) \log p(x)

    with the Stein kernel k_0 of :math:`k(x, y) = (1 + (x - y)' L (x - y))^{-1/2}`. Warm-up that was
    left in is passed over, and a bias of the sampler is partly taken back. Draws need not be
    independent. The cost is n d m, after the scores of all draws.

    The gain over as many random draws fades with the dimension, and is small at thirty coordinates
    (`docs/thinning.md`).

    Parameters
    ----------
    draws
        (n, d), (chain, draw, d), a data frame or a `sw.Samples`, as in `sw.check`.
    target
        As in `sw.check`.
    m
        How many to choose; a draw can be chosen more than once.
    preconditioner
        L: "id" for the identity, "med" for 1 / median^2 of the distances of at most 1000 evenly
        spaced draws (the default: in many dimensions the others are too narrow), "sclmed" for
        log(min(n, 1000)) times that, "smpcov" for the inverse of the draws' covariance; or a
        positive definite matrix.
    standardise
        Divide each coordinate by its mean absolute deviation first.
    regularised
        Whether the last two terms are there: the Laplacian correction, without which points
        between modes are chosen, and the entropic term, without which modes get wrong weights.
        They ask for the log density and 2 n d scores along lines. With False it is Stein thinning
        as first published, a little better where p has a single mode.
    entropy
        The weight lambda of the entropic term, 1/m by default; 0 leaves the correction alone.
    names
        One name per coordinate.
    memory
        The budget for the evaluation of scores.
    progress
        Show a progress bar; by default only on a terminal.

    Returns
    -------
    Thinned
        `indices` into the draws, one chain after the other, `chains` and `draws` (their places),
        `points`, and `ksd`, the squared KSD of the first 1, ..., m of them.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(size=(1000, 2))
    >>> draws[:100] += 5.0  # warm-up
    >>> thinned = sw.thin(draws, sw.Gaussian([0, 0], np.eye(2)), 20)
    >>> print(thinned)  # doctest: +ELLIPSIS
    Stein thinning (IMQ kernel, median preconditioner, standardised, regularised with entropy 0.05)
      chosen from         1 chain x 1000 draws
      points              20, in 2 coordinates
      squared KSD         0.0... of the first 7, ... of the first 3, ... of the first 1
      place in the chain  ... from each quarter of the chains
    >>> thinned.indices.min() >= 100
    np.True_
    """
    require_whole("m", m, least=1)
    weight = entropy_weight(regularised, entropy, m)
    run = RunOptions(memory=budget_bytes(memory), progress=progress)
    samples = as_samples(draws, names)
    density = as_target(target)
    density.prepare(samples.dim)
    x = samples.rows
    frame = Frame.of(x, preconditioner, standardise)
    columns = SteinColumns(
        frame, x / frame.scale, density.score(x, memory=run.memory) * frame.scale
    )
    correction, tilt = np.zeros(samples.n), np.zeros(samples.n)
    if regularised:
        tilt = weight * log_density(density, x, run.memory)
        for part in chunks(samples.n, CURVATURE_ENTRIES // samples.dim):
            correction[part] = frame.positive_curvature(density, x[part], run.memory)
    indices, ksd = _greedy(columns, x / frame.scale, correction, tilt, m, run)
    chain, draw = np.divmod(indices, samples.n_draws)
    return Thinned(
        points=x[indices],
        ksd=ksd,
        names=samples.names,
        description=describe("Stein thinning", frame, standardise, regularised, weight),
        preconditioner=frame.matrix,
        scale=frame.scale,
        indices=indices,
        chains=chain,
        draws=draw,
        n_chains=samples.n_chains,
        n_draws=samples.n_draws,
    )


@one_blas_thread
def _greedy(
    columns: SteinColumns,
    x: Float[np.ndarray, "n d"],
    correction: Float[np.ndarray, " n"],
    tilt: Float[np.ndarray, " n"],
    m: int,
    run: RunOptions,
) -> tuple[Int[np.ndarray, " m"], Float[np.ndarray, " m"]]:
    """The indices, and the squared KSD along them."""
    d = x.shape[1]
    indices, total, ksd, scale = np.empty(m, int), 0.0, np.empty(m), 0.0
    gain = columns.diagonal.copy()  # to the sum of k_0 over all pairs of points
    for t in run.bar(range(m), m, "Stein thinning"):
        objective = gain + correction - (t + 1) * tilt
        best = int(objective.argmin())
        scale += columns.diagonal[best]
        # the first of equal draws: products of matrices round them differently
        i = indices[t] = int(np.argmax(objective <= objective[best] + ROUNDING * scale))
        total += gain[i]
        ksd[t] = max(total, 0.0) / (t + 1) ** 2
        gain += 2 * columns.with_point(x[i], columns.columns[d:, i])
    return indices, ksd


def as_samples(draws: Any, names: Sequence[str] | None) -> Samples:
    """The draws, of which nothing is asked about their dependence."""
    given = draws.independent if isinstance(draws, Samples) else True
    return Samples.of(draws, names=names, independent=given)


def entropy_weight(regularised: Any, entropy: Any, m: int) -> float:
    """The weight of the entropic term."""
    if not isinstance(regularised, bool):
        raise InputError(f"regularised is {regularised!r}: expected True or False.")
    if entropy is None:
        return 1 / m if regularised else 0.0
    number = isinstance(entropy, (int, float, np.number)) and not isinstance(entropy, bool)
    if not number or not 0 <= entropy < np.inf:
        raise InputError(f"entropy is {entropy!r}: expected a number, at least 0.")
    if not regularised:
        raise InputError("entropy= is a part of the regularisation: pass regularised=True with it.")
    return float(entropy)


def log_density(
    target: AbstractTarget, x: Float[np.ndarray, "n d"], memory: int
) -> Float[np.ndarray, " n"]:
    """log p of every row, up to a constant; refused where only scores are to be had."""
    values = target.log_values(x, memory=memory)
    if values is None:
        raise TargetError(
            "the target has scores but no log density, which regularised=True needs: pass "
            "sw.Target.from_score(score, log_density), or regularised=False."
        )
    bad = ~np.isfinite(values)
    if bad.any():
        raise TargetError(
            f"{int(bad.sum())} of {len(x)} values of the log density are not finite; the first is "
            f"{values[bad][0]} at draw {int(np.argmax(bad))}. The density must be positive at "
            "every draw."
        )
    return values


def describe(what: str, frame: Frame, standardise: bool, regularised: bool, weight: float) -> str:
    details = [frame.words]
    if standardise:
        details.append("standardised")
    if regularised:
        details.append(f"regularised with entropy {weight:.3g}")
    return f"{what} ({', '.join(details)})"
