"""How draws are cut into batches: long enough that dependence stays inside or next door."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
from jaxtyping import Float

from steinwise._internal.counting import by_count, counted
from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.notes import Note, note
from steinwise.calibration.batches import Batches, cut_by_length, even_batches
from steinwise.draws.chain_diagnostics import (
    MOST_COLUMNS,
    autocorrelation_times,
    drift,
    hidden_chain_window,
    rhat,
)
from steinwise.draws.chain_summary import ChainSummary, summarise_chains
from steinwise.draws.repeats import repeated_rows
from steinwise.draws.samples import Samples
from steinwise.draws.storage import read_rows
from steinwise.errors import TooFewDraws
from steinwise.results.wording import note_text

MIN_BATCHES = 20  # with fewer, signs have too few patterns for a level of 0.05
FEWEST_BATCHES = 10  # for a standard error; t quantiles allow for so few
# Batch length in autocorrelation times of the slowest average. Sums of neighbouring batches keep a
# correlation of about 1 / (4 LENGTH_IN_TIMES), which the signs do not see: where all averages are
# equally slow a test of level 0.05 rejects 0.08 at 2.5 and 0.06 at 5.
LENGTH_IN_TIMES = 5.0
STARTS_IN_CHAIN = 10  # parts of a chain of which the first is its start, if no batch can be
RHAT_DISAGREE = 1.05  # looser than the usual 1.01: a note before a verdict, not a verdict
RHAT_LEVEL = 1e-3  # above what few effective draws show by chance, at this level

# For consecutive draws: the number of the first, the draws, and their scores where these are known;
# gives columns, one row per draw.
Columns = Callable[[int, np.ndarray, np.ndarray | None], Float[np.ndarray, "m q"]]


@dataclass(frozen=True)
class BatchPlan:
    """The batches and what was learned of the draws on the way."""

    batches: Batches
    autocorrelation_time: float  # of the slowest average; 1 for independent draws
    effective_draws: float
    rhat: float | None  # the largest over the coordinates; None for independent draws
    notes: tuple[Note, ...]  # what must be said before the verdict
    # of some coordinates, evenly spaced; None for chains so long that not all draws were looked at
    coordinate_rhats: Float[np.ndarray, " c"] | None = None

    @property
    def length(self) -> int:
        return int(self.batches.lengths.max())

    def up_to(self, reached: Batches) -> "BatchPlan":
        """With the batches that were reached before an interruption."""
        if reached.count == self.batches.count:
            return self
        looked_at, all_draws = int(reached.bounds[-1]), int(self.batches.bounds[-1])
        interrupted = note("draws interrupted", looked_at=looked_at, all_draws=all_draws)
        return replace(
            self,
            batches=reached,
            effective_draws=self.effective_draws * looked_at / all_draws,
            notes=(*self.notes, interrupted),
        )


def plan_batches(
    samples: Samples,
    monitored_columns: Columns,
    *,
    most: int,
    batch_length: int | None = None,
    least: int = MIN_BATCHES,
) -> BatchPlan:
    """Cut the draws into batches.

    Parameters
    ----------
    samples
        The draws.
    monitored_columns
        Gives, for consecutive draws, what the statistic averages. The slowest autocorrelation time
        of these columns sets the batch length in a chain. Not called for independent draws.
    most
        The largest number of batches that the calibration is asked to carry.
    batch_length
        The user's own batch length.
    least
        The smallest number of batches that is of use.
    """
    if samples.independent:
        length = int(batch_length or -(-samples.n // most))
        if batch_length:
            batches = cut_by_length(1, samples.n, length, independent=True)
        else:
            batches = even_batches(1, samples.n, min(samples.n, most), independent=True)
        if batches.count < least:
            _refuse_rows(samples, batches, length, least)
        return BatchPlan(batches, 1.0, float(samples.n), None, _dependence(samples))

    summary = summarise_chains(samples, monitored_columns)
    slowest = max(1.0, float(summary.autocorrelation_times.max()))
    shortest = max(int(np.ceil(LENGTH_IN_TIMES * slowest)), -(-samples.n // most))
    rounded = _round_up(shortest)
    enough = samples.n_chains * (samples.n_draws // rounded) >= least
    length = batch_length or (rounded if enough else shortest)
    batches = cut_by_length(samples.n_chains, samples.n_draws, int(length), independent=False)
    if batches.count < least:
        _refuse_chains(samples, batches, int(length), summary, slowest, least)

    rhats = rhat(summary.first_draws)
    windows = int(batches.lengths.min()), int(np.ceil(slowest))
    notes = _disagreement(samples, summary.first_draws, rhats) + _warm_up(summary, windows)
    of_all = rhats if summary.draws_per_stretch == 1 else None
    effective, worst = samples.n / slowest, float(rhats.max())
    return BatchPlan(batches, slowest, effective, worst, tuple(notes), of_all)


def plan_for_error(
    samples: Samples,
    monitored_columns: Columns,
    *,
    most: int,
) -> BatchPlan | None:
    """Batches for a standard error; None where there are too few of them."""
    try:
        return plan_batches(samples, monitored_columns, most=most, least=FEWEST_BATCHES)
    except TooFewDraws:
        return None


def _dependence(samples: Samples) -> tuple[Note, ...]:
    """A note on chains, or on resampled draws, that were said to be independent draws."""
    found = samples.hidden_chain
    if found is None:
        window = slice(0, min(samples.n, hidden_chain_window(samples.dim)))
        repeats = repeated_rows(read_rows(samples.values, window), samples.n)
        if repeats is None:
            return ()
        which = "" if repeats.looked_at == samples.n else "first "
        return (note("repeated draws", first=which, **repeats._asdict()),)
    name = samples.names[found.coordinate]
    values = {"value": found.value, "lag": found.lag, "signal": found.signal, "name": name}
    return (note("chains called independent", **values),)


def _round_up(length: int) -> int:
    """The next length of three leading bits: few shapes to compile, at most a quarter longer.

    >>> [_round_up(length) for length in (1, 7, 9, 33, 100)]
    [1, 7, 10, 40, 112]
    """
    step = 1 << max(0, length.bit_length() - 3)
    return -(-length // step) * step


def _use(least: int) -> str:
    """What this many batches are needed for."""
    return "a calibrated verdict" if least >= MIN_BATCHES else "a standard error"


def _refuse_rows(samples: Samples, batches: Batches, length: int, least: int) -> NoReturn:
    turned = samples.n < least <= samples.dim
    hint = f" There are {samples.dim} coordinates: did you mean draws.T?" if turned else ""
    raise TooFewDraws(
        f"{samples.n} draws make {counted(batches.count, 'batch', 'batches')} of {length}: "
        f"{_use(least)} needs at least {least} batches, that is "
        f"{length * least} independent draws.{hint}"
    )


def _refuse_chains(
    samples: Samples,
    batches: Batches,
    length: int,
    summary: ChainSummary,
    time: float,
    least: int,
) -> NoReturn:
    per_chain = length * -(-least // samples.n_chains)  # whole batches in every chain
    turned = samples.n_draws < samples.dim
    hint = f" There are {samples.dim} coordinates: is the order (chain, draw, d)?" * turned
    # a start far away passes for slow mixing: then more draws are not what is missing
    window = min(int(np.ceil(time)), max(1, samples.n_draws // STARTS_IN_CHAIN))
    started = "".join(note_text(one) for one in _warm_up(summary, (window,)))
    about = f"{started[0].upper()}{started[1:]} If not, about" if started else "About"
    raise TooFewDraws(
        f"{counted(samples.n_chains, 'chain')} of {samples.n_draws} draws "
        f"{by_count(samples.n_chains, 'makes', 'make')} "
        f"{counted(batches.count, 'batch', 'batches')} of {counted(length, 'draw')}: "
        f"{_use(least)} needs at least {least}. The slowest average has an autocorrelation time of "
        f"{time:.3g} draws, so these are worth about {samples.n / time:.0f} independent draws. "
        f"{about} {per_chain} draws in {'it' if samples.n_chains == 1 else 'each of them'} would "
        f"do. "
        f"batch_length= overrides the length, at the risk of false alarms.{hint}"
    )


def _rhat_bounds(draws: Float[np.ndarray, "chain draw c"]) -> np.ndarray:
    """The largest R-hat of each coordinate that chains of one distribution show by chance.

    R-hat^2 - 1 is the variance between half-chains over the variance within: chi-square with one
    degree of freedom less than there are halves, divided by that and by the effective draws of a
    half. Coordinates with fewer effective draws than a verdict needs get no further allowance.
    """
    from scipy import stats

    chains, length, columns = draws.shape
    halves = 2 * max(2, chains)
    effective = chains * length / autocorrelation_times(draws)
    chance = stats.chi2.isf(RHAT_LEVEL / columns, halves - 1) / (halves - 1)
    allowed = np.sqrt(1 + chance * halves / np.maximum(effective, LENGTH_IN_TIMES * MIN_BATCHES))
    return np.maximum(RHAT_DISAGREE, allowed)


def _disagreement(
    samples: Samples, draws: Float[np.ndarray, "chain draw c"], rhats: np.ndarray
) -> list[Note]:
    if rhats.max() <= RHAT_DISAGREE:  # which no bound is below
        return []
    bounds = _rhat_bounds(draws)
    worst = int(np.argmax(rhats / bounds))
    if rhats[worst] <= bounds[worst]:
        return []
    name = samples.names[evenly_spaced_indices(samples.dim, MOST_COLUMNS)[worst]]
    kind = "chains disagree" if samples.n_chains > 1 else "chain not settled"
    return [note(kind, rhat=rhats[worst], name=name, bound=bounds[worst])]


def _warm_up(summary: ChainSummary, windows: tuple[int, ...]) -> list[Note]:
    """A note on the first draws, in the draws, their squares and what is averaged.

    A batch sees a start that takes long to forget; a window of one autocorrelation time sees one
    that is forgotten within a batch. What is averaged may be blind to draws far out, where the
    functions of many methods are 0; the draws themselves are not.
    """
    for length in windows:
        moved = drift(summary.stretch_means, max(1, round(length / summary.draws_per_stretch)))
        if moved is not None:
            return [note("warm-up left in", length=length, distance=moved)]
    return []
