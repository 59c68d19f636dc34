"""A small No-U-Turn sampler with the mistakes that others were published with."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

DEPTH = 3  # doublings: eight points


def nuts_step(
    log_density: Callable[[Any], Any],
    *,
    size: float = 0.35,
    choice: str = "by weight",
    turns: str = "all subtrees",
) -> Callable[[Any, Any], Any]:
    """One step. All eight points are computed, then the tree is found among them.

    Which way the tree doubles, and how often, does not depend on the points, so the place of the
    start in the largest tree is drawn first. Trees are the aligned blocks of 1, 2, 4, 8 points
    around it. `choice` is "by weight", "later points" or "newest"; `turns` is "all subtrees",
    "whole tree only" or "wrong boundary". The first of each is right.
    """
    count = 2**DEPTH
    slope = jax.grad(log_density)

    def leapfrog(x: Any, p: Any, size: Any) -> tuple[Any, Any]:
        p = p + 0.5 * size * slope(x)
        x = x + size * p
        return x, p + 0.5 * size * slope(x)

    def trajectory(x: Any, p: Any, place: Any) -> tuple[Any, Any]:
        """The points 0 to 7, of which the start is the one at `place`."""

        def move(state: Any, number: Any) -> tuple[Any, Any]:
            back = number < place
            state = jax.tree.map(lambda a, b: jnp.where(number == place, a, b), (x, p), state)
            state = leapfrog(state[0], state[1], jnp.where(back, -size, size))
            return state, (jnp.where(back, place - 1 - number, number + 1), state)

        _, (index, points) = jax.lax.scan(move, (x, p), jnp.arange(count - 1))
        return jax.tree.map(
            lambda first, others: (
                jnp.zeros((count, *first.shape)).at[place].set(first).at[index].set(others)
            ),
            (x, p),
            points,
        )

    def step(key: Any, x: Any) -> Any:
        keys = jax.random.split(key, 3)
        place = jax.random.randint(keys[1], (), 0, count)
        xs, ps = trajectory(x, jax.random.normal(keys[0], x.shape), place)
        log_weights = jax.vmap(log_density)(xs) - 0.5 * jnp.sum(ps**2, axis=1)
        log_weights = jnp.where(jnp.isnan(log_weights), -jnp.inf, log_weights)  # divergent
        weights = jnp.exp(log_weights - log_weights.max())

        def turned(first: Any, last: Any) -> Any:
            across = xs[last] - xs[first]
            return (across @ ps[first] < 0) | (across @ ps[last] < 0)

        def any_turn_in(start: Any, width: int) -> Any:
            """Whether a block of this width, or one in it, turns back on itself."""
            found = jnp.zeros((), bool)
            for level in range(1, width.bit_length()):
                for block in range(0, width, 2**level):
                    left = start + block
                    boundary = jnp.minimum(left, place) if turns == "wrong boundary" else left
                    found = found | turned(boundary, left + 2**level - 1)
            return found if turns != "whole tree only" else jnp.zeros((), bool)

        # probabilities of the points to be chosen, as the tree grows
        at = jnp.arange(count)
        chances = (at == place).astype(float)
        growing = jnp.ones((), bool)
        for level in range(DEPTH):
            width = 2**level
            old = place // width * width
            new = jnp.where(place // width % 2 == 0, old + width, old - width)
            growing = growing & ~any_turn_in(new, width)
            inside_old = (at >= old) & (at < old + width)
            inside_new = (at >= new) & (at < new + width)
            old_weight = (weights * inside_old).sum()
            new_weight = jnp.maximum((weights * inside_new).sum(), jnp.finfo(weights.dtype).tiny)
            if choice == "newest":
                share, within = 1.0, weights * inside_new / new_weight
            elif choice == "later points":
                share = new_weight / (old_weight + new_weight)
                within = _later_points(weights, new, width, count)
            else:
                share = new_weight / (old_weight + new_weight)
                within = weights * inside_new / new_weight
            chances = jnp.where(growing, (1 - share) * chances + share * within, chances)
            growing = growing & ~turned(
                jnp.minimum(old, new), jnp.minimum(old, new) + 2 * width - 1
            )
        return xs[jax.random.choice(keys[2], count, p=chances)]

    return step


def _later_points(weights: Any, start: Any, width: int, count: int) -> Any:
    """Chances within a subtree that prefers its second halves, min(1, second / first)."""
    block = jax.lax.dynamic_slice(weights, (start,), (width,))
    chances, totals = np.ones((width, 1)), block
    for _ in range(width.bit_length() - 1):
        pairs = totals.reshape(-1, 2)
        share = jnp.minimum(1.0, pairs[:, 1] / pairs[:, 0])
        halves = jnp.stack([1 - share, share], axis=1).reshape(-1, 1)
        chances = (halves * chances).reshape(len(pairs), -1)
        totals = pairs.sum(axis=1)
    return jax.lax.dynamic_update_slice(jnp.zeros(count), chances.reshape(-1), (start,))
