"""Gibbs sampling, block after block."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
from jaxtyping import Array

from steinwise.errors import InputError
from steinwise.samplers.base import AbstractSampler


class Gibbs(AbstractSampler):
    r"""Each block in turn is drawn from its complete conditional.

    .. math:: x_I \sim p(\cdot \mid x_{-I})

    Parameters
    ----------
    conditionals
        A dict from the name of each block to ``draw(key, x)``, which draws the block given the
        others, from the dict x of all blocks. A sweep follows the order of the dict. Blocks that
        are independent given the others may be drawn together as the rows of one array. Arrays in
        a `jax.tree_util.Partial` are arguments of the compiled step; those in a closure become
        constants of it.

    Examples
    --------
    Two blocks of one coordinate each, correlated by 0.6:

    >>> import jax, numpy as np, steinwise as sw
    >>> def given(other):
    ...     def draw(key, x):
    ...         return 0.6 * x[other] + 0.8 * jax.random.normal(key, x[other].shape)
    ...     return draw
    >>> gibbs = sw.samplers.Gibbs({"a": given("b"), "b": given("a")})
    >>> x = gibbs.sample({"a": np.zeros((4, 1)), "b": np.zeros((4, 1))}, 500, warmup=20)
    >>> draws = np.concatenate([x["a"], x["b"]], axis=-1)
    >>> sw.check(draws, sw.Gaussian([0, 0], [[1, 0.6], [0.6, 1]])).rejected
    False
    """

    # as pairs: JAX would sort the keys of a dict, and a sweep follows the user's order
    conditionals: tuple[tuple[str, Callable[[Array, dict[str, Array]], Array]], ...]

    def __init__(self, conditionals: Mapping[str, Callable[[Array, Any], Array]]) -> None:
        if not isinstance(conditionals, Mapping) or not conditionals:
            raise InputError(
                f"conditionals is {conditionals!r}: expected a dict with draw(key, x) for every "
                "block."
            )
        for block, draw in conditionals.items():
            if not callable(draw):
                raise InputError(
                    f"the conditional of {block!r} is of type {type(draw).__name__}: expected a "
                    "function draw(key, x)."
                )
        self.conditionals = tuple(conditionals.items())

    def step(self, key: Array, x: dict[str, Array]) -> dict[str, Array]:
        """One sweep over the blocks."""
        names = [block for block, _ in self.conditionals]
        if not isinstance(x, dict) or sorted(x) != sorted(names):
            blocks = sorted(x) if isinstance(x, dict) else type(x).__name__
            raise InputError(f"the state has the blocks {blocks}: expected a dict with {names}.")
        for number, (block, draw) in enumerate(self.conditionals):
            new = draw(jax.random.fold_in(key, number), x)
            if new.shape != x[block].shape:
                raise InputError(
                    f"the conditional of {block!r} returned shape {new.shape}: expected "
                    f"{x[block].shape}, as in the state."
                )
            x = {**x, block: new}
        return x
