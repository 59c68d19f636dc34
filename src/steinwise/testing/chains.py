"""Short chains from exact draws: many at once in JAX, or one after the other in NumPy."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.validation import as_numbers
from steinwise.errors import InputError
from steinwise.testing.tracing import IN_JAX, IN_NUMPY, called, traced


class Kernel(NamedTuple):
    """A step, its reverse (or None), and the way from a point to a state and back."""

    step: Callable[[Any, Any], Any]
    reverse: Callable[[Any, Any], Any] | None
    init: Callable[[Any, Any], Any]
    position: Callable[[Any], Any]


class JaxChains:
    """Chains of one kernel, all of them in one compiled call, in the precision that JAX is set to.

    With a reverse, chain i takes its first `before[i]` steps backwards from the exact draw, and the
    others forwards from it again; all of its points but the exact draw are returned. Without one,
    it takes all steps forwards and only its last point is returned.
    """

    def __init__(self, kernel: Kernel, steps: int, dim: int) -> None:
        self._kernel, self._steps = kernel, steps
        self._check(dim)
        self._run = jax.jit(jax.vmap(self._both_ways if kernel.reverse else self._forwards))

    def __call__(
        self,
        start: Float[np.ndarray, "n d"],
        before: Int[np.ndarray, " n"],
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "n k d"]:
        # keys for init and every step, made here: splitting them in JAX takes longer to compile
        words = rng.integers(2**32, size=(len(start), 1 + self._steps, 2), dtype=np.uint32)
        keys = jax.random.wrap_key_data(jnp.asarray(words), impl="threefry2x32")
        return np.asarray(self._run(keys, jnp.asarray(start), jnp.asarray(before)), np.float64)

    @property
    def precision(self) -> float:
        """The relative rounding error of a number in the chains."""
        return float(jnp.finfo(jnp.zeros(()).dtype).eps)

    def rounded(self, draws: Float[np.ndarray, "*n d"]) -> Float[np.ndarray, "*n d"]:
        """Draws in the precision of the chains: what float32 rounds must be ranked alike."""
        return np.asarray(jnp.asarray(draws), np.float64)

    def _forwards(self, keys: Any, x: Any, before: Any) -> Any:  # noqa: ARG002
        def move(state: Any, key: Any) -> tuple[Any, None]:
            return self._kernel.step(key, state), None

        state, _ = jax.lax.scan(move, self._kernel.init(keys[0], x), keys[1:])
        return self._kernel.position(state)[None]

    def _both_ways(self, keys: Any, x: Any, before: Any) -> Any:
        step, reverse, init, position = self._kernel
        assert reverse is not None
        first = init(keys[0], x)

        def move(state: Any, now: tuple[Any, Any]) -> tuple[Any, Any]:
            number, key = now
            state = _choose(number == before, first, state)
            moved = step(key, state)
            if reverse is not step:  # both are computed: a chain must not wait for the others
                moved = _choose(number < before, reverse(key, state), moved)
            return moved, position(moved)

        return jax.lax.scan(move, first, (jnp.arange(self._steps), keys[1:]))[1]

    def _check(self, dim: int) -> None:
        """Trace everything once, so that errors name the user's function at fault."""
        step, reverse, init, position = self._kernel
        key, x = jax.random.key(0), jnp.zeros(dim)
        state = traced("init(key, x)", init, key, x, hint=IN_NUMPY)
        for name, function in (("step", step), ("reverse", reverse or step)):
            moved = traced(f"{name}(key, state)", function, key, state, hint=IN_NUMPY)
            if _form(moved) != _form(state):
                raise InputError(
                    f"{name} takes a state of the form {_form(state)} and returns {_form(moved)}: "
                    "expected the same form. A step that returns (state, information) needs a "
                    "function around it that returns the state alone."
                )
        shape = getattr(traced("position(state)", position, state, hint=IN_NUMPY), "shape", None)
        if shape != (dim,):
            raise InputError(
                f"position(state) has shape {shape}: expected {(dim,)}, the coordinates of the "
                "target. Where a state is more than its position, pass init(key, x) and "
                "position(state)."
            )


def _choose(condition: Any, yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def _form(state: Any) -> Any:
    """Structure, shapes and dtypes, as one prints them."""
    return jax.tree.map(lambda leaf: f"{leaf.dtype}{list(leaf.shape)}", state)


class HostChains:
    """The same chains with steps in NumPy, one after the other."""

    precision = float(np.finfo(np.float64).eps)

    def __init__(self, kernel: Kernel, steps: int, dim: int) -> None:
        self._kernel, self._steps, self._dim = kernel, steps, dim

    def __call__(
        self,
        start: Float[np.ndarray, "n d"],
        before: Int[np.ndarray, " n"],
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "n k d"]:
        chains = zip(start, before, strict=True)
        return np.array([self._chain(rng, x, int(steps_before)) for x, steps_before in chains])

    def rounded(self, draws: Float[np.ndarray, "*n d"]) -> Float[np.ndarray, "*n d"]:
        """Draws in the precision of the chains: 64 bit, as they are."""
        return draws

    def _chain(self, rng: np.random.Generator, x: np.ndarray, before: int) -> list[np.ndarray]:
        step, reverse, _, _ = self._kernel
        if reverse is None:
            return [self._run(rng, step, self._init(rng, x), self._steps)[-1]]
        # a state may be changed in place, so each direction has its own: with equal randomness
        first, again = self._init(deepcopy(rng), x), self._init(rng, x)
        back = self._run(rng, reverse, first, before, "reverse")
        return back + self._run(rng, step, again, self._steps - before)

    def _init(self, rng: np.random.Generator, x: np.ndarray) -> Any:
        return called("init(rng, x)", self._kernel.init, rng, x.copy(), hint=IN_JAX)

    def _run(
        self, rng: np.random.Generator, step: Callable, state: Any, count: int, name: str = "step"
    ) -> list[np.ndarray]:
        points = []
        for _ in range(count):
            state = called(f"{name}(rng, state)", step, rng, state, hint=IN_JAX)
            given = called("position(state)", self._kernel.position, state, hint=IN_JAX)
            point = as_numbers(given)
            if point is None or point.shape != (self._dim,):
                came = f"is of type {type(given).__name__}"
                came = came if point is None else f"has shape {point.shape}"
                raise InputError(
                    f"position(state) {came}: expected shape {(self._dim,)}, the coordinates of "
                    f"the target. {name}(rng, state) must return the state alone."
                )
            point = point.copy()  # a state may be changed in place
            points.append(point)
        return points
