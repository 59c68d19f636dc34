"""Pure array functions: safe under jit, vmap and grad, in the caller's precision.

Nothing here checks arrays, draws random numbers or leaves the device. The checked functions
with results (`sw.check`, `sw.kccsd`, `sw.ksd`) give the same numbers.

Examples
--------
>>> import jax, jax.numpy as jnp
>>> from steinwise import functional, kernels
>>> x = jax.random.normal(jax.random.key(0), (100, 2))
>>> value = jax.jit(functional.ksd)(kernels.IMQ(), x, -x)
>>> bool(abs(value) < 0.1)
True
"""

import functools
import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from steinwise._internal.promotion import with_promotion
from steinwise._internal.validation import require_choice, require_estimator
from steinwise.kernels import AbstractKernel
from steinwise.kernels.base import over_pairs
from steinwise.kernels.pairs import along_difference, squared_distances
from steinwise.kernels.per_coordinate import one_per_coordinate
from steinwise.kernels.precision import in_precision_of, robust_centre


@with_promotion
def ksd(
    kernel: AbstractKernel,
    x: Float[Array, "n d"],
    score: Float[Array, "n d"],
    estimator: str = "u",
) -> Float[Array, ""]:
    """The squared kernelized Stein discrepancy as a U- or a V-statistic, quadratic in n."""
    return _mean_over_pairs(in_precision_of(x, kernel).stein_gram(x, x, score, score), estimator)


def _mean_over_pairs(gram: Float[Array, "n n"], estimator: str) -> Float[Array, ""]:
    """As a U-statistic, without the diagonal, or as a V-statistic.

    The diagonal is never added: a far draw's own entry would leave no digits to take it out again.
    """
    require_estimator(estimator)
    if estimator == "v":
        return jnp.mean(gram)
    n = len(gram)
    return jnp.sum(jnp.where(jnp.eye(n, dtype=bool), 0, gram)) / (n * (n - 1))


@with_promotion
def stein_of_pairs(
    kernel: AbstractKernel,
    x: Float[Array, "m d"],
    y: Float[Array, "m d"],
    score_x: Float[Array, "m d"],
    score_y: Float[Array, "m d"],
) -> Float[Array, " m"]:
    """The Stein kernel of the rows of x, each with the same row of y.

    Its mean, with x the first half of some draws and y the second, is KSD^2 in linear time.
    """
    return jax.vmap(in_precision_of(x, kernel).stein)(x, y, score_x, score_y)


@with_promotion
def imq_stein_grams(
    bandwidths: Float[Array, " b"],
    x: Float[Array, "m d"],
    y: Float[Array, "n d"],
    score_x: Float[Array, "m d"],
    score_y: Float[Array, "n d"],
) -> Float[Array, "b m n"]:
    """Stein kernels of IMQ kernels with exponent 1/2, which share all products of coordinates."""
    squared = squared_distances(x, y)
    scores = score_x @ score_y.T
    along = along_difference(x, y, score_x, score_y, x.shape[1])

    def one(bandwidth: Array) -> Array:
        ratio = squared / bandwidth**2
        inverse = 1 / (1 + ratio)
        k = jnp.sqrt(inverse)
        return k * (scores - inverse * (along + 3 * ratio * inverse) / bandwidth**2)

    return jnp.stack([one(bandwidths[k]) for k in range(len(bandwidths))])


@with_promotion
def imq_ksds(
    bandwidths: Float[Array, " b"],
    x: Float[Array, "n d"],
    score: Float[Array, "n d"],
    estimator: str = "u",
) -> Float[Array, " b"]:
    """KSD^2 with each of several IMQ kernels: what KSDAgg aggregates."""
    x = x - robust_centre(x)
    grams = imq_stein_grams(jnp.asarray(bandwidths, x.dtype), x, x, score, score)
    return jax.vmap(functools.partial(_mean_over_pairs, estimator=estimator))(grams)


@with_promotion
def kccsd_contributions(
    kernel: AbstractKernel,
    x: Float[Array, "n d"],
    score: Float[Array, "n d"],
    atoms: Float[Array, "n d m"],
    atom_scores: Float[Array, "n d m"],
    weights: Float[Array, "n d m"],
    variant: str = "norm",
) -> Float[Array, "n d"]:
    r"""H_ij = sum_k w_ijk k_cc^j(x_ij, y_ijk; x_i,-j), whose mean over i is w_j^2.

    With variant "unit-ball" each entry is divided by the root of the stand-in's own
    sum_kl w_k w_l k_cc(y_k, y_l).
    """
    kernels = one_per_coordinate(in_precision_of(x, kernel), x.shape[1])
    one = functools.partial(_contribution, variant=variant)
    over_rows = jax.vmap(jax.vmap(one), in_axes=(None, 0, 0, 0, 0, 0))
    return over_rows(
        kernels,
        x[..., None],
        score[..., None],
        atoms[..., None],
        atom_scores[..., None],
        weights,
    )


@with_promotion
def block_contributions(
    kernel: AbstractKernel,
    x: Float[Array, "n b"],
    score: Float[Array, "n b"],
    atoms: Float[Array, "n m b"],
    atom_scores: Float[Array, "n m b"],
    weights: Float[Array, "n m"],
    variant: str = "norm",
) -> Float[Array, " n"]:
    """The contributions of one block of coordinates, with a kernel on R^b."""
    one = functools.partial(_contribution, variant=variant)
    over_rows = jax.vmap(one, in_axes=(None, 0, 0, 0, 0, 0))
    return over_rows(in_precision_of(x, kernel), x, score, atoms, atom_scores, weights)


def _contribution(
    kernel: AbstractKernel,
    x: Float[Array, " b"],
    score: Float[Array, " b"],
    atoms: Float[Array, "m b"],
    atom_scores: Float[Array, "m b"],
    weights: Float[Array, " m"],
    variant: str,
) -> Float[Array, ""]:
    require_choice("variant", variant, ("norm", "unit-ball"))
    inner = kernel.stein_mean(x, score, atoms, atom_scores, weights)
    if variant == "norm":
        return inner
    squared_norm = kernel.stein_norm(atoms, atom_scores, weights)
    positive = squared_norm > 0  # zero where the stand-in is p itself: then inner is 0 too
    return jnp.where(positive, inner / jnp.sqrt(jnp.where(positive, squared_norm, 1.0)), 0.0)


@with_promotion
def witness(
    kernel: AbstractKernel,
    points: Float[Array, "n d p"],
    atoms: Float[Array, "n d m"],
    atom_scores: Float[Array, "n d m"],
    weights: Float[Array, "n d m"],
) -> Float[Array, "n d p"]:
    r"""`f*_j(t; x_-j) = E_y[k(t, y) b_j(y, x_-j) + dk/dy(t, y)]` at points t of each line."""

    def at(kernel: AbstractKernel, point: Array, atom: Array, score: Array) -> Array:
        k = kernel.parts(point[None], atom[None])
        return k.value * score + k.dy[0]

    def line(kernel, points, atoms, scores, weights):
        over_atoms = jax.vmap(at, in_axes=(None, None, 0, 0))
        over_points = jax.vmap(over_atoms, in_axes=(None, 0, None, None))
        return over_points(kernel, points, atoms, scores) @ weights

    kernels = one_per_coordinate(in_precision_of(points, kernel), points.shape[1])
    over_rows = jax.vmap(jax.vmap(line), in_axes=(None, 0, 0, 0, 0))
    return over_rows(kernels, points, atoms, atom_scores, weights)


@with_promotion
def fssd_features(
    kernel: AbstractKernel,
    x: Float[Array, "n d"],
    score: Float[Array, "n d"],
    locations: Float[Array, "j d"],
) -> Float[Array, "n d j"]:
    """tau_jl(x_i), which has mean 0 when x comes from the density with this score."""
    kernel = in_precision_of(x, kernel)
    pairs = jax.vmap(jax.vmap(kernel.parts, in_axes=(None, 0)), in_axes=(0, None))(x, locations)
    features = score[:, None, :] * pairs.value[..., None] + pairs.dx
    return jnp.swapaxes(features, 1, 2) / np.sqrt(locations.size)


@with_promotion
def fssd(features: Float[Array, "n *feature"]) -> Float[Array, ""]:
    """The unbiased FSSD^2: the mean of <tau(x_i), tau(x_l)> over pairs i != l."""
    n = len(features)
    before = jnp.cumsum(features, axis=0)[:-1]  # of i < l: no square is added and taken out again
    return 2 * jnp.sum(before * features[1:]) / (n * (n - 1))


@with_promotion
def fssd_variance(features: Float[Array, "n *feature"]) -> Float[Array, ""]:
    """The variance of sqrt(n) FSSD^2 when the draws are wrong: 4 Var <tau(x), E tau>."""
    rows = features.reshape(len(features), -1)
    mean = jnp.mean(rows, axis=0)
    return 4 * jnp.mean((rows @ mean) ** 2) - 4 * jnp.sum(mean**2) ** 2


@with_promotion
def fssd_power(
    features: Float[Array, "n *feature"], regularisation: float = 0.01
) -> Float[Array, ""]:
    """FSSD^2 / sqrt(its variance + regularisation), which grows with the power of the test."""
    return fssd(features) / jnp.sqrt(fssd_variance(features) + regularisation)


@with_promotion
def polynomial_stein_features(
    x: Float[Array, "n d"], score: Float[Array, "n d"], factors: Int[Array, "j r"]
) -> Float[Array, "n j"]:
    r"""Laplacian(P) + <score, gradient(P)> of monomials P, each of mean 0 under this score.

    A row of `factors` has the numbers of the coordinates whose product a monomial is, and d in
    place of a factor 1: for d = 3 and degree 2, (0, 0) is x_0^2 and (1, 3) is x_1.
    """
    padded = jnp.pad(x, ((0, 0), (0, 1)), constant_values=1)[:, factors]
    slopes = jnp.pad(score, ((0, 0), (0, 1)))[:, factors]
    order, moves = range(factors.shape[1]), factors < x.shape[1]

    def product_without(*left_out: int) -> Array:
        return jnp.prod(padded[..., [k for k in order if k not in left_out]], axis=-1)

    features = sum(slopes[..., k] * product_without(k) for k in order)
    for k, other in itertools.permutations(order, 2):
        twice = (factors[:, k] == factors[:, other]) & moves[:, k]
        features = features + jnp.where(twice, product_without(k, other), 0)
    return jnp.asarray(features)


@with_promotion
def rfsd_log_squares(
    log_base: Callable[[Array, Array], Array],
    x: Float[Array, "n d"],
    score: Float[Array, "n d"],
    locations: Float[Array, "m d"],
    log_weights: Float[Array, " m"],
    order: float,
) -> Float[Array, " d"]:
    """log of every coordinate's part of RPhiSD^2, for a base function log Phi(x, z) of two points.

    The weights are (M nu(Z_m))^(-1/r), with r the order; nothing overflows in many dimensions.
    """
    at_locations = jax.vmap(jax.value_and_grad(log_base), in_axes=(None, 0))
    logs, slopes = jax.vmap(at_locations, in_axes=(0, None))(x, locations)
    sizes = logs + log_weights
    unit = jax.lax.stop_gradient(jnp.max(sizes))
    features = jnp.exp(sizes - unit)[..., None] * (score[:, None, :] + slopes)
    means = jnp.abs(jnp.mean(features, axis=0))
    return 2 / order * jnp.log(jnp.sum(means**order, axis=0)) + 2 * unit


@with_promotion
def imq_log_base(
    x: Float[Array, " d"], z: Float[Array, " d"], scale: float, exponent: float
) -> Float[Array, ""]:
    """log Phi(x, z) of L1-IMQ, `(c'^2 + |x - z|^2)^beta'`."""
    return exponent * jnp.log(scale**2 + jnp.sum((x - z) ** 2))


@with_promotion
def sech_log_base(x: Float[Array, " d"], z: Float[Array, " d"], rate: float) -> Float[Array, ""]:
    """log Phi(x, z) of the hyperbolic secant: prod_j sech(a (x_j - z_j))."""
    scaled = rate * (x - z)
    return -jnp.sum(jnp.logaddexp(scaled, -scaled) - jnp.log(2.0))


@with_promotion
def slice_stein(
    kernel: AbstractKernel,
    x: Float[Array, ""],
    y: Float[Array, ""],
    score_x: Float[Array, ""],
    score_y: Float[Array, ""],
    alignment: Float[Array, ""],
) -> Float[Array, ""]:
    """h(x, y) of one slice: projected draws, their scores along r, and <r, g>."""
    k = kernel.parts(x[None], y[None])
    first = score_y * k.dx[0] + score_x * k.dy[0]
    return score_x * score_y * k.value + alignment * first + alignment**2 * k.dxdy[0]


@with_promotion
def slice_stein_gram(
    kernel: AbstractKernel,
    x: Float[Array, " a"],
    y: Float[Array, " b"],
    score_x: Float[Array, " a"],
    score_y: Float[Array, " b"],
    alignment: Float[Array, ""] | float,
) -> Float[Array, "a b"]:
    """h for all pairs of draws of one slice."""
    one = functools.partial(
        slice_stein, in_precision_of(x, kernel), alignment=jnp.asarray(alignment, x.dtype)
    )
    return over_pairs(one)(x, y, score_x, score_y)


@with_promotion
def coordinate_stein_gram(
    kernel: AbstractKernel,
    x: Float[Array, "a m"],
    y: Float[Array, "b m"],
    score_x: Float[Array, " a"],
    score_y: Float[Array, " b"],
) -> Float[Array, "a b"]:
    """The part of the Stein kernel that belongs to the first coordinate, for all pairs of rows.

    The scores are those of that coordinate; the kernel sees all of them.
    """
    kernel = in_precision_of(x, kernel)

    def one(x: Array, y: Array, score_x: Array, score_y: Array) -> Array:
        k = kernel.parts(x, y)
        first = score_x * k.dy[0] + score_y * k.dx[0]
        return score_x * score_y * k.value + first + k.dxdy[0]

    return over_pairs(one)(x, y, score_x, score_y)


@with_promotion
def slice_ksd(
    kernel: AbstractKernel,
    x: Float[Array, " n"],
    score: Float[Array, " n"],
    alignment: Float[Array, ""] | float,
    estimator: str = "u",
) -> Float[Array, ""]:
    """The mean of h over pairs of draws of one slice, as a U- or a V-statistic."""
    return _mean_over_pairs(slice_stein_gram(kernel, x, x, score, score, alignment), estimator)


@with_promotion
def sliced_ksds(
    kernel: AbstractKernel,
    x: Float[Array, "n d"],
    score: Float[Array, "n d"],
    directions: Float[Array, "d d"],
    estimator: str = "u",
) -> Float[Array, " d"]:
    """One value per coordinate, whose sum is the sliced KSD; row j of `directions` is g_j.

    A vector as bandwidth gives one width per slice.
    """
    kernels = one_per_coordinate(in_precision_of(x, kernel), x.shape[1])
    slices = kernels, directions @ x.T, score.T, jnp.diagonal(directions)
    return jax.lax.map(lambda one: slice_ksd(*one, estimator=estimator), slices)
