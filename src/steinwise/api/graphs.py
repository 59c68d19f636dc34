r"""`sw.graphs`: which coordinates of a density depend on each other directly.

Two coordinates are independent given all others if the second derivative of log p in both is 0
everywhere. With s the standard deviations of the draws, the coupling of two coordinates is

.. math::
    C_{ij} = \frac{M_{ij}}{\sqrt{r_i r_j}}, \qquad
    M_{ij} = s_i s_j \Big( \mathrm{mean}_x |\partial_i \partial_j \log p(x)|^2 \Big)^{1/2}, \qquad
    r_i = \max_j M_{ij},

a number from 0 to 1 that does not depend on the scales; for a Gaussian with equal scales, the size
of the partial correlation. The derivatives are differences of scores at some of the draws, so every
target has them. The draws only say where to evaluate p: their distribution does not matter.

Examples
--------
>>> import numpy as np, steinwise as sw
>>> precision = np.array([[2.0, -0.9, 0.0], [-0.9, 2.0, -0.3], [0.0, -0.3, 2.0]])
>>> target = sw.Gaussian(np.zeros(3), np.linalg.inv(precision))
>>> draws = np.random.default_rng(0).normal(size=(100, 3))
>>> print(sw.graphs.markov_graph(draws, target).astype(int))
[[0 1 0]
 [1 0 1]
 [0 1 0]]
>>> sw.graphs.coupled_blocks(draws, target, strength=0.3)
[[0, 1], [2]]
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from steinwise._internal.numpy_errors import own_numpy_errors
from steinwise._internal.validation import require_share, require_whole
from steinwise.api.entry import enter_points, enter_target, run_options
from steinwise.target.couplings import hessian_couplings, join_coupled


@own_numpy_errors
def markov_graph(
    draws: Any,
    target: Any,
    *,
    tolerance: float = 1e-6,
    points: int = 10,
    memory: str | int = "1GiB",
) -> Bool[np.ndarray, "d d"]:
    """Which coordinates are neighbours: those whose coupling is above the tolerance.

    Parameters
    ----------
    draws, target, memory
        As in `sw.check`.
    tolerance
        The largest coupling that counts as none.
    points
        The number of draws, evenly spaced, at which the Hessian is evaluated. Each takes 2 d
        scores.
    """
    require_share("tolerance", tolerance)
    return couplings(draws, target, points=points, memory=memory) > tolerance


@own_numpy_errors
def coupled_blocks(
    draws: Any,
    target: Any,
    *,
    strength: float = 0.5,
    largest: int = 4,
    points: int = 10,
    memory: str | int = "1GiB",
) -> list[list[int]]:
    """A partition of the coordinates that keeps strongly coupled ones together.

    For ``sw.methods.KCCSD(blocks=...)``: given all others, one of several strongly coupled
    coordinates hardly moves, and its conditional shows little of a misfit that they share. Pairs
    are joined in order of their coupling, the strongest first, as long as no block grows too large.

    Parameters
    ----------
    draws, target, points, memory
        As in `markov_graph`.
    strength
        The weakest coupling that joins two blocks.
    largest
        The most coordinates in a block: the more there are, the less a kernel sees.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> covariance = np.eye(4)
    >>> covariance[0, 2] = covariance[2, 0] = 0.99
    >>> draws = np.random.default_rng(0).multivariate_normal(np.zeros(4), covariance, 200)
    >>> sw.graphs.coupled_blocks(draws, sw.Gaussian(np.zeros(4), covariance))
    [[0, 2], [1], [3]]
    """
    require_share("strength", strength)
    require_whole("largest", largest, least=1)
    return join_coupled(couplings(draws, target, points=points, memory=memory), strength, largest)


@own_numpy_errors
def couplings(
    draws: Any, target: Any, *, points: int = 10, memory: str | int = "1GiB"
) -> Float[np.ndarray, "d d"]:
    """The matrix C of couplings, with zeros on its diagonal."""
    require_whole("points", points, least=1)
    run = run_options(memory=memory)
    samples = enter_points(draws)
    density, _ = enter_target(
        target, samples, "sw.graphs", elsewhere="takes scores around the draws"
    )
    return hessian_couplings(density, samples.rows, samples.names, points=points, memory=run.memory)
