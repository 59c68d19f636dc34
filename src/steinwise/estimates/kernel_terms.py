r"""Stein functions from a kernel: what polynomials do not explain of a function, near the draws.

With the kernel :math:`k(x, y) = \exp(-|x - y|^2 / 2 l^2)`, the Stein kernel

.. math:: k_0(x, y) = k \Big( s_x \cdot s_y + \frac{(s_x - s_y) \cdot (x - y) + d}{l^2}
    - \frac{|x - y|^2}{l^4} \Big)

has mean 0 under the target in x, for every y. A regression on polynomials and on such functions
together is a semi-exact control functional (South et al., 2022). Here y are landmarks, some of the
draws, and their functions are replaced by the combinations that vary most: as many as there are
draws for, so that least squares need no penalty.
"""

import numpy as np
from jaxtyping import Float

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.threads import one_blas_thread

LANDMARKS = 100
MOST_TERMS = 50
DRAWS_PER_TERM = 15


@one_blas_thread
def kernel_terms(
    z: Float[np.ndarray, "n d"], s: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "n k"]:
    """Combinations of the Stein kernel at landmarks; draws and scores in units of their spread.

    The length l^2 is the median of the squared distances between landmarks.
    """
    n, d = z.shape
    chosen = evenly_spaced_indices(n, LANDMARKS)
    y, s_y = z[chosen], s[chosen]
    squared = (z**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2 * z @ y.T
    squared = np.maximum(squared, 0.0)
    apart = squared[chosen]
    apart = apart[apart > 0]
    length = np.median(apart) if apart.size else 1.0  # one draw far out leaves the others no place
    along = (s * z).sum(axis=1)[:, None] + (s_y * y).sum(axis=1) - s @ y.T - z @ s_y.T
    kernel = np.exp(-squared / (2 * length))
    columns = kernel * (s @ s_y.T + (along + d) / length - squared / length**2)
    columns = columns / _or_one(np.abs(columns).max(axis=0))  # the squares of larger ones overflow
    columns = columns / _or_one(np.sqrt((columns**2).mean(axis=0)))
    _, vectors = np.linalg.eigh(columns.T @ columns)
    return columns @ vectors[:, ::-1][:, : max(1, min(MOST_TERMS, n // DRAWS_PER_TERM))]


def _or_one(sizes: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    return np.where(sizes > 0, sizes, 1.0)
