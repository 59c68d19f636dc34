"""Effective sample size and R-hat of every coordinate, as people know them from other tools."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.memory import chunks
from steinwise.draws.chain_diagnostics import MOST_COLUMNS, autocorrelation_times, rhat
from steinwise.draws.samples import Samples

MOST_ENTRIES = 2**22  # of chains that are held at once, 32 MiB; longer ones are not looked at


class ChainQuality(NamedTuple):
    """How well chains mix in one coordinate."""

    ess: float  # draws that would be as good if they were independent
    rhat: float


def coordinate_diagnostics(
    samples: Samples, known: Float[np.ndarray, " c"] | None = None
) -> tuple[ChainQuality, ...]:
    """One per coordinate; none for independent draws, or for chains that are stored elsewhere.

    `known` are what `rhat` gives of all draws, if it was asked already.

    >>> import numpy as np, steinwise as sw
    >>> draws = np.random.default_rng(0).normal(size=(4, 500, 1))
    >>> (quality,) = coordinate_diagnostics(sw.Samples.of(draws))
    >>> 1500 < quality.ess < 2500, round(quality.rhat, 2)
    (True, 1.0)
    """
    if samples.independent or not samples.in_memory or samples.values.size > MOST_ENTRIES:
        return ()
    values, rhats = samples.values, np.full(samples.dim, np.nan)
    if known is not None:
        rhats[evenly_spaced_indices(samples.dim, MOST_COLUMNS)] = known
    missing = np.flatnonzero(np.isnan(rhats))
    for part in chunks(len(missing), MOST_COLUMNS):
        rhats[missing[part]] = rhat(values[..., missing[part]])
    ess = samples.n / autocorrelation_times(values)
    return tuple(ChainQuality(*both) for both in zip(ess.tolist(), rhats.tolist(), strict=True))
