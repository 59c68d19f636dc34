"""Means and sds of all draws next to the target's, where a regression on some of them told these.

What a regression leaves unexplained is small, so a few thousand draws tell the target's moments
well. The draws' own are another matter: those of every second draw of a chain of NUTS, whose
neighbours lie on opposite sides of the mean, have nearly twice the error of those of all.
"""

from dataclasses import replace
from functools import partial

import numpy as np
from jaxtyping import Float

from steinwise._internal.memory import chunks
from steinwise.calibration.batches import Batches
from steinwise.draws.samples import Samples
from steinwise.draws.storage import add_rows, touched_groups
from steinwise.estimates.moments import MomentErrors, moments_without

COPIES = 16  # of a slab's size: distances, their squares, and room for the rest of a check


def with_all_draws(
    errors: MomentErrors,
    samples: Samples,
    batches: Batches,
    directions: Float[np.ndarray, "d k"] | None,
    memory: int,
) -> MomentErrors:
    """The same, with the moments of all draws that batches hold.

    Of the coordinates, then of directions. `errors` come from some of the draws, in as many
    batches.
    """
    spans = chunks(samples.n, max(1, memory // (8 * COPIES * len(errors.mean))))
    sums = np.zeros((batches.count, 2 * len(errors.mean)))
    sum_slab = partial(_sum_slab, batches, errors.mean, directions)
    for span, of_slab in samples.map_slabs(sum_slab, spans):
        sums[_touched(batches, span.start, span.stop)] += of_slab
    by_power = np.stack(np.split(sums, 2, axis=1))
    (mean, sd), (mean_without, sd_without) = moments_without(by_power, batches)
    mean, mean_without = errors.mean + mean, errors.mean + mean_without
    return replace(
        errors,
        mean=mean,
        sd=sd,
        mean_error=(mean - errors.corrected_mean) / errors.corrected_sd,
        sd_ratio=sd / errors.corrected_sd,
        mean_without=mean_without,
        sd_without=sd_without,
    )


def _sum_slab(
    batches: Batches,
    centre: Float[np.ndarray, " m"],
    directions: Float[np.ndarray, "d k"] | None,
    start: int,
    x: Float[np.ndarray, "n d"],
) -> Float[np.ndarray, "touched 2*m"]:
    """Sums of distances from the centre, and of their squares, over the batches of a slab."""
    touched = _touched(batches, start, start + len(x))
    sums = np.zeros((touched.stop - touched.start, 2 * len(centre)))
    x = x[: max(0, int(batches.bounds[-1]) - start)]  # less than all after an interruption
    if len(x):
        along = x if directions is None else np.concatenate([x, x @ directions], axis=1)
        distances = along - centre
        bounds = batches.bounds[touched.start : touched.stop + 1]
        add_rows(sums, np.concatenate([distances, distances**2], axis=1), start, bounds)
    return sums


def _touched(batches: Batches, start: int, stop: int) -> slice:
    end = int(batches.bounds[-1])
    return touched_groups(batches.bounds, min(start, end), min(stop, end))
