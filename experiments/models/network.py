r"""A Bayesian neural network for regression: 6-40-10-1 with sigmoid units, 701 weights.

.. math:: y_i \sim N(f_w(x_i), 1/\tau), \qquad f_w = W_3 s(W_2 s(W_1 x + b_1) + b_2) + b_3, \qquad
    w \sim N(0, \sigma^2 I)

Inputs and responses are standardised. The paper gives neither the prior nor the precision tau.
"""

from dataclasses import dataclass
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from steinwise.samplers import Minibatch
from steinwise.target import AbstractTarget, Target

HIDDEN = (40, 10)
ARRAYS = ("W1", "b1", "W2", "b2", "W3", "b3")


def standardised(values: np.ndarray) -> np.ndarray:
    return (values - values.mean(axis=0)) / values.std(axis=0)


@dataclass(frozen=True, eq=False)
class Network:
    """The posterior given inputs (n, inputs) and responses (n,)."""

    inputs: np.ndarray
    responses: np.ndarray
    precision: float  # of the noise
    prior_sd: float = 1.0  # of a weight
    hidden: tuple[int, int] = HIDDEN

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of the `ARRAYS`, in the order of the weights' vector."""
        (first, second), inputs = self.hidden, self.inputs.shape[1]
        return (inputs, first), (first,), (first, second), (second,), (second,), ()

    @property
    def dim(self) -> int:
        return sum(int(np.prod(shape)) for shape in self.shapes)

    def layer(self) -> np.ndarray:
        """The number of the array, 0 to 5, that each weight belongs to."""
        return np.repeat(np.arange(6), [int(np.prod(shape)) for shape in self.shapes])

    def unpack(self, w: Float[Array, " d"]) -> list[Array]:
        ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])[:-1]
        parts = zip(jnp.split(w, ends), self.shapes, strict=True)
        return [part.reshape(shape) for part, shape in parts]

    def predict(self, w: Float[Array, " d"], inputs: Array) -> Array:
        """f_w at one input, or at the rows of several."""
        w1, b1, w2, b2, w3, b3 = self.unpack(w)
        return jax.nn.sigmoid(jax.nn.sigmoid(inputs @ w1 + b1) @ w2 + b2) @ w3 + b3

    def log_prior(self, w: Float[Array, " d"]) -> Float[Array, ""]:
        return -0.5 * jnp.sum((w / self.prior_sd) ** 2)

    def log_likelihood(self, w: Float[Array, " d"], row: tuple[ArrayLike, ArrayLike]) -> Array:
        """Of one datum, or of several together."""
        inputs, responses = (jnp.asarray(part) for part in row)
        return -0.5 * self.precision * jnp.sum((responses - self.predict(w, inputs)) ** 2)

    def log_density(self, w: Float[Array, " d"]) -> Float[Array, ""]:
        return self.log_prior(w) + self.log_likelihood(w, (self.inputs, self.responses))

    def minibatch(self, size: int) -> Minibatch:
        return Minibatch(self.log_prior, self.log_likelihood, (self.inputs, self.responses), size)

    def target(self) -> AbstractTarget:
        return NetworkTarget(self)


class NetworkTarget(Target):
    """The posterior with line scores by hand: one pass through the network serves all lines.

    Only what follows a weight is computed again. Against a derivative of the log density along
    every line this is a tenth of the time or less.
    """

    network: Network

    def __init__(self, network: Network) -> None:
        super().__init__(network.log_density)
        object.__setattr__(self, "network", network)

    def line_scores(
        self,
        x: np.ndarray,
        coordinates: np.ndarray,
        y: np.ndarray,
        *,
        memory: int = 2**30,  # noqa: ARG002
        first_row: int = 0,  # noqa: ARG002
    ) -> np.ndarray:
        places = tuple(int(j) for j in coordinates)
        with jax.enable_x64(True):
            return np.asarray(_line_scores(self.network, places, x, y))


@partial(jax.jit, static_argnums=(0, 1))
def _line_scores(
    network: Network, coordinates: tuple[int, ...], x: Float[Array, "n d"], y: Float[Array, "n c m"]
) -> Float[Array, "n c m"]:
    layers = network.layer()[list(coordinates)]
    first_of = np.searchsorted(network.layer(), np.arange(6))

    def draw(row: tuple[Array, Array]) -> Array:
        w, y = row
        passed = _Pass(network, w)
        out = jnp.zeros(y.shape)
        for layer in np.unique(layers):
            chosen = np.flatnonzero(layers == layer)
            index = jnp.asarray(np.array(coordinates)[chosen] - first_of[layer])
            line = jax.vmap(partial(passed.along, int(layer)), in_axes=(None, None, 0))
            over_lines = jax.vmap(line)(index, w[np.array(coordinates)[chosen]], y[chosen])
            out = out.at[chosen].set(over_lines)
        return out - y / network.prior_sd**2  # the prior's score

    return jax.lax.map(draw, (x, y))


class _Pass:
    """The activations of all units at all data, for one vector of weights."""

    def __init__(self, network: Network, w: Array) -> None:
        self.network = network
        self.inputs = jnp.asarray(network.inputs).T
        w1, b1, self.w2, b2, self.w3, b3 = network.unpack(w)
        self.before1 = w1.T @ self.inputs + b1[:, None]  # (40, data): units are rows
        self.after1 = jax.nn.sigmoid(self.before1)
        self.before2 = self.w2.T @ self.after1 + b2[:, None]
        self.after2 = jax.nn.sigmoid(self.before2)
        self.output = self.w3 @ self.after2 + b3

    def along(self, layer: int, index: Array, old: Array, new: Array) -> Array:
        """The likelihood's derivative by one weight, at a new value of it."""
        step = new - old
        if layer in (0, 1):  # into a first unit
            unit, source = index, 1.0
            if layer == 0:
                unit = index % self.w2.shape[0]
                source = self.inputs[index // self.w2.shape[0]]
            first = jax.nn.sigmoid(self.before1[unit] + step * source)
            moved = self.before2 + self.w2[unit][:, None] * (first - self.after1[unit])
            second = jax.nn.sigmoid(moved)
            output = self.output + self.w3 @ (second - self.after2)
            back = (self.w3 * self.w2[unit]) @ (second * (1 - second))
            slope = back * first * (1 - first) * source
        elif layer in (2, 3):  # into a second unit
            unit, source = index, 1.0
            if layer == 2:
                unit, source = index % self.w3.size, self.after1[index // self.w3.size]
            second = jax.nn.sigmoid(self.before2[unit] + step * source)
            output = self.output + self.w3[unit] * (second - self.after2[unit])
            slope = self.w3[unit] * second * (1 - second) * source
        else:  # into the output, which is linear
            slope = self.after2[index] if layer == 4 else jnp.ones_like(self.output)
            output = self.output + step * slope
        return self.network.precision * jnp.dot(self.network.responses - output, slope)


@cache
def typical_spread(network: Network, steps: int = 2000) -> Float[np.ndarray, " d"]:
    r"""A standard deviation of p(w_j | w_-j) for every weight, the same in all of an array.

    The median over the array's weights, at a mode of the posterior, of
    :math:`(\sigma^{-2} + \tau \sum_i (df(x_i)/dw_j)^2)^{-1/2}`. Units may change places between
    chains, so that weights of one array are alike, and only they.
    """
    import optax

    adam = optax.adam(0.02)
    start = network.prior_sd * np.random.default_rng(0).normal(size=network.dim)

    @jax.jit
    def found(w: Array) -> Array:
        def step(_: Array, state: tuple) -> tuple:
            w, moments = state
            updates, moments = adam.update(-jax.grad(network.log_density)(w), moments)
            return optax.apply_updates(w, updates), moments

        w, _ = jax.lax.fori_loop(0, steps, step, (w, adam.init(w)))
        slopes = jax.jacrev(lambda w: network.predict(w, jnp.asarray(network.inputs)))(w)
        return (network.prior_sd**-2 + network.precision * jnp.sum(slopes**2, axis=0)) ** -0.5

    with jax.enable_x64(True):
        each = np.asarray(found(jnp.asarray(start)))
    layers = network.layer()
    return np.array([np.median(each[layers == layer]) for layer in layers])
