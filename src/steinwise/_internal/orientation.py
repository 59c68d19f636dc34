"""The sign of a direction, which a decomposition leaves to rounding."""

import numpy as np
from jaxtyping import Float

NEARLY = 1 - 1e-6  # of the largest entry: entries that are equal but for rounding


def oriented(directions: Float[np.ndarray, "c d"]) -> Float[np.ndarray, "c d"]:
    """Each row with the sign that makes its largest entry positive, the first of equal ones.

    >>> oriented(np.array([[-0.6, 0.8], [-0.7, -0.7], [-0.5, 0.5 + 1e-12]])).tolist()
    [[-0.6, 0.8], [0.7, 0.7], [0.5, -0.500000000001]]
    """
    sizes = np.abs(directions)
    largest = np.argmax(sizes >= NEARLY * sizes.max(axis=1, keepdims=True), axis=1)
    return directions * np.sign(directions[np.arange(len(directions)), largest])[:, None]
