"""The paper's stand-in: a network predicts the bin of x_j from the other coordinates."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from steinwise._internal.random import stream
from steinwise._internal.validation import require_share, require_whole
from steinwise.conditionals.base import (
    AbstractConditional,
    Atoms,
    Scale,
    TrainingData,
    learnt_by,
    refuse_blocks,
)
from steinwise.conditionals.networks import MOST_ROWS, Rows, others, train_networks

PSEUDO_COUNT = 0.5  # per bin, of the marginal law that training starts from


class _Network(NamedTuple):
    """Of every coordinate: a hidden layer of sigmoids, then the logits of the bins."""

    hidden: Float[np.ndarray, "j h d"]
    hidden_bias: Float[np.ndarray, "j h"]
    out: Float[np.ndarray, "j b h"]
    out_bias: Float[np.ndarray, "j b"]


class _Fitted(NamedTuple):
    network: _Network
    scale: Scale
    edges: Float[np.ndarray, "d edges"]


@dataclass(frozen=True, eq=False)
class Histogram(AbstractConditional):
    r"""A histogram of `x_j` whose weights depend on `x_-j` through a network (Algorithm 2).

    .. math:: r_j(y = c_b | x_{-j}) \propto \exp(\mathrm{net}_j(x_{-j})_b)

    with c_b the centre of bin b: the range of x_j, over training and validation draws, is cut into
    bins of equal width. One hidden layer of sigmoid units predicts the bin; of all epochs the one
    with the lowest validation loss is kept. Training starts at the marginal histogram, which is
    kept where no epoch is better.
    The atoms are all bin centres with their probabilities: no noise of sampling (`Sampled` has it,
    as in the paper).

    Parameters
    ----------
    bins
        How many. The paper does not say; 20 by default.
    hidden
        Sigmoid units, 15 in the paper.
    epochs
        Steps on all training draws, 500 in the paper.
    learning_rate
        Of Adam. The paper does not say.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.multivariate_normal(np.zeros(3), 0.3 * np.eye(3) + 0.7, size=1000)
    >>> method = sw.methods.KCCSD(sw.conditionals.Histogram(bins=10))
    >>> sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)), method=method).rejected
    True
    """

    bins: int = 20
    hidden: int = 15
    epochs: int = 500
    learning_rate: float = 0.01
    _fitted: _Fitted | None = field(default=None, repr=False)

    least_train = 5
    least_validation = 3

    def __post_init__(self) -> None:
        require_whole("bins", self.bins, least=2)
        require_whole("hidden", self.hidden, least=1)
        require_whole("epochs", self.epochs, least=0)
        require_share("learning_rate", self.learning_rate)

    def describe(self) -> str:
        return f"Histogram({self.bins} bins)"

    def fit(self, data: TrainingData) -> "Histogram":
        refuse_blocks(self, data)
        scale = data.scale
        x, validation = data.at_most(MOST_ROWS)
        both = np.concatenate([x, validation])
        edges = np.linspace(both.min(axis=0), both.max(axis=0), self.bins + 1, axis=1)
        counts = np.stack(
            [np.bincount(found, minlength=self.bins) for found in _bin_of(edges, x).T]
        )
        start = self._start(counts, data)
        network = train_networks(
            _losses,
            start,
            _prepared(scale, edges, x),
            _prepared(scale, edges, validation),
            units=self.hidden + self.bins,
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            labels=data.labels,
            run=data.run,
        )
        return replace(self, _fitted=_Fitted(network, scale, edges))

    def _start(self, counts: Int[np.ndarray, "d b"], data: TrainingData) -> _Network:
        """The marginal histogram, whatever the inputs."""
        d, h = data.dim, self.hidden
        weights = stream(data.run.seed, "histogram").normal(size=(d, h, d)) / np.sqrt(d)
        frequencies = (counts + PSEUDO_COUNT) / (counts + PSEUDO_COUNT).sum(axis=1, keepdims=True)
        start = weights, np.zeros((d, h)), np.zeros((d, self.bins, h)), np.log(frequencies)
        return _Network(*(array.astype(np.float32) for array in start))

    def _probabilities(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d b"]:
        fitted = learnt_by(self, self._fitted)
        z = fitted.scale.apply(x).astype(np.float32)
        with jax.enable_x64(True):
            logs = _log_probabilities(fitted.network, z, _inputs(x.shape[1]))
            logs = np.asarray(logs, np.float64)
        return np.exp(np.moveaxis(logs, -1, 0))

    def atoms(self, x: np.ndarray, seed: object, first_row: int) -> Atoms:  # noqa: ARG002
        weights, edges = self._probabilities(x), learnt_by(self, self._fitted).edges
        centres = (edges[:, 1:] + edges[:, :-1]) / 2
        weights = weights / weights.sum(axis=-1, keepdims=True)
        return Atoms(np.broadcast_to(centres, weights.shape), weights)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        weights, edges = self._probabilities(x), learnt_by(self, self._fitted).edges
        within = np.take_along_axis(weights, _bin_of(edges, x)[..., None], axis=-1)[..., 0]
        outside = (x < edges[:, 0]) | (x > edges[:, -1])
        widths = (edges[:, -1] - edges[:, 0]) / self.bins
        return np.where(outside, -np.inf, np.log(within / widths))


def _bin_of(edges: Float[np.ndarray, "d edges"], x: Float[np.ndarray, "n d"]) -> np.ndarray:
    """The bin of every entry; the first or last one outside of them."""
    bins = edges.shape[1] - 1
    share = (x - edges[:, 0]) / (edges[:, -1] - edges[:, 0])
    return np.clip((share * bins).astype(int), 0, bins - 1)


def _inputs(d: int) -> Float[np.ndarray, "d d"]:
    return others(np.arange(d)[:, None], d)


def _prepared(scale: Scale, edges: np.ndarray, x: np.ndarray) -> Rows:
    """Standardised inputs; who takes them, and which bin is right as (network, bin, row)."""
    right = np.eye(edges.shape[1] - 1, dtype=np.float32)[_bin_of(edges, x).T]
    own = _inputs(x.shape[1]), np.ascontiguousarray(np.swapaxes(right, 1, 2))
    return Rows(scale.apply(x).astype(np.float32), own)


@jax.jit
def _log_probabilities(
    network: _Network, x: Float[Array, "n d"], inputs: Float[Array, "j d"]
) -> Float[Array, "j b n"]:
    """With the rows last: a third less time than with the rows first."""
    j, h, d = network.hidden.shape
    first = ((network.hidden * inputs[:, None]).reshape(j * h, d) @ x.T).reshape(j, h, -1)
    units = jax.nn.sigmoid(first + network.hidden_bias[..., None])
    return jax.nn.log_softmax(network.out @ units + network.out_bias[..., None], axis=1)


def _losses(network: _Network, x: Array, own: tuple[Array, Array]) -> Float[Array, " j"]:
    inputs, right = own
    return -jnp.sum(_log_probabilities(network, x, inputs) * right, axis=(1, 2)) / len(x)
