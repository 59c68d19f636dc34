"""Batches of draws: one sign each, long enough that dependence stays inside or next door."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from steinwise.chains import MOST_COLUMNS, autocorrelation_times, drift, evenly, rhat
from steinwise.errors import InputError, TooFewDraws
from steinwise.samples import Samples

MIN_BATCHES = 20
LENGTH_IN_TIMES = 2.5  # batch length in autocorrelation times of the slowest average
RHAT_DISAGREE = 1.05
RHAT_LEVEL = 1e-3  # above what so few effective draws show by chance, at this level


@dataclass(frozen=True, eq=False)
class Batches:
    """Contiguous batches of the rows of a Samples, each inside one chain."""

    bounds: Int[np.ndarray, " edges"]  # batch g is rows bounds[g]:bounds[g + 1]
    chain: Int[np.ndarray, " batch"]
    independent: bool

    @property
    def count(self) -> int:
        return len(self.bounds) - 1

    @property
    def lengths(self) -> Int[np.ndarray, " batch"]:
        return np.diff(self.bounds)

    @property
    def allowed(self) -> Bool[np.ndarray, "batch batch"]:
        """Pairs of batches that a pair statistic may use.

        Never a batch with itself; in a chain, never with its neighbours, which share its
        autocorrelation.
        """
        index = np.arange(self.count)
        gap = np.abs(index[:, None] - index[None, :])
        if self.independent:
            return gap > 0
        neighbours = (gap == 1) & (self.chain[:, None] == self.chain[None, :])
        return (gap > 0) & ~neighbours

    @property
    def pairs(self) -> float:
        """The number of pairs of draws in allowed pairs of batches."""
        lengths = self.lengths.astype(float)
        return float(lengths @ self.allowed @ lengths)

    def sums(self, values: Float[np.ndarray, "n *rest"]) -> Float[np.ndarray, "batch *rest"]:
        """Sums of the rows of each batch."""
        return np.add.reduceat(values, self.bounds[:-1], axis=0)

    def padded(self, values: Float[np.ndarray, "n *rest"]) -> tuple[np.ndarray, np.ndarray]:
        """Rows as (batch, longest, ...), short batches filled by their first row at weight 0."""
        lengths = self.lengths
        within = np.arange(lengths.max())
        weight = (within[None, :] < lengths[:, None]).astype(float)
        index = self.bounds[:-1, None] + np.where(weight > 0, within, 0)
        return values[index], weight


@dataclass(frozen=True)
class BatchPlan:
    """The batches and what was learnt of the draws on the way."""

    batches: Batches
    autocorrelation_time: float  # of the slowest average; 1 for independent draws
    effective_draws: float
    rhat: float | None  # the largest over the coordinates; None for independent draws
    notes: tuple[str, ...]  # what must be said before the verdict

    @property
    def length(self) -> int:
        return int(self.batches.lengths.max())


def plan_batches(
    samples: Samples,
    averaged: Callable[[], Float[np.ndarray, "n q"]],
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
    averaged
        Gives columns with one row per draw: the things whose average the statistic takes. Their
        slowest autocorrelation time sets the batch length in a chain. Not called for
        independent draws.
    most
        The largest number of batches that the calibration is asked to carry.
    batch_length
        The user's own batch length.
    least
        The smallest number of batches that is of use.
    """
    if batch_length is not None and (
        isinstance(batch_length, bool)
        or not isinstance(batch_length, (int, np.integer))
        or batch_length < 1
    ):
        raise InputError(f"batch_length is {batch_length!r}: expected a whole number of draws.")
    if samples.independent:
        length = batch_length or -(-samples.n // most)
        batches = _cut(1, samples.n, int(length), independent=True)
        _require_batches(samples, batches, int(length), 1.0, least)
        return BatchPlan(batches, 1.0, float(samples.n), None, ())

    columns = averaged()
    columns = columns[:, evenly(columns.shape[1], MOST_COLUMNS)]
    shaped = columns.reshape(samples.n_chains, samples.n_draws, -1)
    slowest = max(1.0, float(autocorrelation_times(shaped).max()))
    length = batch_length or max(int(np.ceil(LENGTH_IN_TIMES * slowest)), -(-samples.n // most))
    batches = _cut(samples.n_chains, samples.n_draws, int(length), independent=False)
    _require_batches(samples, batches, int(length), slowest, least)

    worst_rhat = rhat(samples.values)
    notes = _notes(samples, worst_rhat, samples.n / slowest, batches, columns)
    return BatchPlan(batches, slowest, samples.n / slowest, float(worst_rhat.max()), tuple(notes))


def _cut(chains: int, draws: int, length: int, *, independent: bool) -> Batches:
    """Batches of `length` draws; what is left over lengthens some of them by one."""
    per_chain = max(1, draws // length)
    edges = np.linspace(0, draws, per_chain + 1).round().astype(int)
    starts = (np.arange(chains)[:, None] * draws + edges[None, :-1]).ravel()
    bounds = np.append(starts, chains * draws)
    return Batches(bounds, np.repeat(np.arange(chains), per_chain), independent)


def _require_batches(
    samples: Samples, batches: Batches, length: int, time: float, least: int
) -> None:
    if batches.count >= least:
        return
    needed = length * least
    if samples.independent:
        raise TooFewDraws(
            f"{samples.n} draws make {batches.count} batches of {length}: a calibrated verdict "
            f"needs at least {least} batches, that is {needed} independent draws."
        )
    raise TooFewDraws(
        f"{samples.n_chains} chain(s) of {samples.n_draws} draws make {batches.count} batches of "
        f"{length} draws: a calibrated verdict needs at least {least}. The slowest average "
        f"has an autocorrelation time of {time:.3g} draws, so these are worth about "
        f"{samples.n / time:.0f} independent draws. About "
        f"{-(-needed // samples.n_chains)} draws in each of {samples.n_chains} chain(s) would do. "
        "batch_length= overrides the length, at the risk of false alarms."
    )


def _rhat_bound(halves: int, effective: float, coordinates: int) -> float:
    """The largest R-hat that chains of one law show by chance, split into `halves`.

    R-hat^2 - 1 is the variance between half-chains over the variance within: chi-square with
    halves - 1 degrees of freedom, divided by them and by the effective draws of a half.
    """
    from scipy import stats

    chance = stats.chi2.isf(RHAT_LEVEL / coordinates, halves - 1) / (halves - 1)
    return max(RHAT_DISAGREE, float(np.sqrt(1 + chance * halves / effective)))


def _notes(
    samples: Samples,
    rhats: np.ndarray,
    effective: float,
    batches: Batches,
    columns: np.ndarray,
) -> list[str]:
    notes = []
    worst = int(np.argmax(rhats))
    bound = _rhat_bound(2 * samples.n_chains, effective, len(rhats))
    if rhats[worst] > bound:
        name = samples.names[evenly(samples.dim, MOST_COLUMNS)[worst]]
        whom = "chains disagree with each other" if samples.n_chains > 1 else "chain is not settled"
        notes.append(
            f"the {whom}: R-hat is {rhats[worst]:.3f} in {name} (at most {bound:.2f} is "
            "expected). They have not mixed, or warm-up was left in; the verdict below speaks of "
            "their mixture."
        )
    means = batches.sums(columns) / batches.lengths[:, None]
    moved = drift(means.reshape(samples.n_chains, -1, columns.shape[1]))
    if moved is not None:
        notes.append(
            f"the start of a chain differs from the rest: its first batch is {moved:.1f} standard "
            "deviations away from the later ones. Was warm-up left in? Drop it and check again."
        )
    return notes
