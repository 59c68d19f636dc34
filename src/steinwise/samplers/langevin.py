"""Stochastic gradient Langevin dynamics (Welling and Teh, 2011)."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.counting import counted
from steinwise._internal.validation import (
    as_numbers,
    require_function,
    require_positive,
    require_whole,
)
from steinwise.errors import InputError
from steinwise.samplers.base import AbstractSampler


class SGLD(AbstractSampler):
    r"""Langevin dynamics with noisy gradients and a constant step, uncorrected.

    .. math:: x' = x + \frac{\epsilon}{2} g(x) + \sqrt{\epsilon}\, z, \qquad
        E\, g(x) = \nabla \log p(x), \quad z \sim N(0, I)

    The step is that of Welling and Teh; BlackJAX's is half of it. The draws approach p only as the
    step shrinks: in a direction with curvature c, even the exact gradient gives the variance
    1 / (c (1 - epsilon c / 4)) instead of 1 / c, and beyond epsilon = 4 / c the chain diverges.

    Parameters
    ----------
    gradient
        ``gradient(key, x)``: an unbiased estimate of grad log p, such as `Minibatch`.
    step_size
        epsilon.

    Examples
    --------
    The mean of normal data, with so large a step that the draws are too wide:

    >>> import jax.numpy as jnp, numpy as np, steinwise as sw
    >>> data = np.random.default_rng(0).normal(size=(100, 1))
    >>> gradient = sw.samplers.Minibatch(
    ...     lambda x: -0.5 * jnp.sum(x**2), lambda x, row: -0.5 * jnp.sum((row - x) ** 2), data, 50
    ... )
    >>> posterior = sw.Gaussian(data.sum(axis=0) / 101, [[1 / 101]])
    >>> draws = sw.samplers.SGLD(gradient, 0.02).sample(np.zeros((4, 1)), 1000, warmup=100, thin=5)
    >>> sw.check(draws, posterior)["x[0]"].verdict
    'draws are too wide (sd 0.1..., about 0.1... expected)'
    """

    gradient: Callable[[Array, Array], Array]
    step_size: Float[np.ndarray, ""]

    def __init__(self, gradient: Callable[[Array, Array], Array], step_size: float) -> None:
        expected = "a function gradient(key, x), such as sw.samplers.Minibatch(...)"
        require_function("gradient", gradient, expected)
        require_positive("step_size", step_size)
        self.gradient = gradient
        self.step_size = np.asarray(step_size, np.float64)

    def step(self, key: Array, x: Float[Array, " d"]) -> Float[Array, " d"]:
        key_batch, key_noise = jax.random.split(key)
        drift = 0.5 * self.step_size * self.gradient(key_batch, x)
        return x + drift + jnp.sqrt(self.step_size) * jax.random.normal(key_noise, x.shape, x.dtype)


def _rows_of_data(leaf: Any) -> np.ndarray:
    array = as_numbers(leaf)
    if array is None or array.ndim == 0:
        raise InputError(f"data has {leaf!r} in it: expected arrays of numbers, a row per datum.")
    return np.asarray(leaf)


class Minibatch(eqx.Module):
    r"""The gradient of a log posterior, estimated on rows of the data drawn without replacement.

    .. math:: \nabla \log p(x) + \frac{N}{n} \sum_{i \in \mathrm{batch}} \nabla \log p(d_i | x)

    Parameters
    ----------
    log_prior
        ``x`` to a scalar.
    log_likelihood
        ``log_likelihood(x, row)``: the log likelihood of one row of the data.
    data
        An array, or a tuple or dict of arrays, with one row per datum.
    size
        The number of rows in a batch; with all rows the gradient is exact.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, numpy as np, steinwise as sw
    >>> data = np.arange(10.0)[:, None]
    >>> exact = sw.samplers.Minibatch(
    ...     lambda x: 0.0 * x[0], lambda x, row: -0.5 * jnp.sum((row - x) ** 2), data, 10
    ... )
    >>> print(exact(jax.random.key(0), jnp.zeros(1)))
    [45.]
    """

    log_prior: Callable[[Array], Array]
    log_likelihood: Callable[[Array, Any], Array]
    data: Any
    size: int = eqx.field(static=True)

    def __init__(
        self,
        log_prior: Callable[[Array], Array],
        log_likelihood: Callable[[Array, Any], Array],
        data: Any,
        size: int,
    ) -> None:
        require_function("log_prior", log_prior)
        require_function("log_likelihood", log_likelihood)
        require_whole("size", size, least=1)
        self.log_prior, self.log_likelihood = log_prior, log_likelihood
        self.data = jax.tree.map(_rows_of_data, data)
        self.size = size
        rows = {len(leaf) for leaf in jax.tree.leaves(self.data)}
        if len(rows) != 1:
            raise InputError(
                f"the arrays of data have {sorted(rows)} rows: expected the same number in each, "
                "and at least one array."
            )
        if size > self.rows:
            raise InputError(f"size is {size}, and the data have only {counted(self.rows, 'row')}.")

    @property
    def rows(self) -> int:
        """The number of rows of the data."""
        return len(jax.tree.leaves(self.data)[0])

    def __call__(self, key: Array, x: Float[Array, " d"]) -> Float[Array, " d"]:
        batch = self.data
        if self.size < self.rows:
            chosen = jax.random.choice(key, self.rows, (self.size,), replace=False)
            batch = jax.tree.map(lambda leaf: jnp.asarray(leaf)[chosen], self.data)

        def estimate(x: Array) -> Array:
            likelihood = jax.vmap(self.log_likelihood, in_axes=(None, 0))(x, batch)
            return self.log_prior(x) + self.rows / self.size * jnp.sum(likelihood)

        return jax.grad(estimate)(x)
