r"""Which coordinates of a density depend on each other directly, seen in its Hessian.

Two coordinates are independent given all others when the second derivative of log p in both is 0
everywhere. With s the spread of the draws, the coupling of two coordinates is

.. math::
    C_{ij} = \frac{M_{ij}}{\sqrt{r_i r_j}}, \qquad
    M_{ij} = s_i s_j \Big( \mathrm{mean}_x |\partial_i \partial_j \log p(x)|^2 \Big)^{1/2}, \qquad
    r_i = \max_j M_{ij},

a number from 0 to 1 that no change of scale alters; for a Gaussian with equal scales, the size of
the partial correlation. The derivatives are differences of scores at some of the draws, so that any
target has them; the draws serve as places to look at p, and nothing of their law goes in.

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

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.memory import budget_bytes, chunks
from steinwise._internal.validation import require_share, require_whole
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, TargetError
from steinwise.target import AbstractTarget, as_target

STEP = 1e-4  # of a difference, in standard deviations
ASYMMETRY = 1e-3  # of the Hessian, relative: beyond it the scores are noise
ENTRIES = 2**21  # of the scores of one call


def markov_graph(
    draws: Any,
    target: Any,
    *,
    tolerance: float = 1e-6,
    points: int = 10,
    memory: str | int = "1GiB",
) -> Bool[np.ndarray, "d d"]:
    """Which coordinates are neighbours: their coupling is above the tolerance.

    Parameters
    ----------
    draws, target, memory
        As in `sw.check`.
    tolerance
        The largest coupling that counts as none.
    points
        At how many of the draws, evenly spaced, the Hessian is looked at. It takes 2 d scores each.
    """
    require_share("tolerance", tolerance)
    return couplings(draws, target, points=points, memory=memory) > tolerance


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
    are joined from the strongest on, as long as no block grows too large.

    Parameters
    ----------
    draws, target, points, memory
        As in `markov_graph`.
    strength
        The least coupling that joins two blocks.
    largest
        The most coordinates in a block; kernels see less the more there are.

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
    found = couplings(draws, target, points=points, memory=memory)
    blocks = {j: [j] for j in range(len(found))}  # every coordinate leads to its block
    rows, columns = np.triu_indices(len(found), 1)
    order = np.argsort(-found[rows, columns], kind="stable")
    for i, j in zip(rows[order], columns[order], strict=True):
        one, other = blocks[int(i)], blocks[int(j)]
        if found[i, j] < strength:
            break
        if one is not other and len(one) + len(other) <= largest:
            joined = sorted(one + other)
            blocks |= dict.fromkeys(joined, joined)
    return [block for j, block in blocks.items() if block[0] == j]


def couplings(
    draws: Any, target: Any, *, points: int = 10, memory: str | int = "1GiB"
) -> Float[np.ndarray, "d d"]:
    """The matrix C of couplings, with zeros on its diagonal."""
    require_whole("points", points, least=1)
    given = draws.independent if isinstance(draws, Samples) else True
    samples, density = Samples.of(draws, independent=given), as_target(target)
    return samples_couplings(samples, density, points, budget_bytes(memory))


def samples_couplings(
    samples: Samples, target: AbstractTarget, points: int, memory: int
) -> Float[np.ndarray, "d d"]:
    """The same for draws and a target that are checked already."""
    if target.prepare(samples.dim) != "float64":
        raise TargetError(
            "the density is evaluated in float32, whose scores are too coarse to be subtracted: "
            "pass graph= yourself, or let the dtypes of the density follow those of its input."
        )
    spread = samples.rows.std(axis=0)
    x = samples.rows[evenly_spaced_indices(samples.n, points)]
    hessians = _hessians(target, x, STEP * spread, memory) * np.outer(spread, spread)
    size = np.sqrt((hessians**2).mean(axis=0))
    largest = size.max(axis=1)
    scale = np.sqrt(np.outer(largest, largest))
    scale[scale == 0] = 1.0
    apart = np.abs(hessians - np.swapaxes(hessians, 1, 2)).max(axis=0) / scale
    if apart.max() > ASYMMETRY:
        i, j = (int(k) for k in np.unravel_index(apart.argmax(), apart.shape))
        raise TargetError(
            f"the second derivatives of log p in {samples.names[i]} and {samples.names[j]} differ "
            f"with their order by {apart.max():.2g} of their size, so that its zeros cannot be "
            "told from noise. Are the scores computed in float32, from minibatches, or not the "
            "gradient of one function? Pass graph= yourself."
        )
    found = (size + size.T) / (2 * scale)
    np.fill_diagonal(found, 0.0)
    return found


def _hessians(
    target: AbstractTarget,
    x: Float[np.ndarray, "p d"],
    steps: Float[np.ndarray, " d"],
    memory: int,
) -> Float[np.ndarray, "p d d"]:
    """Entry (i, j) is the derivative of score i along coordinate j."""
    count, d = x.shape
    out = np.empty((count, d, d))
    for part in chunks(d, ENTRIES // (2 * count * d)):
        away = np.eye(d)[part] * steps  # (coordinates, d)
        moved = x[:, None, None] + np.stack([away, -away])  # (points, side, coordinates, d)
        scores = target.score(moved.reshape(-1, d), memory=memory).reshape(moved.shape)
        difference = (scores[:, 0] - scores[:, 1]) / (2 * steps[part, None])
        out[:, :, part] = np.swapaxes(difference, 1, 2)
    return out


def as_graph(graph: Any, names: Sequence[str]) -> Bool[np.ndarray, "d d"]:
    """A symmetric matrix of neighbours from an array, a list of edges or a dict of neighbours."""
    if isinstance(graph, Mapping):
        return _of_edges(((one, other) for one in graph for other in graph[one]), names)
    if isinstance(graph, (list, tuple, set)):
        return _of_edges(graph, names)
    d = len(names)
    if getattr(graph, "shape", None) != (d, d):
        raise InputError(
            f"graph is of type {type(graph).__name__} with shape {np.shape(graph)}: expected a "
            f"symmetric array ({d}, {d}) of 0 and 1, a list of edges such as [(0, 1), (1, 2)], a "
            "dict of neighbours such as {'mu': ['tau']}, or None to find it."
        )
    return _of_matrix(np.asarray(graph))


def _of_matrix(array: np.ndarray) -> Bool[np.ndarray, "d d"]:
    if not np.isin(array, (0, 1)).all() or not np.array_equal(array, array.T):
        raise InputError(
            "graph is a matrix that is not symmetric, or has entries other than 0 and 1: expected "
            "1 for neighbours. A precision matrix P goes in as P != 0."
        )
    found = array.astype(bool)
    np.fill_diagonal(found, False)
    return found


def _of_edges(edges: Any, names: Sequence[str]) -> Bool[np.ndarray, "d d"]:
    position: dict[Any, int] = {name: j for j, name in enumerate(names)}
    position |= {j: j for j in range(len(names))}
    found = np.zeros((len(names), len(names)), dtype=bool)
    for edge in edges:
        try:
            one, other = (position[end] for end in edge)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"{edge!r} is not an edge: expected two coordinates, by their index below "
                f"{len(names)} or by their name, such as {(names[0], names[-1])!r}."
            ) from error
        found[one, other] = found[other, one] = one != other
    return found
