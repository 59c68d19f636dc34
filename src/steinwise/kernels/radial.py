"""Kernels of the distance between two points: each defines its profile, and no more."""

import abc
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from steinwise._internal.promotion import with_promotion
from steinwise.errors import InputError
from steinwise.kernels.bandwidths import AbstractScaled
from steinwise.kernels.base import Parts
from steinwise.kernels.pairs import along_difference, squared_distances
from steinwise.kernels.parameters import positive_parameter
from steinwise.kernels.precision import robust_centre


class AbstractRadial(AbstractScaled):
    """`k(x, y) = profile(s)` with `s = |x - y|^2 / bandwidth^2`."""

    @abc.abstractmethod
    def profile(self, s: Array) -> Array:
        """The kernel as a function of the squared scaled distance: all that must be defined."""

    def profile_derivatives(self, s: Array) -> tuple[Array, Array, Array]:
        """The profile, its first and its second derivative, elementwise."""
        first = jax.grad(lambda t: self.profile(t))
        return jnp.vectorize(lambda t: (self.profile(t), first(t), jax.grad(first)(t)))(s)

    def evaluate(self, x: Array, y: Array) -> Array:
        return self.profile(jnp.sum(((x - y) / self._scale()) ** 2))

    def parts(self, x: Array, y: Array) -> Parts:
        scale = self._scale()
        difference = (x - y) / scale**2
        k, k1, k2 = self.profile_derivatives(jnp.sum((x - y) * difference))
        dx = 2 * k1 * difference
        return Parts(k, dx, -dx, -4 * k2 * difference**2 - 2 * k1 / scale**2)

    @with_promotion
    def stein_gram(self, x: Array, y: Array, score_x: Array, score_y: Array) -> Array:
        # The same sum as `stein`, as a few matrix products.
        common = np.ndim(self.bandwidth) == 0
        scale = jnp.broadcast_to(self._scale(), x.shape[-1:])
        centre = robust_centre(x)  # far from 0, |x|^2 + |y|^2 - 2 <x, y> would lose digits
        x, y = (x - centre) / scale, (y - centre) / scale
        bx, by = score_x / scale, score_y / scale
        squared = squared_distances(x, y)
        # sum_j (x_j - y_j)^2 / b_j^4, where x and y are already divided by b
        twice_scaled = (
            squared / scale[0] ** 2 if common else squared_distances(x / scale, y / scale)
        )
        along = along_difference(x, y, bx, by, jnp.sum(scale**-2))
        k, k1, k2 = self.profile_derivatives(squared)
        return k * (score_x @ score_y.T) + 2 * k1 * along - 4 * k2 * twice_scaled


class RBF(AbstractRadial):
    r"""`k(x, y) = exp(-|x - y|^2 / (2 b^2))`.

    In three or more dimensions its KSD can tend to 0 for draws that run off to infinity; that of
    the IMQ cannot.

    Parameters
    ----------
    bandwidth
        b: a number, a vector (one per coordinate), or "median" for the median heuristic.
    """

    def profile(self, s: Array) -> Array:
        return jnp.exp(-s / 2)

    def profile_derivatives(self, s: Array) -> tuple[Array, Array, Array]:
        k = jnp.exp(-s / 2)
        return k, -k / 2, k / 4


@jax.tree_util.register_static
class _FixedExponent(float):
    """An exponent that compiled code knows as a constant.

    The square root, for 1/2, takes an eighth of the time of a power.
    """


def _exponent(value: object) -> np.ndarray | float:
    array = positive_parameter("exponent")(value)
    plain = isinstance(value, (int, float, np.generic, np.ndarray)) and np.ndim(array) == 0
    return _FixedExponent(array) if plain else array


class IMQ(AbstractRadial):
    r"""`k(x, y) = (1 + |x - y|^2 / b^2)^-e`, the inverse multiquadric.

    Its KSD controls weak convergence in any dimension for 0 < e < 1 and targets that are
    distantly dissipative (Gorham and Mackey, 2017).

    Parameters
    ----------
    bandwidth
        b: a number, a vector (one per coordinate), or "median" for the median heuristic.
    exponent
        e. A plain number is a constant of compiled code; pass a JAX array to differentiate with
        respect to it.
    """

    exponent: np.ndarray | float = eqx.field(converter=_exponent, default=0.5)

    def resolve(self, rows: np.ndarray, seed: object, *, per_coordinate: bool) -> Self:
        if not per_coordinate and np.ndim(self.exponent):
            raise InputError(
                f"the exponent of IMQ is a vector of {np.size(self.exponent)} numbers, one per "
                "univariate kernel: for a kernel of several coordinates pass one number."
            )
        return super().resolve(rows, seed, per_coordinate=per_coordinate)

    def profile(self, s: Array) -> Array:
        return self.profile_derivatives(s)[0]

    def profile_derivatives(self, s: Array) -> tuple[Array, Array, Array]:
        inverse = 1 / (1 + s)
        if isinstance(self.exponent, _FixedExponent):
            e = float(self.exponent)
        else:
            e = jnp.asarray(self.exponent)
        root = isinstance(e, float) and e == 0.5
        # exp(e log) takes two thirds of the time of a power
        k = jnp.sqrt(inverse) if root else jnp.exp(e * jnp.log(inverse))
        return k, -e * k * inverse, e * (e + 1) * k * inverse**2


class Matern52(AbstractRadial):
    r"""`k(x, y) = (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r)` with `r = |x - y| / b`.

    Its closed-form derivatives are smooth at r = 0, where automatic ones would not be.
    """

    def profile(self, s: Array) -> Array:
        return self.profile_derivatives(s)[0]

    def profile_derivatives(self, s: Array) -> tuple[Array, Array, Array]:
        apart = s > 0  # the square root is not differentiable at 0; the kernel is
        r = jnp.where(apart, jnp.sqrt(5 * jnp.where(apart, s, 1.0)), 0.0)
        decay = jnp.exp(-r)
        return (1 + r + r**2 / 3) * decay, -5 / 6 * (1 + r) * decay, 25 / 12 * decay
