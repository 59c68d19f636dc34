"""The spread of every coordinate, as most of the draws show it: a few far ones do not move it."""

import numpy as np
from jaxtyping import Float

from steinwise._internal.indices import evenly_spaced_indices

MOST_ROWS = 10_000  # evenly spaced, from which quartiles are taken
NORMAL_RANGE = 1.3489795003921634  # between the quartiles of a standard normal
# Spreads from the median beyond which a draw does not count with its full distance. No draw of a
# normal or a Laplace distribution is that far out, so that means and variances of these are exact.
FAR_OUT = 10.0


def spreads(rows: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " d"]:
    """The distance between the quartiles of each coordinate, as a multiple of a standard normal's.

    Where the quartiles are equal, it is the mean distance from the median, and 1 where the
    coordinate does not move at all.

    >>> x = np.random.default_rng(0).normal(size=(1000, 2)) * [1.0, 1e-3]
    >>> x[0] = 1e6
    >>> spreads(x).round(4).tolist()
    [1.0714, 0.001]
    """
    rows = rows[evenly_spaced_indices(len(rows), MOST_ROWS)]
    low, middle, high = np.quantile(rows, [0.25, 0.5, 0.75], axis=0)
    ranges = (high - low) / NORMAL_RANGE
    if (ranges > 0).all():
        return ranges
    means = np.abs(rows - middle).mean(axis=0)
    return np.where(ranges > 0, ranges, np.where(means > 0, means, 1.0))


def pulled_in(rows: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """The rows, with coordinates far out moved to ten spreads from the median.

    For means, variances and largest distances that one absurd draw must not decide.

    >>> x = np.append(np.linspace(-1.0, 1.0, 99), 1e9)[:, None]
    >>> round(float(pulled_in(x).max()), 1)
    7.5
    """
    middle = np.median(rows[evenly_spaced_indices(len(rows), MOST_ROWS)], axis=0)
    reach = FAR_OUT * spreads(rows)
    return np.clip(rows, middle - reach, middle + reach)
