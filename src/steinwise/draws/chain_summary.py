"""A summary of long chains: means over short stretches of the quantities that are averaged.

Short chains are kept draw by draw. Long chains would not fit in memory, so means over stretches of
consecutive draws are kept instead: they hold all that matters for batches longer than a stretch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise.draws.chain_diagnostics import MOST_COLUMNS, autocorrelation_times
from steinwise.draws.samples import Samples
from steinwise.draws.storage import add_rows, even_bounds, take_rows, touched_groups

MOST_ENTRIES = 2**22  # numbers in the summary, 32 MiB: stretches grow longer to stay below it
# Evenly spaced draws whose mean is subtracted before squaring, so that the squares of draws far
# from 0 keep their digits; any point among the draws would do.
CENTRE_DRAWS = 10_000


@dataclass(frozen=True, eq=False)
class ChainSummary:
    """What the diagnostics need to know of chains."""

    stretch_means: Float[np.ndarray, "chain stretch q"]  # of draws, their squares, the averaged
    autocorrelation_times: Float[np.ndarray, " k"]  # of the averaged quantities, in draws
    first_draws: Float[np.ndarray, "chain stretch c"]  # the first of each stretch, some coordinates
    draws_per_stretch: float


def summarise_chains(
    samples: Samples,
    averaged: Callable[[int, np.ndarray, np.ndarray | None], Float[np.ndarray, "m q"]],
) -> ChainSummary:
    """Summarise chains in one pass over the draws.

    `averaged(start, rows, scores)` gives the quantities whose means a statistic takes, one row per
    draw, NaN where it leaves out a draw; the scores are None unless they are known.
    """
    coordinates = evenly_spaced_indices(samples.dim, MOST_COLUMNS)
    centre = samples.evenly_spaced(CENTRE_DRAWS)[:, coordinates].mean(axis=0)
    columns = partial(_columns, averaged, coordinates, centre)
    first = np.arange(1)
    known = None if samples.scores is None else take_rows(samples.scores, first)
    origin = columns(0, samples.take(first), known)[0]
    origin = np.where(np.isnan(origin), 0.0, origin)
    most = max(1, MOST_ENTRIES // (samples.n_chains * len(origin)))
    stretches = min(samples.n_draws, most)
    bounds = even_bounds(samples.n_chains, samples.n_draws, stretches)
    sums = np.zeros((len(bounds) - 1, len(origin)))
    square_sums = np.zeros_like(sums) if stretches < samples.n_draws else None
    first_draws = []
    whole = square_sums is None  # each draw is a stretch
    summarise_slab = partial(_summarise_slab, columns, origin, bounds, coordinates, whole)
    slabs = samples.map_scored_slabs(summarise_slab)
    for span, (slab_sums, slab_square_sums, slab_first_draws) in slabs:
        touched = touched_groups(bounds, span.start, span.stop)
        sums[touched] += slab_sums
        if square_sums is not None and slab_square_sums is not None:
            square_sums[touched] += slab_square_sums
        first_draws.append(slab_first_draws)
    shape = samples.n_chains, stretches, len(origin)
    lengths = np.diff(bounds)[:, None]
    means = (sums / lengths).reshape(shape)
    averaged_means = means[..., 2 * len(coordinates) :]
    squares = None
    if square_sums is not None:
        squares = square_sums.reshape(shape)[..., 2 * len(coordinates) :]
    _fill_left_out(averaged_means, squares, lengths.reshape(*shape[:2], 1))
    times = autocorrelation_times(averaged_means)
    if squares is not None:
        # the time of stretch means, from stretches to draws: tau = draws per stretch * tau_means
        # * var(means) / var(draws)
        share = _share_between(averaged_means, squares, samples.n_draws)
        times = times * share * samples.n_draws / stretches
    return ChainSummary(
        means + origin,
        times,
        np.concatenate(first_draws).reshape(samples.n_chains, stretches, -1),
        samples.n_draws / stretches,
    )


def _fill_left_out(
    means: Float[np.ndarray, "chain stretch q"],
    square_sums: Float[np.ndarray, "chain stretch q"] | None,
    lengths: Int[np.ndarray, "chain stretch 1"],
) -> None:
    """Put the mean of the rest of its chain, without spread, where draws are left out."""
    left_out = np.isnan(means)
    if not left_out.any():
        return
    rest = np.maximum((~left_out).sum(axis=1, keepdims=True), 1)
    level = np.where(left_out, 0.0, means).sum(axis=1, keepdims=True) / rest
    np.copyto(means, level, where=left_out)
    if square_sums is not None:
        with np.errstate(over="ignore"):
            np.copyto(square_sums, lengths * level**2, where=left_out)


def _share_between(
    means: Float[np.ndarray, "chain stretch q"],
    square_sums: Float[np.ndarray, "chain stretch q"],
    n_draws: int,
) -> Float[np.ndarray, " q"]:
    """The variance of the stretches' means, as a share of that of draws: at most 1.

    Where squares of enormous draws overflow it is not known, and 1.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean_square = square_sums.sum(axis=1) / n_draws
        variance = (mean_square - means.mean(axis=1) ** 2).mean(axis=0)
        between = means.var(axis=1).mean(axis=0)
        share = between / np.where(variance > 0, variance, np.inf)
    return np.where(np.isfinite(variance) & np.isfinite(between), share, 1.0)


def _columns(
    averaged: Callable[[int, np.ndarray, np.ndarray | None], np.ndarray],
    coordinates: Int[np.ndarray, " c"],
    centre: Float[np.ndarray, " c"],
    start: int,
    x: Float[np.ndarray, "m d"],
    scores: Float[np.ndarray, "m d"] | None,
) -> Float[np.ndarray, "m q"]:
    """Draws, their squared distances from the centre, and the averaged quantities."""
    draws, quantities = x[:, coordinates], averaged(start, x, scores)
    quantities = quantities[:, evenly_spaced_indices(quantities.shape[1], MOST_COLUMNS)]
    return np.concatenate([draws, (draws - centre) ** 2, quantities], axis=1)


def _summarise_slab(
    columns: Callable[[int, np.ndarray, np.ndarray | None], np.ndarray],
    origin: Float[np.ndarray, " q"],
    bounds: Int[np.ndarray, " edges"],
    coordinates: Int[np.ndarray, " c"],
    whole: bool,
    start: int,
    x: Float[np.ndarray, "m d"],
    scores: Float[np.ndarray, "m d"] | None,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Sums over stretches of a slab's columns and of their squares; the first draw of each.

    Where stretches are `whole` draws these are the columns, and their squares are not needed.
    """
    shifted = columns(start, x, scores)
    shifted -= origin
    if whole:
        return shifted, None, x[:, coordinates]
    touched = touched_groups(bounds, start, start + len(x))
    sums = np.zeros((touched.stop - touched.start, shifted.shape[1]))
    square_sums = np.zeros_like(sums)
    touched_bounds = bounds[touched.start : touched.stop + 1]
    add_rows(sums, shifted, start, touched_bounds)
    with np.errstate(over="ignore"):
        add_rows(square_sums, shifted**2, start, touched_bounds)
    starts = bounds[:-1][(bounds[:-1] >= start) & (bounds[:-1] < start + len(x))]
    return sums, square_sums, x[starts - start][:, coordinates]
