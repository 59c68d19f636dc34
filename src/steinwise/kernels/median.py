"""The median heuristic: a bandwidth from the distances between draws."""

import numpy as np
from jaxtyping import Float

from steinwise._internal.random import stream
from steinwise.errors import InputError

MEDIAN_ROWS = 1000  # half a million distances: the bandwidth need not be known to many digits
GAPS_PER_ROW = 2  # once so few gaps are left, it is faster to list them than to go on halving
MOST_HALVINGS = 60  # more than the 53 bits of a float64 can take


def median_distance(rows: np.ndarray, seed: object, *, per_coordinate: bool) -> np.ndarray:
    """The median of |x_i - x_l|, i < l, on at most 1000 rows drawn with the seed.

    With `per_coordinate`, one median of |x_ij - x_lj| for every coordinate j.
    """
    from scipy.spatial.distance import pdist

    if len(rows) > MEDIAN_ROWS:
        chosen = stream(seed, "median").choice(len(rows), MEDIAN_ROWS, replace=False)
        rows = rows[np.sort(chosen)]
    if per_coordinate:
        medians = np.array([median_gap(column) for column in rows.T])
    else:
        medians = np.array([np.median(pdist(rows))])
    if not (medians > 0).all():
        where = f" of coordinate {int(np.argmin(medians))}" if per_coordinate else ""
        raise InputError(
            f"the median distance{where} is 0: more than half of the pairs of draws are equal. "
            "Pass a bandwidth instead of 'median', or drop the repeated draws."
        )
    return medians if per_coordinate else medians[0]


def median_gap(values: Float[np.ndarray, " n"]) -> float:
    """The median of |x_i - x_l|, i < l, without computing all of them.

    In sorted numbers it is quick to count the pairs that are at most a given gap apart. Bisection
    over the gap leaves few pairs around the median, and these are listed.

    >>> median_gap(np.array([0.0, 1.0, 3.0, 7.0]))  # of 1, 2, 3, 4, 6 and 7
    3.5
    """
    x = np.sort(values)
    n = len(x)
    after = np.arange(1, n + 1)  # the first larger number of each
    low, high = 0.0, float(x[-1] - x[0])
    first, last = after, np.full(n, n)  # partners of each whose gap is between low and high
    count = n * (n - 1) // 2
    ranks = np.array([(count - 1) // 2, count // 2])
    for _ in range(MOST_HALVINGS):
        if (last - first).sum() <= GAPS_PER_ROW * n:
            break
        middle = (low + high) / 2
        ends = np.searchsorted(x, x + middle, side="right")
        within = (ends - after).sum()
        if within > ranks[1]:
            high, last = middle, ends
        elif within <= ranks[0]:
            low, first = middle, ends
        else:  # the middle gap lies between the two ranks
            break
    lengths = last - first
    left = np.repeat(np.arange(n), lengths)
    right = np.arange(lengths.sum()) + np.repeat(first - np.cumsum(lengths) + lengths, lengths)
    gaps = x[right] - x[left]
    wanted = ranks - (first - after).sum()
    return float(np.partition(gaps, wanted)[wanted].mean())
