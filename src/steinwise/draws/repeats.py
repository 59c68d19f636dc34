"""Draws that come more than once, among draws that are said to be independent."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

INFLATION = 1.1  # of variances: a level of 0.05 becomes 0.06
FEWEST_PAIRS = 5  # that are no accident
FEWEST_VALUES = 20  # of a coordinate that is hardly discrete


class Repeats(NamedTuple):
    """How many draws were looked at, and how many of them are different."""

    looked_at: int
    distinct: int


def row_keys(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
    """A number for each row, one combination of its entries: rows that differ have others.

    >>> len(np.unique(row_keys(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))))
    2
    """
    weights = np.sqrt(np.arange(2.0, x.shape[1] + 2)) / np.abs(x).max(axis=0, initial=1e-300)
    return (x * weights).sum(axis=1)


def repeated_rows(rows: Float[np.ndarray, "m d"], n: int) -> Repeats | None:
    r"""Rows that come again so often that n draws like these are worth clearly fewer, or None.

    A sum over n draws, of which each distinct one comes c_i times, has sum_i c_i^2 / n times the
    variance of that over n independent draws. This is 1 + (n - 1) times the share of equal pairs,
    which the first rows show.

    Discrete draws come again as they should. So one coordinate, not of whole numbers, must tell
    all distinct rows apart: rounded or discrete values come again in some rows without the others.
    A single coordinate cannot show that, and is left alone.

    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> repeated_rows(x, 100)
    >>> repeated_rows(x[np.arange(300) % 100], 300)
    Repeats(looked_at=300, distinct=100)
    """
    m, d = rows.shape
    if d < 2 or m < 2:
        return None
    counts = np.unique(row_keys(rows), return_counts=True)[1]
    pairs = float((counts * (counts - 1.0)).sum()) / 2
    inflation = 1 + (n - 1) * pairs / (m * (m - 1) / 2)
    if pairs < FEWEST_PAIRS or inflation < INFLATION or len(counts) < FEWEST_VALUES:
        return None
    whole = (rows == np.round(rows)).all(axis=0)
    if not any(len(np.unique(column)) == len(counts) for column in rows[:, ~whole].T):
        return None
    return Repeats(m, len(counts))
