"""A radial kernel approximated by random waves."""

from collections.abc import Callable
from functools import cache
from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.random import stream
from steinwise._internal.validation import require_whole
from steinwise.errors import InputError
from steinwise.kernels.bandwidths import AbstractScaled
from steinwise.kernels.base import Parts

Law = Literal["rbf", "imq"]


def _whole(name: str, least: int) -> Callable[[int], int]:
    """A converter, so that an array is refused before it can become a constant of compiled code."""

    def convert(value: int) -> int:
        require_whole(name, value, least=least)
        return int(value)

    return convert


def _law(value: Law) -> Law:
    if not isinstance(value, str) or value not in get_args(Law):
        raise InputError(f"law is {value!r}: expected 'rbf' or 'imq'.")
    return value


class RandomFourier(AbstractScaled):
    r"""`k(x, y) = mean_r cos(<w_r, x - y> / b)`: R random waves in place of a radial kernel.

    The frequencies w_r are those of `exp(-|x - y|^2 / (2 b^2))`, standard normal, or of
    `(1 + |x - y|^2 / b^2)^(-1/2)`, normal with a random scale. They are stratified (a Latin
    hypercube), and the mean of k over seeds is that kernel. Its Stein kernel is a product of 2 R
    features per coordinate,

    .. math:: \xi(x) = R^{-1/2} (b_j \cos(t) - w_j \sin(t), \; b_j \sin(t) + w_j \cos(t)),
        \qquad t = \langle w_r, x \rangle,

    and its mean over pairs of m atoms is the square of one sum: in KCC-SD the unit-ball variant
    takes m R steps instead of m^2. Too few waves miss some misfits, however many draws there are.

    Parameters
    ----------
    bandwidth
        b: a number, a vector (one per coordinate), or "median".
    waves
        R, the number of waves.
    law
        "rbf" or "imq": the kernel that the waves approximate.
    seed
        The seed of the frequencies.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> x, y = np.array([[0.0], [1.0]]), np.array([[0.5]])
    >>> near = sw.kernels.RandomFourier(waves=200)(x, y) - sw.kernels.RBF()(x, y)
    >>> bool(abs(near).max() < 1e-3)
    True
    """

    waves: int = eqx.field(static=True, converter=_whole("waves", 1), default=20)
    law: Law = eqx.field(static=True, converter=_law, default="rbf")
    seed: int = eqx.field(static=True, converter=_whole("seed", 0), default=0)

    def evaluate(self, x: Array, y: Array) -> Array:
        return jnp.mean(jnp.cos(self._frequencies(x) @ (x - y)))

    def parts(self, x: Array, y: Array) -> Parts:
        w = self._frequencies(x)
        angle = w @ (x - y)
        dx = -jnp.mean(jnp.sin(angle)[:, None] * w, axis=0)
        dxdy = jnp.mean(jnp.cos(angle)[:, None] * w**2, axis=0)
        return Parts(jnp.mean(jnp.cos(angle)), dx, -dx, dxdy)

    def stein_features(self, x: Array, score: Array) -> Float[Array, " f"]:
        """Features of a point: the Stein kernel of two points is the inner product of theirs."""
        w = self._frequencies(x)
        angle = (w @ x)[:, None]
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        features = jnp.stack([score * cos - w * sin, score * sin + w * cos])
        return features.ravel() / np.sqrt(self.waves)

    def stein(self, x: Array, y: Array, score_x: Array, score_y: Array) -> Array:
        return jnp.dot(self.stein_features(x, score_x), self.stein_features(y, score_y))

    def stein_gram(self, x: Array, y: Array, score_x: Array, score_y: Array) -> Array:
        features = jax.vmap(self.stein_features)
        return features(x, score_x) @ features(y, score_y).T

    def stein_mean(
        self, x: Array, score: Array, atoms: Array, atom_scores: Array, weights: Array
    ) -> Array:
        features = jax.vmap(self.stein_features)(atoms, atom_scores)
        return jnp.dot(self.stein_features(x, score), weights @ features)

    def stein_norm(self, atoms: Array, atom_scores: Array, weights: Array) -> Array:
        return jnp.sum((weights @ jax.vmap(self.stein_features)(atoms, atom_scores)) ** 2)

    def _frequencies(self, x: Array) -> Float[Array, "r m"]:
        """The frequencies divided by the bandwidth, in the precision of x."""
        standard = jnp.asarray(frequencies(self.law, self.waves, x.shape[-1], self.seed), x.dtype)
        return standard / self._scale()


@cache
def frequencies(
    law: str, count: int, dimension: int, seed: int
) -> Float[np.ndarray, "count dimension"]:
    """The frequencies of the kernel with bandwidth 1.

    The values of a coordinate fall one into each of `count` strata, and so do those of the scale.
    """
    from scipy.special import gammaincinv, ndtri

    rng = stream(seed, "fourier frequencies")
    strata = rng.permuted(np.tile(np.arange(count), (dimension + 1, 1)), axis=1).T
    uniform = (strata + rng.uniform(size=strata.shape)) / count
    normal = ndtri(uniform[:, 1:])
    if law == "rbf":
        return normal
    # (1 + s)^(-1/2) is the mean of exp(-g s) over a Gamma(1/2) variable g
    return np.sqrt(2 * gammaincinv(0.5, uniform[:, :1])) * normal
