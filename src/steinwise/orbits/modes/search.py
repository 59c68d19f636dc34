"""Looking for modes: uphill from many starts, one maximum kept for each mode.

Only held-out draws and the user's starts are used, never the draws that are tested: maps between
modes that were found without them keep the level, however bad the maps are.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.threads import one_blas_thread
from steinwise.orbits.modes.ascent import ValuesAndGradients, climb
from steinwise.orbits.modes.maps import ModeMaps
from steinwise.orbits.modes.merging import separate_summits
from steinwise.orbits.modes.shapes import shaped_maps
from steinwise.orbits.modes.starts import search_starts
from steinwise.orbits.modes.symmetry import symmetric_groups
from steinwise.target import AbstractTarget

MOST_COORDINATES = 500  # above which curvatures of several modes take more than a check
DIFFERENCE = 1e-4  # units between gradients whose difference is a curvature
FLAT = 1e-4  # least curvature of a mode: a spread of 100 units
PROBES = 8  # draws at which an exchange of coordinates is tried


class SearchCounts(NamedTuple):
    """What became of the starts."""

    starts: int
    unbounded: int  # that went off without end
    unfinished: int  # that did not arrive within the effort
    flat: int  # maxima that are ridges or saddles
    shoulders: int  # maxima without a valley between them and a higher one
    left_out: int  # maxima beyond those that are mapped


@dataclass(frozen=True, eq=False)
class FoundModes:
    """The modes that a search found, highest first; maps between them if there are several."""

    peaks: Float[np.ndarray, "k d"]
    heights: Float[np.ndarray, " k"]
    groups: Int[np.ndarray, " k"]  # the same number for copies of each other
    maps: ModeMaps | None
    counts: SearchCounts

    @property
    def group_count(self) -> int:
        return len(np.unique(self.groups))


@one_blas_thread
def find_modes(
    target: AbstractTarget,
    held_out: Float[np.ndarray, "m d"],
    starts: Float[np.ndarray, "s d"] | None,
    seed: object,
    memory: int,
) -> FoundModes | None:
    """Look for modes; None where the target has no log density with gradients, or too many
    coordinates.
    """
    centre, scale = held_out.mean(axis=0), held_out.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    if len(centre) > MOST_COORDINATES:
        return None
    if target.values_and_scores(held_out[:1], memory=memory) is None:
        return None

    def on_scale(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = target.values_and_scores(x, memory=memory)
        assert found is not None
        return found

    def in_units(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, scores = on_scale(centre + scale * y)
        return values, scores * scale

    begin = (search_starts(held_out, starts) - centre) / scale
    arrived = climb(in_units, begin)
    points, values = arrived.points[arrived.maximum], arrived.values[arrived.maximum]
    summits = separate_summits(points, values, lambda y: in_units(y)[0])
    peaks, heights = points[summits.chosen], values[summits.chosen]
    kept, factors = _steep(in_units, peaks)
    flat = len(peaks) - len(factors)
    x, heights, groups, maps = (
        centre + scale * peaks[kept],
        heights[kept],
        np.arange(len(kept)),
        None,
    )
    if len(factors) > 1:
        maps = ModeMaps.of(x, scale[:, None] * factors)
        probes = held_out[:: max(1, len(held_out) // PROBES)][:PROBES]
        groups = symmetric_groups(x, probes, on_scale, scale)
    if maps is not None and len(np.unique(groups)) > 1:
        maps = shaped_maps(target, maps, seed, memory)
    counts = SearchCounts(
        starts=len(begin),
        unbounded=int(arrived.unbounded.sum()),
        unfinished=int(arrived.unfinished.sum()),
        flat=flat,
        shoulders=summits.shoulders,
        left_out=summits.left_out,
    )
    return FoundModes(x, heights, groups, maps, counts)


def _steep(
    function: ValuesAndGradients, peaks: Float[np.ndarray, "k d"]
) -> tuple[Int[np.ndarray, " s"], Float[np.ndarray, "s d d"]]:
    """The peaks that fall off to all sides, and factors of the inverses of their curvatures.

    A single peak needs no map, and is not looked at.
    """
    k, d = peaks.shape
    if k < 2:
        return np.arange(k), np.zeros((k, d, d))
    curvature, vectors = np.linalg.eigh(_curvatures(function, peaks))
    steep = np.flatnonzero((curvature > FLAT).all(axis=1))
    return steep, vectors[steep] / np.sqrt(curvature[steep])[:, None, :]


def _curvatures(
    function: ValuesAndGradients, peaks: Float[np.ndarray, "k d"]
) -> Float[np.ndarray, "k d d"]:
    """Minus the Hessian at each peak, by differences of gradients; 0 where it is not finite."""
    k, d = peaks.shape
    shifts = DIFFERENCE * np.eye(d)
    around = np.concatenate([peaks[:, None] + shifts, peaks[:, None] - shifts], axis=1)
    gradients = function(around.reshape(-1, d))[1].reshape(k, 2, d, d)
    bends = -(gradients[:, 0] - gradients[:, 1]) / (2 * DIFFERENCE)
    finite = np.isfinite(bends).all(axis=(1, 2), keepdims=True)
    bends = np.where(finite, bends, 0.0)
    return (bends + bends.transpose(0, 2, 1)) / 2
