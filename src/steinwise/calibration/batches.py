"""Batches of draws: one sign each, long enough that dependence stays inside or next door."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.memory import chunks
from steinwise.draws.chain_diagnostics import MOST_COLUMNS, autocorrelation_times, drift, rhat
from steinwise.draws.chain_summary import Seen, summarise_chains
from steinwise.draws.samples import Samples
from steinwise.draws.storage import even_bounds
from steinwise.errors import TooFewDraws

MIN_BATCHES = 20
FEWEST_BATCHES = 10  # for a standard error; t quantiles allow for so few
# Batch length in autocorrelation times of the slowest average. Sums of neighbouring batches keep a
# correlation of about 1 / (4 LENGTH_IN_TIMES), which the signs do not see: where all averages are
# equally slow a test of level 0.05 rejects 0.08 at 2.5 and 0.06 at 5.
LENGTH_IN_TIMES = 5.0
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
        return float((lengths[:, None] * lengths)[self.allowed].sum())

    def first(self, count: int) -> "Batches":
        """The first so many."""
        return Batches(self.bounds[: count + 1], self.chain[:count], self.independent)

    def runs(self, count: int) -> Iterator["Batches"]:
        """These batches, at most `count` at a time, in runs of one length as far as can be."""
        runs = -(-self.count // count)
        for part in chunks(self.count, -(-self.count // runs)):
            bounds = self.bounds[part.start : part.stop + 1]
            yield Batches(bounds, self.chain[part], self.independent)

    def sums(self, values: Float[np.ndarray, "n *rest"]) -> Float[np.ndarray, "batch *rest"]:
        """Sums of the rows of each batch."""
        return np.add.reduceat(values, self.bounds[:-1], axis=0)

    def padded(self, values: Shaped[np.ndarray, "n *rest"]) -> tuple[np.ndarray, np.ndarray]:
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

    def up_to(self, reached: Batches) -> "BatchPlan":
        """With the batches that were reached before an interruption."""
        if reached.count == self.batches.count:
            return self
        looked_at, all_draws = int(reached.bounds[-1]), int(self.batches.bounds[-1])
        note = f"interrupted: the verdict rests on the first {looked_at} of {all_draws} draws."
        return replace(
            self,
            batches=reached,
            effective_draws=self.effective_draws * looked_at / all_draws,
            notes=(*self.notes, note),
        )


def plan_batches(
    samples: Samples,
    averaged: Callable[[int, np.ndarray], Float[np.ndarray, "m q"]],
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
        Gives, for consecutive draws, the number of the first and the draws themselves, columns with
        one row per draw: the things whose average the statistic takes. Their slowest
        autocorrelation time sets the batch length in a chain. Not called for independent draws.
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
            batches = _cut(1, samples.n, length, independent=True)
        else:
            batches = _even(1, samples.n, min(samples.n, most), independent=True)
        _require_batches(samples, batches, length, 1.0, least)
        return BatchPlan(batches, 1.0, float(samples.n), None, ())

    seen = summarise_chains(samples, averaged)
    slowest = max(1.0, float(seen.times.max()))
    shortest = max(int(np.ceil(LENGTH_IN_TIMES * slowest)), -(-samples.n // most))
    rounded = _round_up(shortest)
    enough = samples.n_chains * (samples.n_draws // rounded) >= least
    length = batch_length or (rounded if enough else shortest)
    batches = _cut(samples.n_chains, samples.n_draws, int(length), independent=False)
    _require_batches(samples, batches, int(length), slowest, least)

    rhats = rhat(seen.draws)
    windows = int(batches.lengths.min()), int(np.ceil(slowest))
    notes = _disagreement(samples, seen.draws, rhats) + _warm_up(seen, windows)
    return BatchPlan(batches, slowest, samples.n / slowest, float(rhats.max()), tuple(notes))


def plan_for_error(
    samples: Samples,
    averaged: Callable[[int, np.ndarray], Float[np.ndarray, "m q"]],
    *,
    most: int,
) -> BatchPlan | None:
    """Batches for a standard error; None where there are too few of them."""
    try:
        return plan_batches(samples, averaged, most=most, least=FEWEST_BATCHES)
    except TooFewDraws:
        return None


def cut_into(samples: Samples, count: int) -> Batches:
    """About this many batches, alike in all chains, whatever the dependence between them."""
    return cut_evenly(samples, -(-count // samples.n_chains))


def cut_evenly(samples: Samples, per_chain: int) -> Batches:
    """This many batches in every chain, or as many as it has draws."""
    per_chain = min(per_chain, samples.n_draws)
    return _even(samples.n_chains, samples.n_draws, per_chain, independent=samples.independent)


def _round_up(length: int) -> int:
    """The next length of three leading bits: few shapes to compile, at most a quarter longer.

    >>> [_round_up(length) for length in (1, 7, 9, 33, 100)]
    [1, 7, 10, 40, 112]
    """
    step = 1 << max(0, length.bit_length() - 3)
    return -(-length // step) * step


def _cut(chains: int, draws: int, length: int, *, independent: bool) -> Batches:
    """Batches of `length` draws; what is left over lengthens some of them by one."""
    return _even(chains, draws, max(1, draws // length), independent=independent)


def _even(chains: int, draws: int, per_chain: int, *, independent: bool) -> Batches:
    """This many batches in every chain, whose lengths differ by one at most."""
    bounds = even_bounds(chains, draws, per_chain)
    return Batches(bounds, np.repeat(np.arange(chains), per_chain), independent)


def _require_batches(
    samples: Samples, batches: Batches, length: int, time: float, least: int
) -> None:
    if batches.count >= least:
        return
    if samples.independent:
        raise TooFewDraws(
            f"{samples.n} draws make {batches.count} batches of {length}: a calibrated verdict "
            f"needs at least {least} batches, that is {length * least} independent draws."
        )
    per_chain = length * -(-least // samples.n_chains)  # whole batches in every chain
    raise TooFewDraws(
        f"{samples.n_chains} chain(s) of {samples.n_draws} draws make {batches.count} batches of "
        f"{length} draws: a calibrated verdict needs at least {least}. The slowest average "
        f"has an autocorrelation time of {time:.3g} draws, so these are worth about "
        f"{samples.n / time:.0f} independent draws. About "
        f"{per_chain} draws in each of {samples.n_chains} chain(s) would do. "
        "batch_length= overrides the length, at the risk of false alarms."
    )


def _rhat_bounds(draws: Float[np.ndarray, "chain draw c"]) -> np.ndarray:
    """The largest R-hat of each coordinate that chains of one law show by chance.

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
) -> list[str]:
    bounds = _rhat_bounds(draws)
    worst = int(np.argmax(rhats / bounds))
    if rhats[worst] <= bounds[worst]:
        return []
    name = samples.names[evenly_spaced_indices(samples.dim, MOST_COLUMNS)[worst]]
    whom = "chains disagree with each other" if samples.n_chains > 1 else "chain is not settled"
    return [
        f"the {whom}: R-hat is {rhats[worst]:.3f} in {name} (at most {bounds[worst]:.2f} is "
        "expected). They have not mixed, or warm-up was left in; the verdict below speaks of "
        "their mixture."
    ]


def _warm_up(seen: Seen, windows: tuple[int, int]) -> list[str]:
    """A note on the first draws, in the draws, their squares and what is averaged.

    A batch sees a start that takes long to forget; a window of one autocorrelation time sees one
    that is forgotten within a batch. What is averaged may be blind to draws far out, where the
    functions of many methods are 0; the draws themselves are not.
    """
    for length in windows:
        moved = drift(seen.columns, max(1, round(length / seen.draws_each)))
        if moved is not None:
            return [
                f"the start of a chain differs from the rest: its first {length} draws are on "
                f"average {moved:.1f} standard deviations away from what as many later ones show. "
                "Was warm-up left in? Drop it and check again."
            ]
    return []
