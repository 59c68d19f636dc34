"""Directions to project on for the sliced KSD: learned by gradient ascent, or active."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from steinwise._internal.compiled import precision
from steinwise._internal.random import stream
from steinwise._internal.spread import pulled_in
from steinwise._internal.threads import one_blas_thread
from steinwise.functional import slice_stein
from steinwise.kernels import AbstractKernel
from steinwise.kernels.base import over_pairs
from steinwise.kernels.median import median_distance
from steinwise.kernels.per_coordinate import one_per_coordinate

ROUNDS, STEPS = 5, 20  # the median width follows the projections from round to round
START_NOISE = 0.1  # off the axes, where symmetric draws have no slope
LEARNING_RATE = 0.05


def unit_rows(rows: Float[np.ndarray, "d d"]) -> Float[np.ndarray, "d d"]:
    """Every row divided by its length."""
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def learned_directions(
    kernel: AbstractKernel,
    x: Float[np.ndarray, "n d"],
    score: Float[np.ndarray, "n d"],
    seed: object,
) -> Float[np.ndarray, "d d"]:
    """Unit vectors g_j, as rows, of a large U-statistic of their slice."""
    import optax

    d, spread = x.shape[1], _spread(x)
    noise = stream(seed, "slices").normal(size=(d, d)) / np.sqrt(d)
    weights = np.eye(d) + START_NOISE * noise  # in units of the spread
    with precision():
        state = jax.vmap(optax.adam(LEARNING_RATE).init)(weights)
        for _ in range(ROUNDS):
            rows = unit_rows(np.asarray(weights)) / spread
            length = np.linalg.norm(rows, axis=1)  # kept for a round, as the width is
            resolved = kernel.resolve(x @ rows.T / length, seed, per_coordinate=True)
            weights, state = _ascend(resolved, x, score, spread, length, weights, state)
    return unit_rows(np.asarray(weights) / spread)


@jax.jit
def _ascend(kernel, x, score, spread, length, weights, state) -> tuple[Array, tuple]:
    """Some steps of Adam for every slice, one slice after the other."""
    import optax

    def gradient(
        weight: Array, kernel: AbstractKernel, score: Array, length: Array, j: Array
    ) -> Array:
        def place(weight: Array) -> tuple[Array, Array]:
            direction = weight / jnp.linalg.norm(weight) / spread / length
            return x @ direction, direction[j]

        (projected, alignment), pull_back = jax.vjp(place, weight)
        slope = pull_back(slice_ksd_gradient(kernel, projected, score, alignment))[0]
        return spread[j] ** 2 * slope  # free of units, or Adam's epsilon may stop the ascent

    def one_slice(inputs: tuple) -> tuple[Array, tuple]:
        *fixed, weight, state = inputs

        def step(carry: tuple, _: None) -> tuple[tuple, None]:
            weight, state = carry
            updates, state = optax.adam(LEARNING_RATE).update(-gradient(weight, *fixed), state)
            return (optax.apply_updates(weight, updates), state), None

        return jax.lax.scan(step, (weight, state), length=STEPS)[0]

    d = x.shape[1]
    kernels = one_per_coordinate(kernel, d)
    return jax.lax.map(one_slice, (kernels, score.T, length, jnp.arange(d), weights, state))


def slice_ksd_gradient(
    kernel: AbstractKernel,
    x: Float[Array, " n"],
    score: Float[Array, " n"],
    alignment: Float[Array, ""],
) -> tuple[Float[Array, " n"], Float[Array, ""]]:
    """The derivatives of a slice's U-statistic in the projected draws and in <r, g>.

    Forward mode pair by pair takes a seventh of the time of reverse mode through the Gram matrix.
    """

    def one(x: Array, y: Array, score_x: Array, score_y: Array) -> tuple[Array, Array]:
        def stein(x: Array, alignment: Array) -> Array:
            return slice_stein(kernel, x, y, score_x, score_y, alignment)

        return jax.jacfwd(stein, (0, 1))(x, alignment)

    by_draw, by_alignment = over_pairs(one)(x, x, score, score)
    n = len(x)
    weight = (1 - jnp.eye(n, dtype=x.dtype)) / (n * (n - 1))
    return 2 * jnp.sum(weight * by_draw, axis=1), jnp.sum(weight * by_alignment)


@one_blas_thread
def active_directions(
    x: Float[np.ndarray, "n d"], score: Float[np.ndarray, "n d"], seed: object
) -> Float[np.ndarray, "d d"]:
    """Unit vectors g_j, as rows, along which f_j varies most, in units of the draws' spread."""
    spread = _spread(x)
    x, score = x / spread, score * spread
    width = float(median_distance(x, seed, per_coordinate=False))
    gram = np.exp(-cdist(x, x, "sqeuclidean") / (2 * width**2))
    slopes = (_smoothed_slopes(j, x, score[:, j], gram, width) for j in range(x.shape[1]))
    return unit_rows(np.stack([_leading(one) for one in slopes]) / spread)


def _smoothed_slopes(
    j: int,
    x: Float[np.ndarray, "n d"],
    score: Float[np.ndarray, " n"],
    gram: Float[np.ndarray, "n n"],
    width: float,
) -> Float[np.ndarray, "n d"]:
    """The gradient of f_j at every draw, times n width^2.

    f_j(y) = mean_x k(x, y) (b_j(x) + (y_j - x_j) / width^2).
    """
    weights = gram * (score + (x[:, None, j] - x[None, :, j]) / width**2)
    slopes = weights @ x - weights.sum(axis=1, keepdims=True) * x
    slopes[:, j] += gram.sum(axis=1)
    return slopes


def _leading(slopes: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " d"]:
    """The leading eigenvector of the mean of grad f grad f'."""
    d = slopes.shape[1]
    return eigh(slopes.T @ slopes, subset_by_index=[d - 1, d - 1])[1][:, 0]


def _spread(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " d"]:
    """The standard deviation of every coordinate, 1 where the held-out draws do not move."""
    spread = pulled_in(x).std(axis=0)
    return np.where(spread > 0, spread, 1.0)
