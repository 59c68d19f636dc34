"""`sw.summary`: how far off the means, sds and quantiles of draws are, and what they should be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

import steinwise
from steinwise._internal.counting import counted
from steinwise._internal.notes import Note
from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.options import known_options
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import require_share, require_whole
from steinwise._internal.warn import warn_user
from steinwise.api.entry import enter_draws, enter_target, run_options
from steinwise.api.recognition import recognised
from steinwise.api.summary_functions import Function, Functions, enter_functions
from steinwise.api.suspicions import NOT_NORMALISED, suspicions
from steinwise.calibration.batch_plan import FEWEST_BATCHES
from steinwise.calibration.batches import Batches
from steinwise.draws.samples import Samples
from steinwise.draws.scales import coordinate_labels
from steinwise.errors import InputError, TooFewDraws
from steinwise.estimates.answers import (
    WRONG_MODES,
    Arrival,
    CorrectedMoments,
    Moved,
    Quantiles,
    function_moments_by_scores,
    moments_by_lines,
    moments_by_scores,
    quantiles_by_lines,
)
from steinwise.estimates.mode_splits import wrong_split
from steinwise.estimates.moments import count_distinct, fewest_draws, is_determined
from steinwise.estimates.monte_carlo import monte_carlo_errors, simultaneous_errors
from steinwise.estimates.settling import TOO_SLOW, batches_for_errors
from steinwise.estimates.until_settled import FEWEST_SWEEPS, sweep_until_settled
from steinwise.results.modes import ModeSplit
from steinwise.results.quantity import Estimate, Quantity
from steinwise.results.summary import Summary
from steinwise.results.wording import PROGRESS, note_text, split_sentence
from steinwise.target import AbstractTarget

# Draws that are refreshed where there are more: at least this many, and less than twice as many.
REFRESHED_DRAWS = 1000
QUANTILES = (0.05, 0.5, 0.95)


@known_options
@own_numpy_errors
def summary(
    draws: Any,
    target: Any = None,
    *,
    functions: Mapping[str, Function] | None = None,
    quantiles: Sequence[float] = QUANTILES,
    sweeps: int | None = None,
    seed: Any = 0,
    names: Sequence[str] | None = None,
    independent: bool | None = None,
    memory: str | int = "1GiB",
    progress: bool | None = None,
) -> Summary:
    r"""Summaries of draws next to those of the density, with the error of each.

    For each coordinate, and each function of them, two estimates of the target's mean and sd:

    - *by scores*: the constant of a regression on functions whose mean under the target is 0
      (Stein's identity; semi-exact control functionals). Exact for a normal target, whatever the
      draws.
    - *by lines*: the mean over the target's conditionals through draws that were moved by exact
      Gibbs steps (`sw.refresh`).

    Both start from draws that were refreshed until they had settled. Half of an interval is two
    standard errors and a difference: by scores, between the estimates before and after refreshing;
    by lines, between those after half of the sweeps and after all, and a share of the difference
    from the draws as they came, which grows with how much of their start they remember. A number is
    given by scores where the regression leaves at most 0.05 of the variance, else by lines where
    the draws have settled; none where neither holds, or where the two disagree. A bias is what goes
    beyond Monte Carlo error, in all rows together.

    Neither can see how draws ought to be split between separate modes. So modes are looked for, as
    in `sw.check`, and where one has a share of the draws that is not its share of the mass, no
    number is given.

    Of more than 2000 draws, every k-th is refreshed, between 1000 and 2000 in all. The cost is
    about that of a check with as many lines, times the sweeps.

    Parameters
    ----------
    draws
        As in `sw.check`. Parameters that an adapter knows on the scale of their model (tau, where
        the draws have log tau) are summarised on it.
    target
        As in `sw.check`; it must be one that can be followed along lines.
    functions
        Functions by name, each from an array of draws (n, d) to n numbers: ``{"ratio": lambda x:
        x[:, 0] / x[:, 1]}``. **Draws of a model (NumPyro, PyMC, Stan) come to them on the model's
        scale, as in the rows of the result**: tau, not log tau, with columns in the order of
        `.quantities`. Columns have names: ``x["tau"]``, and ``x["theta"]`` for all of theta.
    quantiles
        The probabilities of the quantiles.
    sweeps
        How often draws are refreshed. By default until they have settled: at least twice, and at
        most 10 times. More may help where draws have not settled by then.
    seed, names, independent, progress
        As in `sw.check`.
    memory
        As in `sw.check`. The draws themselves are held in memory, whatever the budget.

    Returns
    -------
    Summary
        Prints as a table; `.to_dataframe()`, `.to_dataset()`, `.plot()`, `.quantities`.

    Examples
    --------
    Mean-field draws of a correlated target, whose sds are 0.44 and should be 1:

    >>> import numpy as np, steinwise as sw
    >>> covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
    >>> draws = np.sqrt(0.19) * np.random.default_rng(0).normal(size=(1000, 2))
    >>> answers = sw.summary(draws, sw.Gaussian([0, 0], covariance), names=["a", "b"])
    >>> for quantity in answers.quantities:
    ...     print(f"{quantity.name}: {quantity.verdict}")
    a: sd too small: 0.444 instead of 1
    b: sd too small: 0.428 instead of 1
    """
    if sweeps is not None:
        require_whole("sweeps", sweeps, least=1)
    draws, target = recognised(draws, target, independent)
    shares = _enter_shares(quantiles)
    run = run_options(seed=seed, memory=memory, progress=progress)
    given = enter_draws(draws, run, names=names, independent=independent, held_by="sw.summary")
    asked = enter_functions(functions, given)
    with run.stage(PROGRESS["density"]):
        density, samples = enter_target(
            target, given, "sw.summary", elsewhere="follows the density along lines"
        )
    used = samples.thinned(max(1, samples.n // REFRESHED_DRAWS))
    distinct = count_distinct(used.rows)
    if not is_determined(distinct, used.dim):
        raise TooFewDraws(
            f"{counted(distinct, 'distinct draw does', 'distinct draws do')} not determine the "
            f"regressions of {counted(used.dim, 'coordinate')} on their scores: expected at least "
            f"{fewest_draws(used.dim)}. Pass more draws, or move these by sw.refresh, which takes "
            f"{FEWEST_BATCHES} or more."
        )
    batches, notes = batches_for_errors(samples)
    drawn = _drawn(samples, asked, shares, batches)
    estimates = _estimates(used, density, asked, shares, sweeps, run)
    known = estimates.by_scores.mean_given | estimates.by_lines.mean_given
    behind = () if known.all() else suspicions(given.names, given, density)
    signs = [one for one in behind if one.kind in NOT_NORMALISED]
    sentences = tuple(note_text(one) for one in (*notes, *estimates.notes, *signs))
    if estimates.split is not None:
        sentences = (split_sentence(estimates.split), *sentences)
    for sentence in sentences:
        warn_user(sentence)
    # a parameter on its own scale takes the place of the coordinate that has its name
    place = {name: q for q, name in enumerate((*samples.names, *asked.names))}
    noise = simultaneous_errors(len(place), samples, batches)
    return Summary(
        quantities=tuple(_quantity(name, q, drawn, estimates, noise) for name, q in place.items()),
        shares=tuple(float(share) for share in shares),
        n=samples.n,
        refreshed=used.n,
        sweeps=estimates.sweeps,
        seed=seed,
        split=estimates.split,
        notes=sentences,
        version=steinwise.__version__,
    )


def _enter_shares(quantiles: Any) -> Float[np.ndarray, " p"]:
    if isinstance(quantiles, str) or not isinstance(quantiles, (Sequence, np.ndarray)):
        raise InputError(
            f"quantiles is {quantiles!r}: expected probabilities between 0 and 1, such as "
            f"{QUANTILES}."
        )
    if not len(quantiles):
        raise InputError(f"quantiles is {quantiles!r}: expected at least one probability.")
    for share in quantiles:
        require_share("quantiles", share)
    if len(set(quantiles)) < len(quantiles):
        raise InputError(f"quantiles is {quantiles!r}: expected each probability once.")
    return np.array(quantiles, dtype=float)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Summaries of the draws themselves, with their Monte Carlo errors."""

    mean: Float[np.ndarray, " q"]
    sd: Float[np.ndarray, " q"]
    mean_error: Float[np.ndarray, " q"]
    sd_error: Float[np.ndarray, " q"]
    quantiles: Float[np.ndarray, "q p"]


def _drawn(samples: Samples, asked: Functions, shares: np.ndarray, batches: Batches) -> _Drawn:
    values = np.concatenate([samples.rows, asked.at(samples.rows)], axis=1)
    errors = monte_carlo_errors(values, samples, batches)
    quantiles = np.quantile(values, shares, axis=0).T
    return _Drawn(values.mean(axis=0), values.std(axis=0), *errors, quantiles)


class _Estimates(NamedTuple):
    """What both ways say, and after how many sweeps."""

    sweeps: int
    by_scores: CorrectedMoments
    by_lines: CorrectedMoments
    quantiles: Quantiles
    split: ModeSplit | None  # between modes, where that is wrong: then no number is given
    notes: tuple[Note, ...]  # of the search for modes


def _estimates(
    used: Samples,
    density: AbstractTarget,
    asked: Functions,
    shares: np.ndarray,
    sweeps: int | None,
    run: RunOptions,
) -> _Estimates:
    """Refresh the draws, look for modes, and estimate in both ways."""
    x = used.rows
    scores = used.scores_by(lambda rows: density.score(rows, memory=run.memory))
    batches, notes = batches_for_errors(used)
    reliable = all(one.kind != TOO_SLOW for one in notes)
    if sweeps is None and not reliable:
        sweeps = FEWEST_SWEEPS  # whether draws have settled will not be known after more of them
    before, after, count = sweep_until_settled(density, x, scores, sweeps, run, batches, asked.at)
    new_scores = density.score(after.x, memory=run.memory)
    drawn, refreshed = (x, scores), (after.x, new_scores)
    labels = coordinate_labels(used)
    split, found = wrong_split(density, x, after.x, labels, batches, run)
    with run.stage(PROGRESS["answers"]):
        by_scores = moments_by_scores(drawn, refreshed, batches)
    moved = Moved(x, before.places, after.places, batches)
    arrival = Arrival.of(moved, reliable=reliable)
    if split is not None:
        arrival = arrival._replace(state=WRONG_MODES)
    by_lines = moments_by_lines(moved, arrival)
    quantiles = quantiles_by_lines(moved, arrival, shares)
    if asked.names:
        h, h_before, h_after = (asked.at(rows) for rows in (x, before.x, after.x))
        moved = Moved(h, h_before[..., None], h_after[..., None], batches)
        arrival = arrival.and_of(Arrival.of(moved, reliable=reliable))
        of_functions = function_moments_by_scores(h, h_after, drawn, refreshed, batches)
        by_scores = by_scores.joined(of_functions)
        by_lines = by_lines.joined(moments_by_lines(moved, arrival))
        quantiles = quantiles.joined(quantiles_by_lines(moved, arrival, shares))
    if split is not None:
        by_scores = by_scores.withheld(WRONG_MODES)
    return _Estimates(count, by_scores, by_lines, quantiles, split, found)


def _quantity(
    name: str,
    q: int,
    drawn: _Drawn,
    estimates: _Estimates,
    noise: float,
) -> Quantity:
    def estimate(way: CorrectedMoments) -> Estimate:
        mean, sd = bool(way.mean_given[q]), bool(way.sd_given[q])
        return Estimate(
            state=way.state[q],
            mean=float(way.mean[q]) if mean else np.nan,
            mean_error=float(way.mean_error[q]) if mean else np.nan,
            mean_uncertainty=float(way.mean_reach[q]) if mean else np.nan,
            sd=float(way.sd[q]) if sd else np.nan,
            sd_error=float(way.sd_error[q]) if sd else np.nan,
            sd_uncertainty=float(way.sd_reach[q]) if sd else np.nan,
        )

    quantiles = estimates.quantiles
    known = bool(quantiles.given[q])
    return Quantity(
        name=name,
        mean=float(drawn.mean[q]),
        sd=float(drawn.sd[q]),
        mcse_mean=float(drawn.mean_error[q]),
        mcse_sd=float(drawn.sd_error[q]),
        quantiles=tuple(drawn.quantiles[q].tolist()),
        corrected_quantiles=tuple(
            (quantiles.values[q] if known else np.full(drawn.quantiles.shape[1], np.nan)).tolist()
        ),
        quantile_uncertainties=tuple(
            (quantiles.reach[q] if known else np.full(drawn.quantiles.shape[1], np.nan)).tolist()
        ),
        by_scores=estimate(estimates.by_scores),
        by_lines=estimate(estimates.by_lines),
        noise=noise,
    )
