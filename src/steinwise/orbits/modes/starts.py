"""Where the search for modes starts: at draws, and at draws spread out from their mean."""

import numpy as np
from jaxtyping import Float

from steinwise._internal.indices import evenly_spaced_indices

STARTS = 64
# How far from their mean draws are spread out, in turn. A mode 12 standard deviations away along
# the diagonal of 50 coordinates is reached from about one start in five of 5 and more.
SPREADS = (1.0, 2.0, 3.0, 5.0, 7.0, 10.0, 4.0, 8.0)


def spread_starts(
    draws: Float[np.ndarray, "m d"], given: Float[np.ndarray, "s d"] | None
) -> Float[np.ndarray, "starts d"]:
    """Starts from some draws, each spread out to one side of their mean or to the other.

    With those that the user gives: at most as many again, evenly spaced.
    """
    chosen = draws[np.resize(evenly_spaced_indices(len(draws), STARTS), STARTS)]
    centre = draws.mean(axis=0)
    turn = np.arange(STARTS)
    factor = np.asarray(SPREADS)[turn % len(SPREADS)]
    factor = np.where((turn // len(SPREADS)) % 2 == 1, -factor, factor)
    own = centre + factor[:, None] * (chosen - centre)
    if given is None:
        return own
    return np.concatenate([own, given[evenly_spaced_indices(len(given), STARTS)]])
