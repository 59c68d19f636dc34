"""The hyperbolic secant kernel."""

import jax.numpy as jnp
from jaxtyping import Array

from steinwise.kernels.bandwidths import AbstractScaled
from steinwise.kernels.base import Parts


class HyperbolicSecant(AbstractScaled):
    r"""`k(x, y) = prod_j sech(sqrt(pi / 2) (x_j - y_j) / b_j)`.

    The kernel of random-feature Stein discrepancies: its Fourier transform has the same form.
    """

    def evaluate(self, x: Array, y: Array) -> Array:
        t = jnp.sqrt(jnp.pi / 2) * (x - y) / self._scale()
        return jnp.exp(jnp.sum(jnp.log(2.0) - jnp.logaddexp(t, -t)))  # cosh would overflow

    def parts(self, x: Array, y: Array) -> Parts:
        rate = jnp.sqrt(jnp.pi / 2) / self._scale()
        slope = jnp.tanh(rate * (x - y))
        k = self.evaluate(x, y)
        dx = -k * rate * slope
        return Parts(k, dx, -dx, k * rate**2 * (1 - 2 * slope**2))
