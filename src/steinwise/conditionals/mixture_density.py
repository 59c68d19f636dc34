"""A mixture density network per coordinate or block: normals whose place depends on the others."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import ndtri

from steinwise._internal.random import stream
from steinwise._internal.validation import require_share, require_whole
from steinwise.conditionals.base import (
    AbstractConditional,
    Atoms,
    Scale,
    TrainingData,
    learnt_by,
)
from steinwise.conditionals.networks import MOST_ROWS, Rows, others, train_networks

NARROWEST = 0.02  # standard deviation of a component, in marginal ones
START_SD = 0.7  # of a component, where the variance of the mixture is 1
NODES, BLOCK_NODES = 8, 16  # atoms of a component, of one coordinate and of a block


class _Network(NamedTuple):
    """Of blocks of one size: a hidden layer, and a linear path from the inputs to the means."""

    hidden: Float[np.ndarray, "j d h"]
    hidden_bias: Float[np.ndarray, "j h"]
    direct: Float[np.ndarray, "j d s"]
    out: Float[np.ndarray, "j h o"]
    out_bias: Float[np.ndarray, "j o"]


class _Mixture(NamedTuple):
    """Of every block and row: log weights, means and lower triangular factors of covariances."""

    log_weights: Float[Array | np.ndarray, "j n k"]
    means: Float[Array | np.ndarray, "j n k s"]
    factors: Float[Array | np.ndarray, "j n k s s"]


class _Group(NamedTuple):
    """Blocks of one size, trained together."""

    blocks: Int[np.ndarray, "j s"]
    places: Int[np.ndarray, " j"]  # among all blocks
    network: _Network


class _Fitted(NamedTuple):
    scale: Scale
    groups: tuple[_Group, ...]


@dataclass(frozen=True, eq=False)
class MixtureDensity(AbstractConditional):
    r"""A mixture of normals whose weights, means and scales are a network's outputs.

    .. math:: r_j(y | x_{-j}) = \sum_k \pi_k(x_{-j})\, N(y; \mu_k(x_{-j}), \sigma_k(x_{-j})^2)

    A hidden layer of tanh units and a linear path to the means. Blocks of coordinates get full
    covariances. The atoms of a component are the nodes of Gauss-Hermite quadrature (of a block, 16
    points that spread evenly over a normal). Of all epochs the one with the lowest validation loss
    is kept, for every coordinate or block its own.

    Parameters
    ----------
    components, hidden, epochs
        How many.
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
    _fitted: _Fitted | None = field(default=None, repr=False)

    least_train = 8
    least_validation = 4

    def __post_init__(self) -> None:
        require_whole("components", self.components, least=1)
        require_whole("hidden", self.hidden, least=1)
        require_whole("epochs", self.epochs, least=0)
        require_share("learning_rate", self.learning_rate)

    def describe(self) -> str:
        return f"MixtureDensity({self.components} components)"

    def fit(self, data: TrainingData) -> "MixtureDensity":
        rows = data.at_most(MOST_ROWS)
        x, validation = (data.scale.apply(part).astype(np.float32) for part in rows)
        groups = []
        for size in sorted({len(block) for block in data.blocks}):
            places = [k for k, block in enumerate(data.blocks) if len(block) == size]
            blocks = np.stack([data.blocks[k] for k in places])
            inputs = others(blocks, data.dim)
            start = self._start(blocks, data)
            network = train_networks(
                _losses,
                start,
                Rows(x, (x.T[blocks], inputs)),
                Rows(validation, (validation.T[blocks], inputs)),
                units=self.hidden + start.out_bias.shape[1],
                epochs=self.epochs,
                learning_rate=self.learning_rate,
                labels=tuple(data.labels[k] for k in places),
                run=data.run,
            )
            groups.append(_Group(blocks, np.array(places), network))
        return replace(self, _fitted=_Fitted(data.scale, tuple(groups)))

    def _start(self, blocks: Int[np.ndarray, "j s"], data: TrainingData) -> _Network:
        """Components spread over a standard normal, whatever the inputs."""
        (j, s), k, h = blocks.shape, self.components, self.hidden
        rng = stream(data.run.seed, "mixture density", s)
        hidden = rng.normal(size=(j, data.dim, h)) / np.sqrt(data.dim)
        along = np.sqrt(1 - START_SD**2) * _unit_spread(ndtri((np.arange(k) + 0.5) / k))
        out = np.zeros((k, 1 + s + s + s * (s - 1) // 2))
        out[:, 1 : 1 + s] = along[:, None] / np.sqrt(s)
        out[:, 1 + s : 1 + 2 * s] = np.log(START_SD if k > 1 else 1.0)
        start = (
            hidden,
            np.zeros((j, h)),
            np.zeros((j, data.dim, s)),
            np.zeros((j, h, out.size)),
            np.broadcast_to(out.ravel(), (j, out.size)),
        )
        return _Network(*(array.astype(np.float32) for array in start))

    def _mixtures(self, x: np.ndarray) -> list[tuple[_Group, _Mixture]]:
        fitted = learnt_by(self, self._fitted)
        z = fitted.scale.apply(x).astype(np.float32)
        found = []
        with jax.enable_x64(True):
            for group in fitted.groups:
                inputs = others(group.blocks, x.shape[1])
                size = group.blocks.shape[1]
                mixture = _mixture(size, group.network, z, inputs)
                found.append((group, _Mixture(*(np.asarray(a, np.float64) for a in mixture))))
        return found

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:  # noqa: ARG002
        found, scale = self._mixtures(x), learnt_by(self, self._fitted).scale
        most = max(len(_nodes(group.blocks.shape[1])[0]) for group, _ in found) * self.components
        points, weights = np.zeros((*x.shape, most)), np.zeros((*x.shape, most))
        for group, mixture in found:
            nodes, shares = _nodes(group.blocks.shape[1])
            at = mixture.means[..., None, :] + np.einsum("jnkab,qb->jnkqa", mixture.factors, nodes)
            share = np.exp(mixture.log_weights)[..., None] * shares
            count = self.components * len(nodes)
            n = share.shape[1]
            for place, block in enumerate(group.blocks):
                entries = at[place].reshape(n, count, -1)
                points[:, block, :count] = np.swapaxes(entries, 1, 2)
                points[:, block, count:] = points[:, block, :1]  # at weight 0
                weights[:, block, :count] = share[place].reshape(n, 1, count)
        points *= scale.sd[:, None]
        points += scale.mean[:, None]
        return Atoms(points, weights / weights.sum(axis=-1, keepdims=True))

    def log_density(self, x: np.ndarray) -> np.ndarray:
        found, scale = self._mixtures(x), learnt_by(self, self._fitted).scale
        z = scale.apply(x)
        out = np.empty((len(x), sum(len(group.places) for group, _ in found)))
        with jax.enable_x64(True):
            for group, mixture in found:
                at = z.T[group.blocks]
                logs = np.asarray(_log_densities(mixture, at)).T
                out[:, group.places] = logs - np.log(scale.sd)[group.blocks].sum(axis=1)
        return out


def _unit_spread(values: np.ndarray) -> np.ndarray:
    spread = values.std()
    return values / spread if spread > 0 else values


def _nodes(size: int) -> tuple[Float[np.ndarray, "q s"], Float[np.ndarray, " q"]]:
    """Points and weights that stand for a standard normal."""
    if size == 1:
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        return nodes[:, None], weights / weights.sum()
    from scipy.stats import qmc

    points = qmc.Sobol(size, scramble=True, rng=np.random.default_rng(0)).random(BLOCK_NODES)
    normal = ndtri(points)
    normal = normal - normal.mean(axis=0)
    factor = np.linalg.cholesky(np.cov(normal.T, bias=True)) if 2 * size < BLOCK_NODES else None
    if factor is not None:
        normal = np.linalg.solve(factor, normal.T).T  # mean and covariance are exact
    return normal, np.full(BLOCK_NODES, 1.0 / BLOCK_NODES)


@partial(jax.jit, static_argnums=0)
def _mixture(
    size: int, network: _Network, x: Float[Array, "n d"], inputs: Float[Array, "j d"]
) -> _Mixture:
    mask = inputs[..., None]
    units = jnp.tanh(
        jnp.einsum("ni,jih->jnh", x, network.hidden * mask) + network.hidden_bias[:, None]
    )
    j, n = units.shape[:2]
    per_component = 1 + 2 * size + size * (size - 1) // 2
    out = (units @ network.out + network.out_bias[:, None]).reshape(j, n, -1, per_component)
    direct = jnp.einsum("ni,jis->jns", x, network.direct * mask)
    means = out[..., 1 : 1 + size] + direct[:, :, None]
    scales = NARROWEST + jnp.exp(out[..., 1 + size : 1 + 2 * size])
    factors = jnp.zeros((*means.shape, size), x.dtype)
    along, rows, columns = jnp.arange(size), *jnp.tril_indices(size, -1)
    factors = factors.at[..., along, along].set(scales)
    if size > 1:
        factors = factors.at[..., rows, columns].set(out[..., 1 + 2 * size :])
    return _Mixture(jax.nn.log_softmax(out[..., 0]), means, factors)


@jax.jit
def _log_densities(mixture: _Mixture, at: Float[Array, "j s n"]) -> Float[Array, "j n"]:
    """Of every block's own entries, under its mixture."""
    size = at.shape[1]
    steps = jnp.swapaxes(at, 1, 2)[:, :, None] - mixture.means
    scales = jnp.diagonal(mixture.factors, axis1=-2, axis2=-1)
    if size == 1:
        squared = (steps[..., 0] / scales[..., 0]) ** 2
    else:
        solved = jax.scipy.linalg.solve_triangular(mixture.factors, steps[..., None], lower=True)
        squared = jnp.sum(solved[..., 0] ** 2, axis=-1)
    peak = jnp.sum(jnp.log(scales), axis=-1) + size * 0.5 * np.log(2 * np.pi)
    return jax.scipy.special.logsumexp(mixture.log_weights - squared / 2 - peak, axis=-1)


def _losses(network: _Network, x: Array, own: tuple[Array, Array]) -> Float[Array, " j"]:
    at, inputs = own
    return -_log_densities(_mixture(at.shape[1], network, x, inputs), at).mean(axis=1)
