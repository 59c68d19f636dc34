"""A model that can be simulated: parameters from the prior, then data from the parameters."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.random import stream
from steinwise._internal.validation import require_function
from steinwise.errors import InputError
from steinwise.testing.exact_target import ExactTarget
from steinwise.testing.tracing import require_one_number, traced

UNIT_DRAWS = 2000  # from which the units of the coordinates are taken; no p-value depends on them


@dataclass(frozen=True, eq=False)
class SimulatedModel:
    """A prior and a likelihood that one can draw from, as JAX functions.

    Simulated pairs of parameters and data are exact draws of their joint distribution, whatever the
    posterior: no exact draws of the posterior are needed to test its sampler.

    Parameters
    ----------
    name
        What tests call it.
    names
        The parameters.
    prior
        ``prior(key)``: parameters (d,).
    simulate
        ``simulate(key, theta)``: data (m,) as one vector.
    log_density
        ``log_density(theta, data)``: log prior plus log likelihood, up to a constant.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, steinwise as sw
    >>> model = sw.testing.SimulatedModel(
    ...     "normal mean",
    ...     ("mu",),
    ...     prior=lambda key: jax.random.normal(key, (1,)),
    ...     simulate=lambda key, theta: theta + jax.random.normal(key, (3,)),
    ...     log_density=lambda theta, y: -0.5 * theta[0] ** 2 - 0.5 * jnp.sum((y - theta) ** 2),
    ... )
    >>> model.joint
    ExactTarget('normal mean', 4 coordinates)
    """

    name: str
    names: Any
    prior: Callable[[Any], Array]
    simulate: Callable[[Any, Any], Array]
    log_density: Callable[[Any, Any], Array]

    def __post_init__(self) -> None:
        require_function("prior", self.prior, "a JAX function prior(key)")
        require_function("simulate", self.simulate, "a JAX function simulate(key, theta)")
        require_function("log_density", self.log_density, "a function log_density(theta, data)")
        _ = self.joint  # checks the rest

    @cached_property
    def joint(self) -> ExactTarget:
        """Parameters and data together, as one target with exact draws."""
        key = jax.random.key(0)
        theta = traced("prior(key)", self.prior, key)
        shape = getattr(theta, "shape", type(theta).__name__)
        if not isinstance(self.names, (tuple, list)) or shape != (len(self.names),):
            raise InputError(
                f"names is {self.names!r} and prior(key) has shape {shape}: expected a tuple "
                "with a word for each parameter, and a vector of them."
            )
        data = traced("simulate(key, theta)", self.simulate, key, theta)
        shape = getattr(data, "shape", type(data).__name__)
        if isinstance(shape, str) or len(shape) != 1:
            raise InputError(
                f"simulate(key, theta) has shape {shape}: expected one vector. Use "
                "jnp.ravel, or jnp.concatenate for data of several kinds."
            )
        call = "log_density(theta, data)"
        require_one_number(call, traced(call, self.log_density, theta, data))
        pairs = jax.jit(jax.vmap(self._pair))

        def sampler(rng: np.random.Generator, n: int) -> Float[np.ndarray, "n d"]:
            words = jnp.asarray(rng.integers(2**32, size=(n, 2, 2), dtype=np.uint32))
            keys = jax.random.wrap_key_data(words, impl="threefry2x32")
            return np.asarray(pairs(keys), np.float64)

        some = sampler(stream(0, "units"), UNIT_DRAWS)
        return ExactTarget(
            self.name,
            (*self.names, *(f"data[{i}]" for i in range(data.shape[0]))),
            lambda x: self.log_density(*self.split(x)),
            sampler,
            some.mean(axis=0),
            some.std(axis=0),
        )

    def split(self, x: Any) -> tuple[Any, Any]:
        """Parameters and data of one point of the joint target."""
        return x[: len(self.names)], x[len(self.names) :]

    def _pair(self, keys: Any) -> Array:
        theta = self.prior(keys[0])
        return jnp.concatenate([theta, self.simulate(keys[1], theta)])


def require_model(model: Any) -> None:
    """Require a model that can be simulated."""
    if not isinstance(model, SimulatedModel):
        raise InputError(
            f"model is of type {type(model).__name__}: expected a sw.testing.SimulatedModel."
        )
