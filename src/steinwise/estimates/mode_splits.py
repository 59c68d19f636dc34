"""Whether draws are split between the modes of a density as its mass is.

Regressions on scores see the surroundings of the draws, and steps along lines cross a valley so
rarely that draws seem to have settled long before they have arrived. Both would give the numbers of
the wrong mixture: of two modes 8 sds apart with all draws in one, a mean 1 sd off with a tenth of
that as its uncertainty. So modes are looked for as in a check, and their masses, which need none of
the draws, are compared with the shares that the draws have.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.notes import Note, note
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import Batches
from steinwise.errors import TargetError
from steinwise.estimates.settling import batch_errors
from steinwise.orbits.modes.masses import mode_masses
from steinwise.orbits.modes.search import FoundModes, find_modes
from steinwise.results.modes import ModeSplit
from steinwise.results.wording import PROGRESS
from steinwise.target import AbstractTarget

MOST_STARTS = 1000  # draws that set the scale of the search, and are starts in turn
CHANCE = 3.0  # standard errors that a share may be beyond the interval of its mass


def wrong_split(
    target: AbstractTarget,
    x: Float[np.ndarray, "n d"],
    refreshed: Float[np.ndarray, "n d"],
    labels: Sequence[str],
    batches: Batches,
    run: RunOptions,
) -> tuple[ModeSplit | None, tuple[Note, ...]]:
    """The mode that lacks most draws, if shares differ from masses by more than chance, or if
    masses are not known; and what must be said of the search.

    Parameters
    ----------
    target
        The density.
    x, refreshed
        The draws as they came, from which modes are looked for, and after sweeps along lines.
    labels
        Of the coordinates, to say where a mode is.
    batches
        Of these draws.
    run
        The seed, the memory, and whether progress is shown.
    """
    some = x[evenly_spaced_indices(len(x), MOST_STARTS)]
    try:
        with run.stage(PROGRESS["modes"]):
            found = find_modes(target, some, None, run.seed, run.memory)
            if found is None or found.maps is None or found.group_count == 1:
                return None, _copies(found)
            masses = mode_masses(target, found.maps, found.groups, run.seed, run.memory)
    except TargetError as error:  # far from all draws, where a density may fail
        return None, (note("no modes", why=str(error)),)
    own = [found.groups[found.maps.nearest(points)[0]] for points in (x, refreshed)]
    inside = own[1][:, None] == np.arange(found.group_count)
    share, errors = inside.mean(axis=0), batch_errors(inside.astype(float), batches)
    nearest = np.clip(share, masses.low, masses.high)
    # where all or none of the draws are in a mode, the error is that of as many correct ones
    errors = np.maximum(errors, np.sqrt(nearest * (1 - nearest) / len(x)))
    beyond = np.abs(share - nearest) > CHANCE * errors
    if not (beyond | np.isnan(nearest)).any():
        return None, _copies(found)
    worst = int(np.argmax(np.nan_to_num(nearest - share)))  # what draws lack most
    peak = found.peaks[np.flatnonzero(found.groups == worst)[0]]  # the highest of its copies
    split = ModeSplit(
        where=dict(zip(labels, map(float, peak), strict=True)),
        mass=float(masses.mass[worst]),
        mass_low=float(masses.low[worst]),
        mass_high=float(masses.high[worst]),
        drawn=float((own[0] == worst).mean()),
        refreshed=float(share[worst]),
    )
    return split, _copies(found)


def _copies(found: FoundModes | None) -> tuple[Note, ...]:
    """That means of single coordinates depend on which of some symmetric modes draws are in."""
    if found is None or len(found.groups) == found.group_count:
        return ()
    sizes = np.bincount(found.groups)
    return (note("mode copies", count=int(sizes[sizes > 1].sum())),)
