r"""Sweeps along lines until the draws have settled, or as many as someone asked for.

The draws after s sweeps are compared with those after s / 2. If what is wrong with a mean fades by
a factor r with every sweep, r^s of it is left, and r^(s/2) - r^s of it went in the second half. So
the change over the second half shows an error that is left, and bounds it, as long as r^(s/2) is
below a half. It is below 0.22 where draws have forgotten by the end where they were halfway
(`settling.MOST_REMEMBERED`). The start alone does not tell: draws that never were in the tails have
no memory of being there. By the change in the last sweep and the memory of the start, draws of a
normal fit to a hierarchical regression counted as settled after 3 sweeps, and an sd was off by 2.5
times the half of its interval. By the change over the second half and the memory of the start,
intervals of sds on a banana covered 0.58 (mean-field draws) and 0.82 (right ones).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import Batches
from steinwise.estimates.refreshing import Sweep, refresh_sweeps
from steinwise.estimates.settling import Settling
from steinwise.target import AbstractTarget

# Draws of a normal fit to a hierarchical regression with 16 parameters settled after 7 to 9. What
# has not after 10 is mostly slow: centred eight schools had not after 60.
FEWEST_SWEEPS, MOST_SWEEPS = 2, 10


class Swept(NamedTuple):
    """The draws after half of the sweeps and after all, and how many there were."""

    before: Sweep  # the draws themselves, if there was one sweep
    after: Sweep
    sweeps: int


def sweep_until_settled(
    density: AbstractTarget,
    x: Float[np.ndarray, "n d"],
    scores: Float[np.ndarray, "n d"],
    sweeps: int | None,
    run: RunOptions,
    batches: Batches,
    functions: Callable[[np.ndarray], np.ndarray],
) -> Swept:
    """Refresh draws until their coordinates and some functions of them have settled.

    Parameters
    ----------
    density
        The target.
    x, scores
        The draws, and the scores at them.
    sweeps
        How many there are to be; None for as many as it takes, between the fewest and the most.
    run
        The seed, the memory, and whether progress is shown.
    batches
        Of these draws.
    functions
        From draws (n, d) to the functions' values (n, f).
    """
    numbers = np.arange(len(x))
    most = MOST_SWEEPS if sweeps is None else sweeps
    kept = {0: Sweep(x, x[..., None])}
    values = functions(x)
    for count, sweep in enumerate(refresh_sweeps(density, x, scores, most, run, numbers), 1):
        kept[count] = sweep
        if sweeps is None and count >= FEWEST_SWEEPS:
            before = kept[count // 2]
            if _settled(x, before.places, sweep.places, batches):
                moved = functions(before.x)[..., None], functions(sweep.x)[..., None]
                if not values.size or _settled(values, *moved, batches):
                    return Swept(before, sweep, count)
        wanted = range((count + 1) // 2, count + 1) if sweeps is None else (most // 2, count)
        kept = {number: kept[number] for number in wanted if number in kept}
    return Swept(kept[most // 2], kept[most], most)


def _settled(first: np.ndarray, before: np.ndarray, after: np.ndarray, batches: Batches) -> bool:
    return bool(Settling.of((first, before[..., 0]), before, after, batches).settled.all())
