"""`sw.refresh`: draws moved towards the density, by exact steps along lines."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import steinwise
from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.options import known_options
from steinwise._internal.validation import require_whole
from steinwise._internal.warn import warn_user
from steinwise.api.entry import enter_draws, enter_target, run_options
from steinwise.api.recognition import recognised
from steinwise.draws.scales import coordinate_labels
from steinwise.estimates.mode_splits import wrong_split
from steinwise.estimates.refreshing import refresh_sweeps
from steinwise.estimates.settling import Settling, batches_for_errors
from steinwise.results.refreshed import Refreshed
from steinwise.results.wording import PROGRESS, note_text, split_sentence


@known_options
@own_numpy_errors
def refresh(
    draws: Any,
    target: Any = None,
    *,
    sweeps: int = 5,
    seed: Any = 0,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    memory: str | int = "1GiB",
    progress: bool | None = None,
) -> Refreshed:
    r"""Move draws towards the density: each coordinate in turn is drawn anew, given the others.

    .. math:: x_{ij} \leftarrow F_{ij}^{-1}(v), \qquad v \sim U(0, 1)

    with the conditional distribution function F of the target on the line through draw i along
    coordinate j. This is Gibbs sampling with exact conditionals, from lines that are followed as in
    `sw.check`: the target is invariant and nothing is tuned. Before the coordinates, draws move
    along directions in which the target is long. One sweep costs as much as following all lines in
    a check (``effort="full"``), or more.

    Draws of a variational fit, or of a chain with too large a step, are repaired by a few sweeps
    unless the target has separate modes, or depends on its coordinates in a strong and curved way.
    The result says whether they have arrived: whether the second half of the sweeps moved a mean or
    an sd by more than its error, whether draws still remember where they started, and whether a
    mode of the density, which is looked for as in `sw.check`, has a wrong share of them.

    Parameters
    ----------
    draws, target
        As in `sw.check`.
    sweeps
        How often every coordinate is drawn anew.
    seed, names, independent, progress
        As in `sw.check`.
    memory
        As in `sw.check`. The draws themselves are held in memory, whatever the budget.

    Returns
    -------
    Refreshed
        `samples`, the draws as (chain, draw, d), those of shape (n, d) as one chain; `means` and
        `sds`, the history of each summary; `settled`, and per coordinate `states`.

    Notes
    -----
    Do not check refreshed draws with the same lines: the coordinate that was refreshed last fits
    the target given the others whatever the draws are.

    Examples
    --------
    Mean-field draws, whose sds are 0.44 instead of 1:

    >>> import numpy as np, steinwise as sw
    >>> covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
    >>> draws = np.sqrt(0.19) * np.random.default_rng(0).normal(size=(1000, 2))
    >>> refreshed = sw.refresh(draws, sw.Gaussian([0, 0], covariance), sweeps=4)
    >>> refreshed.settled
    True
    >>> refreshed.sds[[0, -1]].round(1)
    array([[0.4, 0.4],
           [1. , 1. ]])
    """
    require_whole("sweeps", sweeps, least=1)
    draws, target = recognised(draws, target, independent)
    run = run_options(seed=seed, memory=memory, progress=progress)
    given = enter_draws(draws, run, names=names, independent=independent, held_by="sw.refresh")
    with run.stage(PROGRESS["density"]):
        density, samples = enter_target(
            target,
            given,
            "sw.refresh",
            elsewhere="follows the density along lines",
            only_real="moves draws along lines without an end",
        )
    batches, notes = batches_for_errors(samples)
    first = samples.rows
    scores = samples.scores_by(lambda x: density.score(x, memory=run.memory))
    history, halfway, after = [first], first[..., None], first[..., None]
    for sweep in refresh_sweeps(density, first, scores, sweeps, run, np.arange(samples.n)):
        history.append(sweep.x)
        after = sweep.places
        if len(history) - 1 == sweeps // 2:
            halfway = after
    settling = Settling.of((first, halfway[..., 0]), halfway, after, batches)
    labels = coordinate_labels(samples)
    split, found = wrong_split(density, first, history[-1], labels, batches, run)
    sentences = tuple(note_text(one) for one in (*notes, *found))
    if split is not None:
        sentences = (split_sentence(split), *sentences)
    for sentence in sentences:
        warn_user(sentence)
    moved = history[-1].reshape(samples.values.shape)
    return Refreshed(
        samples=replace(samples, values=moved, scores=None, scores_of=None, refreshed=True),
        labels=labels,
        means=np.array([x.mean(axis=0) for x in history]),
        sds=np.array([x.std(axis=0) for x in history]),
        mean_change_error=settling.mean_change_error,
        sd_change_error=settling.sd_change_error,
        moving=settling.moving,
        remembered=settling.remembered,
        arrived=settling.settled,
        split=split,
        seed=seed,
        notes=sentences,
        version=steinwise.__version__,
    )
