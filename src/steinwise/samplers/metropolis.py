"""Metropolis within Gibbs, with an optional bias in the acceptance that makes it wrong."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.validation import as_positive, require_at_least, require_function
from steinwise.errors import InputError
from steinwise.samplers.base import AbstractSampler


class MetropolisWithinGibbs(AbstractSampler):
    r"""Each coordinate in turn takes a random-walk Metropolis step on its complete conditional.

    .. math:: P(\mathrm{accept}) = \min(1, p(x_{new}) / p(x_{old}) + \mathrm{bias})

    Parameters
    ----------
    log_density
        ``x`` of shape (d,) to a scalar, up to a constant.
    scale
        The standard deviation of the normal proposals, a number or one per coordinate.
    bias
        Added to the ratio of densities. At 0 the chain leaves p invariant; above 0 it accepts too
        often, and its draws are too wide.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, steinwise as sw
    >>> def log_density(x):
    ...     return -0.5 * jnp.sum(x**2)
    >>> for bias in (0.0, 0.3):
    ...     sampler = sw.samplers.MetropolisWithinGibbs(log_density, scale=2.4, bias=bias)
    ...     draws = sampler.sample(np.zeros((4, 2)), 500, warmup=100, thin=10)
    ...     print(bias, sw.check(draws, log_density).rejected)
    0.0 False
    0.3 True
    """

    log_density: Callable[[Array], Array]
    scale: np.ndarray  # a number, or one per coordinate
    bias: Float[np.ndarray, ""]

    def __init__(
        self, log_density: Callable[[Array], Array], *, scale: Any, bias: float = 0.0
    ) -> None:
        require_function("log_density", log_density)
        scales = as_positive(scale)
        if scales is None:
            raise InputError(
                f"scale is {scale!r}: expected a positive number, or one per coordinate."
            )
        require_at_least("bias", bias, 0)
        if bias >= 1:
            raise InputError(
                f"bias is {bias!r}: expected a number from 0 (a correct sampler) to below 1 (every "
                "proposal is accepted)."
            )
        self.log_density = log_density
        self.scale = scales
        self.bias = np.asarray(bias, np.float64)

    def step(self, key: Array, x: Float[Array, " d"]) -> Float[Array, " d"]:
        """One sweep over the coordinates."""

        def move(j: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
            return self._move(jax.random.fold_in(key, j), state, j)

        return jax.lax.fori_loop(0, x.size, move, (x, self.log_density(x)))[0]

    def conditional_draw(
        self, key: Array, x: Float[Array, " d"], j: Array | int, start: Array | float, steps: int
    ) -> Float[Array, ""]:
        """Coordinate j after `steps` of the sampler's own moves of it, the others fixed at x.

        Nearly a draw from the sampler's conditional `q(x_j | x_-j)`, bias included. `start` must
        come from elsewhere, such as coordinate j of another draw: from x_j itself, the result
        would depend on x_j for as long as the inner chain remembers it, and KCC-SD would take that
        for a fault of the draws.
        """
        at_start = x.at[j].set(start)

        def move(t: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
            return self._move(jax.random.fold_in(key, t), state, j)

        return jax.lax.fori_loop(0, steps, move, (at_start, self.log_density(at_start)))[0][j]

    def _move(self, key: Array, state: tuple[Array, Array], j: Array | int) -> tuple[Array, Array]:
        """One Metropolis step of coordinate j; the state is x and its log density."""
        x, log_density = state
        key_move, key_accept = jax.random.split(key)
        scale = jnp.broadcast_to(self.scale, x.shape)[j]
        y = x.at[j].add(scale * jax.random.normal(key_move, dtype=x.dtype))
        proposed = self.log_density(y)
        ratio = jnp.exp(jnp.minimum(proposed - log_density, 0.0)) + self.bias
        accept = jax.random.uniform(key_accept, dtype=x.dtype) < ratio
        return jnp.where(accept, y, x), jnp.where(accept, proposed, log_density)
