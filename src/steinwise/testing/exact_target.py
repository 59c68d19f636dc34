"""A density that one can draw from exactly."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from steinwise._internal.random import stream
from steinwise._internal.validation import as_numbers, require_function, require_whole
from steinwise.errors import InputError
from steinwise.target import Target
from steinwise.target.support import real, require_support


@dataclass(frozen=True, eq=False, repr=False)
class ExactTarget:
    """A density with exact draws, and with the mean and sd of each coordinate.

    Parameters
    ----------
    name
        What tests call it.
    names
        The coordinates.
    log_density
        ``log_density(x)`` of one point (d,), up to a constant; a JAX function.
    sampler
        ``sampler(rng, n)``: n independent draws (n, d) with a NumPy Generator. They must be exact:
        draws of a long chain would make right samplers fail.
    mean, sd
        Of each coordinate, (d,).
    support
        Where the coordinates live, as in `sw.Target`.

    Examples
    --------
    >>> import jax.numpy as jnp, numpy as np, steinwise as sw
    >>> target = sw.testing.ExactTarget(
    ...     "Laplace",
    ...     ("a", "b"),
    ...     lambda x: -jnp.sum(jnp.abs(x)),
    ...     lambda rng, n: rng.laplace(size=(n, 2)),
    ...     mean=np.zeros(2),
    ...     sd=np.full(2, np.sqrt(2)),
    ... )
    >>> target
    ExactTarget('Laplace', 2 coordinates)
    >>> target.draw(seed=0, n=3).shape
    (3, 2)
    """

    name: str
    names: Any  # a tuple, once it has been checked; mean and sd are then vectors in 64 bit
    log_density: Callable[[Any], Array]
    sampler: Callable[[np.random.Generator, int], np.ndarray]
    mean: Any
    sd: Any
    support: Any = real

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InputError(f"name is {self.name!r}: expected a word, for messages.")
        require_function("log_density", self.log_density, "a JAX function log_density(x)")
        require_function("sampler", self.sampler, "a function sampler(rng, n)")
        given = self.names
        if (
            not isinstance(given, (tuple, list))
            or not given
            or not all(isinstance(one, str) for one in given)
            or len(set(given)) < len(given)
        ):
            raise InputError(f"names is {given!r}: expected a tuple with a word per coordinate.")
        object.__setattr__(self, "names", tuple(given))
        for field in ("mean", "sd"):
            value = as_numbers(getattr(self, field))
            if value is None or value.shape != (self.dim,) or not np.isfinite(value).all():
                raise InputError(
                    f"{field} is {getattr(self, field)!r}: expected a finite number for each of "
                    f"the {self.dim} coordinates."
                )
            object.__setattr__(self, field, value)
        if not (self.sd > 0).all():
            raise InputError(f"sd is {self.sd}: expected positive numbers.")
        require_support(self.support)

    @property
    def dim(self) -> int:
        """The number of coordinates."""
        return len(self.names)

    @property
    def __name__(self) -> str:  # pytest makes the names of parameters from it
        return self.name.replace(" ", "_")

    def draw(self, seed: Any, n: int) -> Float[np.ndarray, "n d"]:
        """Independent draws from the target itself."""
        require_whole("n", n, least=1)
        return self.drawn(stream(seed, "exact draws"), n)

    def drawn(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n d"]:
        """What the sampler gives, checked."""
        draws = as_numbers(self.sampler(rng, n))
        expected = f"expected {(n, self.dim)}, a row for each draw, of sampler(rng, n)"
        if draws is None:
            raise InputError(f"the sampler of {self.name} gave no array of numbers: {expected}.")
        if draws.shape != (n, self.dim):
            hint = " Did you mean its transpose, .T?" if draws.shape == (self.dim, n) else ""
            raise InputError(
                f"the sampler of {self.name} gave draws of shape {draws.shape}: {expected}.{hint}"
            )
        wrong = ~np.isfinite(draws).all(axis=0)
        if wrong.any():
            name = self.names[int(wrong.argmax())]
            raise InputError(
                f"the sampler of {self.name} gave NaN or infinite values of {name}: exact draws "
                "are finite."
            )
        return draws

    def as_target(self) -> Target:
        """The same density as an `sw.Target`, as `sw.check` and its kin make of it."""
        return Target(self.log_density, support=self.support)

    def __repr__(self) -> str:
        return f"ExactTarget({self.name!r}, {self.dim} coordinates)"


def require_exact_target(target: Any) -> None:
    """Require a density with exact draws."""
    if not isinstance(target, ExactTarget):
        raise InputError(
            f"target is of type {type(target).__name__}: expected an ExactTarget, such as those of "
            "sw.testing.targets(). To compare draws with any other density, use sw.assert_fits."
        )
