"""BlackJAX: positions are already unconstrained, and come as a tree of arrays."""

from collections.abc import Callable
from typing import Any, Literal

import jax
import numpy as np

from steinwise._internal.options import known_options
from steinwise.adapters.common import Block, Variable, labels, samples_of, split
from steinwise.adapters.kept_scores import with_kept_scores
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.target import AbstractTarget, Target

Axes = Literal["draw", "draw chain", "chain draw"]


@known_options
def from_blackjax(
    states: Any,
    logdensity_fn: Callable[[Any], Any],
    *,
    axes: Axes | None = None,
    independent: bool | None = None,
) -> tuple[Samples, AbstractTarget]:
    """Draws and density of a BlackJAX run.

    Parameters
    ----------
    states
        The states of a sampler, stacked by `scan` or `vmap`; or positions without states, as SGLD
        and variational inference return them: an array or a tree of arrays.
    logdensity_fn
        The log density of one position, as it was passed to BlackJAX.
    axes
        The leading axes: "draw", "draw chain" (a scan over vmapped chains) or "chain draw". By
        default they follow from the shape of the states' log densities, where the longer axis is
        that of the draws; positions without states have one leading axis.
    independent
        True if the draws are independent, as those of Pathfinder or mean-field VI are. By default
        states are taken as chains, and positions without states as independent draws; the latter
        are refused if they are autocorrelated, and then need independent=False.

    Returns
    -------
    Samples, Target
        Gradients that the states hold, as those of NUTS, HMC and MALA do, are the scores of the
        draws, and are not evaluated again: as long as they agree with `logdensity_fn`, which is
        looked at in a few draws.

    Examples
    --------
    >>> import jax, jax.numpy as jnp, steinwise as sw
    >>> def logdensity(position):
    ...     return -jnp.sum(position["theta"]**2) / 2 - position["mu"]**2 / 2
    >>> keys = jax.random.split(jax.random.key(0))
    >>> positions = {"mu": jax.random.normal(keys[0], (500,)),
    ...              "theta": jax.random.normal(keys[1], (500, 2))}
    >>> samples, target = sw.from_blackjax(positions, logdensity)
    >>> samples
    Samples(500 independent draws, 3 coordinates: mu, theta[0], theta[1])
    """
    has_states = hasattr(states, "position")
    position = states.position if has_states else states
    leaves, tree = jax.tree_util.tree_flatten_with_path(position)
    if not leaves:
        raise InputError("the states hold no draws: expected an array or a tree of arrays.")
    order = axes or _leading_axes(states)
    arrays = [_chain_draw_first(np.asarray(leaf), order) for _, leaf in leaves]
    variables = [Variable.of(array) for array in arrays]
    names = [jax.tree_util.keystr(path, simple=True, separator=".") or "x" for path, _ in leaves]
    blocks = [
        Block(variable.values, labels(name, variable.index))
        for name, variable in zip(names, variables, strict=True)
    ]
    shapes = [block.shape for block in blocks]

    def log_density(x: Any) -> Any:
        return logdensity_fn(jax.tree_util.tree_unflatten(tree, split(x, shapes)))

    samples, target = samples_of(blocks, independent), Target(log_density)
    if independent is None and not has_states and order == "draw":
        samples = Samples.of(samples.values[0], names=samples.names)
    kept = jax.tree.leaves(getattr(states, "logdensity_grad", None))
    if len(kept) == len(leaves):
        gradients = [_chain_draw_first(np.asarray(leaf), order) for leaf in kept]
        flat = [leaf.reshape(*leaf.shape[:2], -1) for leaf in gradients]
        samples = with_kept_scores(samples, target, np.concatenate(flat, axis=2))
    return samples, target


def _leading_axes(states: Any) -> Axes:
    shape = np.shape(getattr(states, "logdensity", np.empty(1)))
    if len(shape) == 1:
        return "draw"
    if len(shape) == 2:
        return "draw chain" if shape[0] > shape[1] else "chain draw"
    raise InputError(
        f"the log densities of the states have shape {shape}: expected (draw,), (draw, chain) or "
        "(chain, draw). Was only the last state kept? Stack all of them, as jax.lax.scan does."
    )


def _chain_draw_first(array: np.ndarray, axes: Axes) -> np.ndarray:
    leading = len(axes.split())
    if axes not in ("draw", "draw chain", "chain draw") or array.ndim < leading:
        raise InputError(
            f"axes is {axes!r} for a position of shape {array.shape}: expected 'draw', "
            "'draw chain' or 'chain draw', the leading axes of every array."
        )
    if axes == "draw":
        return array[None]
    return np.swapaxes(array, 0, 1) if axes == "draw chain" else array
