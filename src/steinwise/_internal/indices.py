"""Which rows to use where not all are needed."""

import numpy as np


def evenly_spaced_indices(count: int, most: int) -> np.ndarray:
    """At most `most` indices, evenly spaced over range(count).

    >>> evenly_spaced_indices(10, 4).tolist()
    [0, 3, 6, 9]
    """
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))
