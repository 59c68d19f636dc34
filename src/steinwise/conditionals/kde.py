"""Conditional kernel density estimation: training draws, weighed by how near they are."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.validation import require_whole
from steinwise.conditionals.base import (
    AbstractConditional,
    Atoms,
    Scale,
    TrainingData,
    learnt_by,
    refuse_blocks,
)
from steinwise.conditionals.marginal import WIDTHS, log_sum_exp, rule_of_thumb

MOST_ROWS = 2000  # to learn from, and half as many to validate on: the cost grows with both
NEARNESS = np.array([0.125, 0.25, 0.5, 1.0, np.inf])  # times the median distance


class _Fitted(NamedTuple):
    scale: Scale
    centres: Float[np.ndarray, "t d"]  # the training draws, standardised
    near: Float[np.ndarray, " d"]  # the bandwidth in x_-j
    width: Float[np.ndarray, " d"]  # the bandwidth in x_j
    edges: Float[np.ndarray, "d edges"]  # cells, standardised
    cell: Float[np.ndarray, "d t m"]  # 1 where a training draw lies in a cell


@dataclass(frozen=True, eq=False)
class KDE(AbstractConditional):
    r"""Conditional kernel density estimation.

    .. math::
        r_j(y | x_{-j}) = \sum_t w_t(x_{-j})\, N(y; x_{tj}, h_j^2), \qquad
        w_t \propto \exp(-|x_{-j} - x_{t,-j}|^2 / (2 g_j^2))

    over the training draws t, in standardised coordinates. Both bandwidths of every coordinate are
    those of the highest validation likelihood; g_j may be infinite, which is the marginal law. The
    atoms are the training draws with the weights w_t, gathered in cells that cover the range: the
    kernel in y would make the stand-in wider than q's conditional, and serves the density only.

    Parameters
    ----------
    cells
        How many atoms there are.

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
    _fitted: _Fitted | None = field(default=None, repr=False)

    least_train = 4
    least_validation = 3

    def __post_init__(self) -> None:
        require_whole("cells", self.cells, least=2)

    def fit(self, data: TrainingData) -> "KDE":
        refuse_blocks(self, data)
        z, validation = (data.scale.apply(part) for part in data.at_most(MOST_ROWS))
        squared = _squared_distances(validation, z)
        nearness = NEARNESS * np.sqrt(np.median(squared))
        widths = WIDTHS * rule_of_thumb(len(z), 1)
        near, width = np.empty(data.dim), np.empty(data.dim)
        coordinates = range(data.dim)
        for j in data.run.bar(coordinates, data.dim, "bandwidths"):
            apart = (validation[:, j, None] - z[:, j]) ** 2
            likelihood = [
                [_log_density(_log_weights(squared - apart, g), apart, h).mean() for h in widths]
                for g in nearness
            ]
            best = np.unravel_index(np.argmax(likelihood), np.shape(likelihood))
            near[j], width[j] = nearness[best[0]], widths[best[1]]
        edges = np.stack([_edges(z[:, j], width[j], self.cells) for j in coordinates])
        cell = np.stack([np.searchsorted(edges[j, 1:-1], z[:, j]) for j in coordinates])
        fitted = _Fitted(data.scale, z, near, width, edges, np.eye(self.cells)[cell])
        return replace(self, _fitted=fitted)

    def _seen_from(self, x: np.ndarray) -> tuple[_Fitted, np.ndarray, np.ndarray]:
        fitted = learnt_by(self, self._fitted)
        z = fitted.scale.apply(x)
        return fitted, z, _squared_distances(z, fitted.centres)

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:  # noqa: ARG002
        fitted, z, squared = self._seen_from(x)
        weights = np.empty((*x.shape, self.cells))
        for j, cell in enumerate(fitted.cell):
            apart = (z[:, j, None] - fitted.centres[:, j]) ** 2
            weights[:, j] = np.exp(_log_weights(squared - apart, fitted.near[j])) @ cell
        weights /= weights.sum(axis=-1, keepdims=True)
        middle = (fitted.edges[:, 1:] + fitted.edges[:, :-1]) / 2
        points = fitted.scale.mean[:, None] + fitted.scale.sd[:, None] * middle
        return Atoms(np.broadcast_to(points, weights.shape), weights)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        fitted, z, squared = self._seen_from(x)
        out = np.empty(x.shape)
        for j in range(x.shape[1]):
            apart = (z[:, j, None] - fitted.centres[:, j]) ** 2
            weights = _log_weights(squared - apart, fitted.near[j])
            out[:, j] = _log_density(weights, apart, fitted.width[j])
        return out - np.log(fitted.scale.sd)


def _squared_distances(x: np.ndarray, y: np.ndarray) -> Float[np.ndarray, "n t"]:
    squared = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2 * x @ y.T
    return np.maximum(squared, 0.0)


def _log_weights(squared: Float[np.ndarray, "n t"], near: float) -> Float[np.ndarray, "n t"]:
    logs = -squared / (2 * near**2)
    return logs - log_sum_exp(logs)[:, None]


def _log_density(
    weights: Float[np.ndarray, "n t"], apart: Float[np.ndarray, "n t"], width: float
) -> Float[np.ndarray, " n"]:
    """Of a mixture of normals with these log weights and squared distances to their means."""
    return log_sum_exp(weights - apart / (2 * width**2)) - np.log(width * np.sqrt(2 * np.pi))


def _edges(values: Float[np.ndarray, " t"], width: float, cells: int) -> np.ndarray:
    """Of cells that share the range and the draws evenly, half and half."""
    low, high = values.min() - 3 * width, values.max() + 3 * width
    places = np.sort(np.concatenate([[low], values, [high]]))
    share = np.linspace(0.0, 1.0, len(places)) / 2 + (places - low) / (high - low) / 2
    return np.interp(np.linspace(0.0, 1.0, cells + 1), share, places)
