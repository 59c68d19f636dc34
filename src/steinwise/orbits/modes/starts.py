"""Where the search for modes starts: at draws, and at draws spread out from their mean."""

import numpy as np
from jaxtyping import Float

from steinwise._internal.indices import evenly_spaced_indices

SPREAD_STARTS = 64
# How far from their mean draws are spread out, in turn. A mode 12 standard deviations away along
# the diagonal of 50 coordinates is reached from about one start in five of 5 and more.
SPREADS = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 4.0, 8.0)
# Draws that are far apart, as they are: one for each mode that draws visit, where they visit no
# more than the sixteen that are mapped to each other (`merging.MOST_MODES`).
DRAWN_STARTS = 16


def search_starts(
    draws: Float[np.ndarray, "m d"], given: Float[np.ndarray, "s d"] | None
) -> Float[np.ndarray, "starts d"]:
    """Draws that are far apart, and draws spread out to one side of their mean or to the other.

    With those that the user gives: at most as many as are spread out, evenly spaced.
    """
    own = [_spread_out(draws), draws[_far_apart(draws)]]
    if given is not None:
        own.append(given[evenly_spaced_indices(len(given), SPREAD_STARTS)])
    return np.concatenate(own)


def _spread_out(draws: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "starts d"]:
    chosen = draws[np.resize(evenly_spaced_indices(len(draws), SPREAD_STARTS), SPREAD_STARTS)]
    centre = draws.mean(axis=0)
    turn = np.arange(SPREAD_STARTS)
    factor = np.asarray(SPREADS)[turn % len(SPREADS)]
    factor = np.where((turn // len(SPREADS)) % 2 == 1, -factor, factor)
    return centre + factor[:, None] * (chosen - centre)


def _far_apart(draws: Float[np.ndarray, "m d"]) -> list[int]:
    """A draw near the mean, then in turn the one that is farthest from all that were chosen."""
    scale = draws.std(axis=0)
    units = (draws - draws.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
    chosen = [int((units**2).sum(axis=1).argmin())]
    distance = np.full(len(units), np.inf)
    while len(chosen) < min(DRAWN_STARTS, len(units)):
        distance = np.minimum(distance, ((units - units[chosen[-1]]) ** 2).sum(axis=1))
        chosen.append(int(distance.argmax()))
    return chosen
