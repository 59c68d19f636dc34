"""Conditional kernel density estimation: training draws, weighted by how near they are."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from steinwise._internal.validation import require_whole
from steinwise.conditionals.base import (
    AbstractConditional,
    AbstractFittedConditional,
    Atoms,
    Standardisation,
    TrainingData,
    refuse_blocks,
)
from steinwise.conditionals.marginal_density import (
    BANDWIDTH_FACTORS,
    log_sum_exp,
    scott_bandwidth,
)

MAX_KDE_ROWS = 2000  # to learn from, and half as many to validate on: the cost grows with both
# Bandwidths to try in the other coordinates, in median distances between draws. Infinity is the
# marginal distribution; below an eighth hardly any training draw is near.
NEIGHBOUR_FACTORS = np.array([0.125, 0.25, 0.5, 1.0, np.inf])


@dataclass(frozen=True, eq=False)
class KDE(AbstractConditional):
    r"""Conditional kernel density estimation.

    .. math::
        r_j(y | x_{-j}) = \sum_t w_t(x_{-j})\, N(y; x_{tj}, h_j^2), \qquad
        w_t \propto \exp(-|x_{-j} - x_{t,-j}|^2 / (2 g_j^2))

    over the training draws t, in standardised coordinates. Both bandwidths of every coordinate are
    those of the highest validation likelihood; g_j may be infinite, which is the marginal
    distribution. The atoms are the training draws with the weights w_t, gathered in cells that
    cover the range: the kernel in y would make the stand-in wider than q's conditional, so only the
    density uses it.

    Parameters
    ----------
    cells
        Number of cells, and so of atoms.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.multivariate_normal(np.zeros(2), [[1, 0.7], [0.7, 1]], size=600)
    >>> method = sw.methods.KCCSD(sw.conditionals.KDE())
    >>> sw.check(draws, sw.Gaussian(np.zeros(2), np.eye(2)), method=method).rejected
    True
    """

    cells: int = 32

    least_train = 4
    least_validation = 3

    def __post_init__(self) -> None:
        require_whole("cells", self.cells, least=2)

    def fit(self, data: TrainingData) -> "FittedKDE":
        refuse_blocks(self, data)
        z, validation = (data.scale.apply(rows) for rows in data.at_most(MAX_KDE_ROWS))
        squared = _squared_distances(validation, z)
        neighbour_bandwidths = NEIGHBOUR_FACTORS * np.sqrt(np.median(squared))
        own_bandwidths = BANDWIDTH_FACTORS * scott_bandwidth(len(z), 1)
        g, h = np.empty(data.dim), np.empty(data.dim)
        coordinates = range(data.dim)
        for j in data.run.bar(coordinates, data.dim, "choosing bandwidths"):
            own = (validation[:, j, None] - z[:, j]) ** 2
            likelihood = [
                [
                    _log_density(_log_weights(squared - own, near), own, width).mean()
                    for width in own_bandwidths
                ]
                for near in neighbour_bandwidths
            ]
            best = np.unravel_index(np.argmax(likelihood), np.shape(likelihood))
            g[j], h[j] = neighbour_bandwidths[best[0]], own_bandwidths[best[1]]
        edges = np.stack([_edges(z[:, j], h[j], self.cells) for j in coordinates])
        cell = np.stack([np.searchsorted(edges[j, 1:-1], z[:, j]) for j in coordinates])
        return FittedKDE(self, data.scale, z, g, h, edges, np.eye(self.cells)[cell])


@dataclass(frozen=True, eq=False)
class FittedKDE(AbstractFittedConditional):
    """Training draws in cells, and the bandwidths that predict the validation draws best."""

    settings: KDE
    scale: Standardisation
    centres: Float[np.ndarray, "t d"]  # the training draws, standardised
    neighbour_bandwidths: Float[np.ndarray, " d"]  # g_j, in x_-j
    own_bandwidths: Float[np.ndarray, " d"]  # h_j, in x_j
    edges: Float[np.ndarray, "d edges"]  # of the cells, standardised
    in_cell: Float[np.ndarray, "d t m"]  # 1 where a training draw lies in a cell

    def describe(self) -> str:
        return self.settings.describe()

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:  # noqa: ARG002
        z = self.scale.apply(x)
        squared = _squared_distances(z, self.centres)
        weights = np.empty((*x.shape, self.settings.cells))
        for j, in_cell in enumerate(self.in_cell):
            logs = _log_weights(squared - self._own_squared(z, j), self.neighbour_bandwidths[j])
            weights[:, j] = np.exp(logs) @ in_cell
        weights /= weights.sum(axis=-1, keepdims=True)
        middle = (self.edges[:, 1:] + self.edges[:, :-1]) / 2
        points = self.scale.mean[:, None] + self.scale.sd[:, None] * middle
        return Atoms(np.broadcast_to(points, weights.shape), weights)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        z = self.scale.apply(x)
        squared = _squared_distances(z, self.centres)
        out = np.empty(x.shape)
        for j in range(x.shape[1]):
            own = self._own_squared(z, j)
            logs = _log_weights(squared - own, self.neighbour_bandwidths[j])
            out[:, j] = _log_density(logs, own, self.own_bandwidths[j])
        return out - np.log(self.scale.sd)

    def _own_squared(self, z: Float[np.ndarray, "n d"], j: int) -> Float[np.ndarray, "n t"]:
        """Squared distances to the training draws in coordinate j."""
        return (z[:, j, None] - self.centres[:, j]) ** 2


def _squared_distances(x: np.ndarray, y: np.ndarray) -> Float[np.ndarray, "n t"]:
    squared = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2 * x @ y.T
    return np.maximum(squared, 0.0)


def _log_weights(squared: Float[np.ndarray, "n t"], bandwidth: float) -> Float[np.ndarray, "n t"]:
    logs = -squared / (2 * bandwidth**2)
    return logs - log_sum_exp(logs)[:, None]


def _log_density(
    log_weights: Float[np.ndarray, "n t"], squared: Float[np.ndarray, "n t"], width: float
) -> Float[np.ndarray, " n"]:
    """Of a mixture of normals with these log weights and squared distances to their means."""
    peaks = log_sum_exp(log_weights - squared / (2 * width**2))
    return peaks - np.log(width * np.sqrt(2 * np.pi))


def _edges(values: Float[np.ndarray, " t"], width: float, cells: int) -> np.ndarray:
    """Of cells halfway between those of equal width and those with equally many draws."""
    low, high = values.min() - 3 * width, values.max() + 3 * width
    ordered = np.sort(np.concatenate([[low], values, [high]]))
    share = np.linspace(0.0, 1.0, len(ordered)) / 2 + (ordered - low) / (high - low) / 2
    return np.interp(np.linspace(0.0, 1.0, cells + 1), share, ordered)
