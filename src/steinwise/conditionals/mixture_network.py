"""A network per block that turns the other coordinates into a mixture of normals."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import ndtri

# In standard deviations of the coordinate: a component cannot collapse onto one training draw.
SMALLEST_SD = 0.02
START_SD = 0.7  # of a component where the mixture has variance 1: half of it lies between the means


class MixtureNetwork(NamedTuple):
    """Of j blocks of one size s: a hidden layer, and a linear path from the inputs to the means."""

    hidden: Float[np.ndarray, "j d h"]
    hidden_bias: Float[np.ndarray, "j h"]
    direct: Float[np.ndarray, "j d s"]
    out: Float[np.ndarray, "j h o"]
    out_bias: Float[np.ndarray, "j o"]


class Mixtures(NamedTuple):
    """Of every block and row: log weights, means and lower triangular factors of covariances."""

    log_weights: Float[Array | np.ndarray, "j n k"]
    means: Float[Array | np.ndarray, "j n k s"]
    factors: Float[Array | np.ndarray, "j n k s s"]


def initial_network(
    rng: np.random.Generator, blocks: int, size: int, d: int, *, components: int, hidden: int
) -> MixtureNetwork:
    """Components spread over a standard normal, whatever the inputs."""
    j, s, k, h = blocks, size, components, hidden
    first_layer = rng.normal(size=(j, d, h)) / np.sqrt(d)
    along = np.sqrt(1 - START_SD**2) * _unit_spread(ndtri((np.arange(k) + 0.5) / k))
    out = np.zeros((k, _outputs_per_component(s)))
    out[:, 1 : 1 + s] = along[:, None] / np.sqrt(s)
    out[:, 1 + s : 1 + 2 * s] = np.log(START_SD if k > 1 else 1.0)
    start = (
        first_layer,
        np.zeros((j, h)),
        np.zeros((j, d, s)),
        np.zeros((j, h, out.size)),
        np.broadcast_to(out.ravel(), (j, out.size)),
    )
    return MixtureNetwork(*(array.astype(np.float32) for array in start))


def _unit_spread(values: np.ndarray) -> np.ndarray:
    spread = values.std()
    return values / spread if spread > 0 else values


def _outputs_per_component(size: int) -> int:
    """A weight, the means, the log scales, and what is below the diagonal of the factor."""
    return 1 + 2 * size + size * (size - 1) // 2


@partial(jax.jit, static_argnums=0)
def predict_mixtures(
    size: int, network: MixtureNetwork, x: Float[Array, "n d"], inputs: Float[Array, "j d"]
) -> Mixtures:
    """Of blocks of this size, given the coordinates that `inputs` marks."""
    mask = inputs[..., None]
    units = jnp.tanh(
        jnp.einsum("ni,jih->jnh", x, network.hidden * mask) + network.hidden_bias[:, None]
    )
    j, n = units.shape[:2]
    out = units @ network.out + network.out_bias[:, None]
    out = out.reshape(j, n, -1, _outputs_per_component(size))
    direct = jnp.einsum("ni,jis->jns", x, network.direct * mask)
    means = out[..., 1 : 1 + size] + direct[:, :, None]
    scales = SMALLEST_SD + jnp.exp(out[..., 1 + size : 1 + 2 * size])
    factors = jnp.zeros((*means.shape, size), x.dtype)
    diagonal, rows, columns = jnp.arange(size), *jnp.tril_indices(size, -1)
    factors = factors.at[..., diagonal, diagonal].set(scales)
    if size > 1:
        factors = factors.at[..., rows, columns].set(out[..., 1 + 2 * size :])
    return Mixtures(jax.nn.log_softmax(out[..., 0]), means, factors)


@jax.jit
def mixture_log_densities(mixtures: Mixtures, points: Float[Array, "j s n"]) -> Float[Array, "j n"]:
    """Of the entries of every block, under its own mixture."""
    size = points.shape[1]
    steps = jnp.swapaxes(points, 1, 2)[:, :, None] - mixtures.means
    scales = jnp.diagonal(mixtures.factors, axis1=-2, axis2=-1)
    if size == 1:
        squared = (steps[..., 0] / scales[..., 0]) ** 2
    else:
        solved = jax.scipy.linalg.solve_triangular(mixtures.factors, steps[..., None], lower=True)
        squared = jnp.sum(solved[..., 0] ** 2, axis=-1)
    log_constant = jnp.sum(jnp.log(scales), axis=-1) + size * 0.5 * np.log(2 * np.pi)
    return jax.scipy.special.logsumexp(mixtures.log_weights - squared / 2 - log_constant, axis=-1)


def mixture_losses(
    network: MixtureNetwork, x: Array, per_network: tuple[Array, Array]
) -> Float[Array, " j"]:
    """Minus the mean log density of every block; its own entries and its inputs per network."""
    points, inputs = per_network
    mixtures = predict_mixtures(points.shape[1], network, x, inputs)
    return -mixture_log_densities(mixtures, points).mean(axis=1)
