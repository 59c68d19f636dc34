"""What is reported of modes: their places, masses and draws, and the path between two of them."""

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.pvalues import Calibration
from steinwise.draws.samples import Samples
from steinwise.methods.complete_conditionals.mode_family import (
    MOST_DRAWS,
    ModeCounts,
    SearchedModes,
)
from steinwise.orbits.modes.masses import mode_masses
from steinwise.orbits.modes.search import FoundModes
from steinwise.results.modes import ModeKind, ModePath, ModeResult, ModesFound
from steinwise.target import AbstractTarget, Unconstrained

PATH = np.linspace(-0.25, 1.25, 151)  # steps from one peak to another, and a little beyond
DRAWS_SHOWN = 1000


def modes_found(
    modes: SearchedModes,
    counted: ModeCounts | None,
    calibration: Calibration,
    space: Unconstrained,
    samples: Samples,
    target: AbstractTarget,
    alpha: float,
    run: RunOptions,
) -> ModesFound:
    """The modes, in the user's own scale; `target` and draws are on the real line."""
    found = modes.found
    first = np.unique(found.groups, return_index=True)[1]  # the highest of its copies
    results, path = (), None
    if counted is not None:
        assert found.maps is not None
        masses = mode_masses(target, found.maps, found.groups, run.seed, run.memory)
        pvalues, adjusted = _pvalues(counted, calibration)
        share = counted.counts / max(counted.tested, 1)
        places = space.from_line(found.peaks[first])
        results = tuple(
            ModeResult(
                where=dict(zip(samples.names, map(float, place), strict=True)),
                copies=int((found.groups == g).sum()),
                mass=float(masses.mass[g]),
                mass_low=float(masses.low[g]),
                mass_high=float(masses.high[g]),
                draws=int(counted.counts[g]),
                share=float(share[g]),
                expected=float(counted.expected[g]),
                information=float(counted.information[g]),
                pvalue=float(pvalues[g]),
                adjusted_pvalue=float(adjusted[g]),
                kind=_kind(counted, g, adjusted[g], alpha),
            )
            for g, place in enumerate(places)
        )
        path = _path(found.peaks[first], counted, adjusted, samples, target, run)
    tested = 0 if counted is None else counted.tested
    sizes = np.bincount(found.groups, minlength=1)
    copies = int(sizes[sizes > 1].sum())
    shares = _copy_shares(found, samples) if copies else ()
    return ModesFound(results, tested, *found.counts, copies, shares, path)


def _copy_shares(found: FoundModes, samples: Samples) -> tuple[float, ...]:
    """The shares of the draws that are nearest to each copy, of those that hold some."""
    assert found.maps is not None
    some = samples.take(evenly_spaced_indices(samples.n, MOST_DRAWS))
    counts = np.bincount(found.maps.nearest(some)[0], minlength=len(found.groups))
    is_copy = np.bincount(found.groups)[found.groups] > 1
    return tuple(sorted((float(c) / len(some) for c in counts[is_copy] if c), reverse=True))


def _pvalues(counted: ModeCounts, calibration: Calibration) -> tuple[np.ndarray, np.ndarray]:
    """Of each mode, from the end of those of all coordinates; 1 where it cannot be judged."""
    both = np.ones((2, len(counted.counts)))
    judged = len(counted.judged)
    if judged:
        all_pvalues = calibration.coordinate_pvalues, calibration.adjusted_pvalues
        both[:, counted.judged] = [one[-judged:] for one in all_pvalues]
    return both[0], both[1]


def _kind(counted: ModeCounts, group: int, adjusted: float, alpha: float) -> ModeKind:
    if group not in counted.judged:
        return "cannot judge"
    if adjusted > alpha:
        return ""
    if counted.counts[group] == 0:
        return "unvisited"
    more = counted.counts[group] > counted.expected[group]
    return "too many draws" if more else "too few draws"


def _path(
    peaks: Float[np.ndarray, "k d"],
    counted: ModeCounts,
    adjusted: Float[np.ndarray, " k"],
    samples: Samples,
    target: AbstractTarget,
    run: RunOptions,
) -> ModePath | None:
    """From the mode with most draws to the worst of the others, with the draws next to it."""
    order: Int[np.ndarray, " k"] = np.lexsort([counted.counts, adjusted])
    start = int(np.argmax(counted.counts))
    end = int(next(k for k in order if k != start))
    whole = peaks[end] - peaks[start]
    logs = target.log_values(peaks[start] + PATH[:, None] * whole, memory=run.memory)
    if logs is None:
        return None
    shown = samples.take(evenly_spaced_indices(samples.n, DRAWS_SHOWN))
    along = (shown - peaks[start]) @ whole / (whole @ whole)
    finite = np.where(np.isfinite(logs), logs, np.nan)
    return ModePath((start, end), PATH, finite - np.nanmax(finite), along)
