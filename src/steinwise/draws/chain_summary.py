"""What chains look like along the way: means over short stretches of what is averaged.

Short chains are looked at draw by draw. Of long ones, whose columns would not fit, the means over
consecutive draws are kept: they hold all that matters for batches that are longer still.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise.draws.chain_diagnostics import MOST_COLUMNS, autocorrelation_times
from steinwise.draws.samples import Samples
from steinwise.draws.storage import add_rows, even_bounds, touched_groups

MOST_ENTRIES = 2**22  # of the columns that are kept
CENTRED_BY = 10_000  # draws, evenly spaced, whose mean squares are taken about


@dataclass(frozen=True, eq=False)
class Seen:
    """The columns of chains that diagnostics look at."""

    columns: Float[np.ndarray, "chain stretch q"]  # means of draws, squares, what is averaged
    times: Float[np.ndarray, " k"]  # autocorrelation times of what is averaged, in draws
    draws: Float[np.ndarray, "chain draw c"]  # some coordinates of evenly spaced draws
    draws_each: float  # of a stretch


def summarise_chains(
    samples: Samples, averaged: Callable[[int, np.ndarray], Float[np.ndarray, "m q"]]
) -> Seen:
    """Read all draws once."""
    coordinates = evenly_spaced_indices(samples.dim, MOST_COLUMNS)
    centre = samples.spaced(CENTRED_BY)[:, coordinates].mean(axis=0)
    columns = partial(_columns, averaged, coordinates, centre)
    origin = columns(0, samples.take(np.arange(1)))[0]
    most = max(1, MOST_ENTRIES // (samples.n_chains * len(origin)))
    stretches = min(samples.n_draws, most)
    bounds = even_bounds(samples.n_chains, samples.n_draws, stretches)
    sums = np.zeros((len(bounds) - 1, len(origin)))
    squares = np.zeros_like(sums)
    draws = []
    look = partial(_look, columns, origin, bounds, coordinates)
    for part, (sum_, square, some) in samples.mapped(look):
        stretch = touched_groups(bounds, part.start, part.stop)
        sums[stretch] += sum_
        squares[stretch] += square
        draws.append(some)
    lengths = np.diff(bounds)[:, None]
    shape = samples.n_chains, stretches, len(origin)
    means = (sums / lengths).reshape(shape)
    asked = means[..., 2 * len(coordinates) :]
    times = autocorrelation_times(asked)
    if stretches < samples.n_draws:
        mean_square = squares.reshape(shape).sum(axis=1) / samples.n_draws
        variance = (mean_square - means.mean(axis=1) ** 2)[:, 2 * len(coordinates) :].mean(axis=0)
        share = asked.var(axis=1).mean(axis=0) / np.where(variance > 0, variance, np.inf)
        times = times * share * samples.n_draws / stretches
    spaced = np.concatenate(draws).reshape(samples.n_chains, stretches, -1)
    return Seen(means + origin, times, spaced, samples.n_draws / stretches)


def _columns(
    averaged: Callable[[int, np.ndarray], np.ndarray],
    coordinates: Int[np.ndarray, " c"],
    centre: Float[np.ndarray, " c"],
    start: int,
    x: Float[np.ndarray, "m d"],
) -> Float[np.ndarray, "m q"]:
    """Draws, their squares, and what is averaged."""
    some, asked = x[:, coordinates], averaged(start, x)
    asked = asked[:, evenly_spaced_indices(asked.shape[1], MOST_COLUMNS)]
    return np.concatenate([some, (some - centre) ** 2, asked], axis=1)


def _look(
    columns: Callable[[int, np.ndarray], np.ndarray],
    origin: Float[np.ndarray, " q"],
    bounds: Int[np.ndarray, " edges"],
    coordinates: Int[np.ndarray, " c"],
    start: int,
    x: Float[np.ndarray, "m d"],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sums over stretches of a slab's columns and of their squares; the first draw of each."""
    found = columns(start, x) - origin
    stretch = touched_groups(bounds, start, start + len(x))
    sums = np.zeros((stretch.stop - stretch.start, found.shape[1]))
    squares = np.zeros_like(sums)
    touched = bounds[stretch.start : stretch.stop + 1]
    add_rows(sums, found, start, touched)
    add_rows(squares, found**2, start, touched)
    begun = bounds[:-1][(bounds[:-1] >= start) & (bounds[:-1] < start + len(x))]
    return sums, squares, x[begun - start][:, coordinates]
