"""A mixture of normals per coordinate or block, predicted from the others by a network."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from steinwise._internal.compiled import precision
from steinwise._internal.random import stream
from steinwise._internal.validation import require_share, require_whole
from steinwise.conditionals.base import (
    AbstractConditional,
    AbstractFittedConditional,
    Atoms,
    Standardisation,
    TrainingData,
)
from steinwise.conditionals.mixture_network import (
    MixtureNetwork,
    Mixtures,
    initial_network,
    mixture_log_densities,
    mixture_losses,
    predict_mixtures,
)
from steinwise.conditionals.network_training import (
    MAX_TRAINING_ROWS,
    NetworkData,
    input_masks,
    train_networks,
)

# Atoms of a component. Eight Gauss-Hermite nodes are exact for polynomials up to degree 15; a block
# has twice as many, a power of two, as Sobol points need. Each costs an evaluation of the density.
NODES, BLOCK_NODES = 8, 16


@dataclass(frozen=True, eq=False)
class MixtureDensity(AbstractConditional):
    r"""A mixture of normals whose weights, means and scales are a network's outputs.

    .. math:: r_j(y | x_{-j}) = \sum_k \pi_k(x_{-j})\, N(y; \mu_k(x_{-j}), \sigma_k(x_{-j})^2)

    A hidden layer of tanh units and a linear path to the means. Blocks of coordinates get full
    covariances. The atoms of a component are the nodes of Gauss-Hermite quadrature (for a block, 16
    points that spread evenly over a normal). Each coordinate or block keeps the epoch with its
    lowest validation loss.

    Parameters
    ----------
    components
        Number of normals.
    hidden
        Number of tanh units.
    epochs
        Steps of Adam, each on all training draws.
    learning_rate
        Of Adam.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(500, 1))
    >>> draws = np.hstack([x, 0.6 * np.abs(x) + 0.8 * rng.normal(size=(500, 1))])
    >>> method = sw.methods.KCCSD(sw.conditionals.MixtureDensity())
    >>> sw.check(draws, sw.Gaussian([0, 0], np.eye(2)), method=method).rejected
    True
    """

    components: int = 4
    hidden: int = 15
    epochs: int = 300
    learning_rate: float = 0.01

    least_train = 8
    least_validation = 4

    def __post_init__(self) -> None:
        require_whole("components", self.components, least=1)
        require_whole("hidden", self.hidden, least=1)
        require_whole("epochs", self.epochs, least=0)
        require_share("learning_rate", self.learning_rate)

    def describe(self) -> str:
        return f"MixtureDensity({self.components} components)"

    def fit(self, data: TrainingData) -> "FittedMixtureDensity":
        x, validation = (data.scale.for_networks(rows) for rows in data.at_most(MAX_TRAINING_ROWS))
        groups = []
        for size in sorted({len(block) for block in data.blocks}):
            numbers = [k for k, block in enumerate(data.blocks) if len(block) == size]
            blocks = np.stack([data.blocks[k] for k in numbers])
            inputs = input_masks(blocks, data.dim)
            start = initial_network(
                stream(data.run.seed, "mixture density", size),
                len(blocks),
                size,
                data.dim,
                components=self.components,
                hidden=self.hidden,
            )
            network = train_networks(
                mixture_losses,
                start,
                NetworkData(x, (x.T[blocks], inputs)),
                NetworkData(validation, (validation.T[blocks], inputs)),
                units=self.hidden + start.out_bias.shape[1],
                epochs=self.epochs,
                learning_rate=self.learning_rate,
                labels=tuple(data.labels[k] for k in numbers),
                run=data.run,
            )
            groups.append(_BlockGroup(blocks, np.array(numbers), network))
        return FittedMixtureDensity(self, data.scale, tuple(groups))


class _BlockGroup(NamedTuple):
    """Blocks of one size, trained together."""

    blocks: Int[np.ndarray, "j s"]
    numbers: Int[np.ndarray, " j"]  # of the blocks, among all blocks
    network: MixtureNetwork


@dataclass(frozen=True, eq=False)
class FittedMixtureDensity(AbstractFittedConditional):
    """Trained networks, in groups of blocks of one size."""

    settings: MixtureDensity
    scale: Standardisation
    groups: tuple[_BlockGroup, ...]

    def describe(self) -> str:
        return self.settings.describe()

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:  # noqa: ARG002
        nodes_of = [_normal_nodes(group.blocks.shape[1]) for group in self.groups]
        most = max(len(nodes) for nodes, _ in nodes_of) * self.settings.components
        points, weights = np.zeros((*x.shape, most)), np.zeros((*x.shape, most))
        predicted = self._mixtures(x)
        for group, mixtures, (nodes, shares) in zip(self.groups, predicted, nodes_of, strict=True):
            steps = np.einsum("jnkab,qb->jnkqa", mixtures.factors, nodes)
            at = mixtures.means[..., None, :] + steps
            share = np.exp(mixtures.log_weights)[..., None] * shares
            n, count = len(x), self.settings.components * len(nodes)
            for j, block in enumerate(group.blocks):
                points[:, block, :count] = np.swapaxes(at[j].reshape(n, count, -1), 1, 2)
                points[:, block, count:] = points[:, block, :1]  # at weight 0
                weights[:, block, :count] = share[j].reshape(n, 1, count)
        points *= self.scale.sd[:, None]
        points += self.scale.mean[:, None]
        return Atoms(points, weights / weights.sum(axis=-1, keepdims=True))

    def log_density(self, x: np.ndarray) -> np.ndarray:
        z = self.scale.apply(x)
        out = np.empty((len(x), sum(len(group.numbers) for group in self.groups)))
        for group, mixtures in zip(self.groups, self._mixtures(x), strict=True):
            with precision():
                logs = np.asarray(mixture_log_densities(mixtures, z.T[group.blocks])).T
            out[:, group.numbers] = logs - np.log(self.scale.sd)[group.blocks].sum(axis=1)
        return out

    def _mixtures(self, x: np.ndarray) -> list[Mixtures]:
        """Of every group of blocks, in float64, for the standardised draws."""
        z = self.scale.for_networks(x)
        predicted = []
        with precision():
            for group in self.groups:
                inputs = input_masks(group.blocks, x.shape[1])
                mixtures = predict_mixtures(group.blocks.shape[1], group.network, z, inputs)
                predicted.append(Mixtures(*(np.asarray(a, np.float64) for a in mixtures)))
        return predicted


def _normal_nodes(size: int) -> tuple[Float[np.ndarray, "q s"], Float[np.ndarray, " q"]]:
    """Points and weights in place of a standard normal in `size` dimensions."""
    if size == 1:
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        return nodes[:, None], weights / weights.sum()
    from scipy.stats import qmc

    points = qmc.Sobol(size, scramble=True, rng=np.random.default_rng(0)).random(BLOCK_NODES)
    normal = ndtri(points)
    normal = normal - normal.mean(axis=0)
    if 2 * size < BLOCK_NODES:  # enough points that mean and covariance can be made exact
        factor = np.linalg.cholesky(np.cov(normal.T, bias=True))
        normal = np.linalg.solve(factor, normal.T).T
    return normal, np.full(BLOCK_NODES, 1.0 / BLOCK_NODES)
