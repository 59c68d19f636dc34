"""Effective sample size and R-hat of every coordinate, as people know them from other tools."""

from typing import NamedTuple

import numpy as np

from steinwise._internal.memory import chunks
from steinwise.draws.chain_diagnostics import MOST_COLUMNS, autocorrelation_times, rhat
from steinwise.draws.samples import Samples

MOST_ENTRIES = 2**22  # of chains that are held at once, 32 MiB; longer ones are not looked at


class ChainQuality(NamedTuple):
    """How well chains mix in one coordinate."""

    ess: float  # draws that would be as good if they were independent
    rhat: float


def coordinate_diagnostics(samples: Samples) -> tuple[ChainQuality, ...]:
    """One per coordinate; none for independent draws, or for chains that are stored elsewhere.

    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(size=(4, 500, 1))
    >>> (quality,) = coordinate_diagnostics(sw.Samples.of(draws))
    >>> 1500 < quality.ess < 2500, round(quality.rhat, 2)
    (True, 1.0)
    """
    if samples.independent or not samples.in_memory or samples.values.size > MOST_ENTRIES:
        return ()
    found: list[ChainQuality] = []
    for part in chunks(samples.dim, MOST_COLUMNS):
        some = samples.values[..., part]
        ess = samples.n / autocorrelation_times(some)
        found += [
            ChainQuality(float(one), float(other))
            for one, other in zip(np.atleast_1d(ess), rhat(some), strict=True)
        ]
    return tuple(found)
