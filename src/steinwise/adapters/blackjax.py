"""BlackJAX: positions are unconstrained already; what is left is their tree."""

from collections.abc import Callable
from typing import Any, Literal

import jax
import numpy as np

from steinwise.adapters.common import Block, Variable, labels, samples_of, split
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.target import AbstractTarget, Target

Axes = Literal["draw", "draw chain", "chain draw"]


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
        The states of a sampler, stacked by `scan` or `vmap`; or positions alone, as SGLD and
        variational inference give them: an array or a tree of arrays.
    logdensity_fn
        The log density of one position, as BlackJAX took it.
    axes
        What the leading axes are: "draw", "draw chain" (a scan over vmapped chains) or
        "chain draw". By default a state's log density shows how many there are, the longer is the
        draws, and positions alone have one.
    independent
        True if the draws are independent, as those of Pathfinder or mean-field VI are. Draws of a
        sampler's states never are, unless you say so; positions alone are taken as independent,
        and refused if they are autocorrelated: pass independent=False then.

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
    stateful = hasattr(states, "position")
    position = states.position if stateful else states
    leaves, tree = jax.tree_util.tree_flatten_with_path(position)
    if not leaves:
        raise InputError("the states hold no draws: expected an array or a tree of arrays.")
    order = axes or _axes(states)
    arrays = [_chains_first(np.asarray(leaf), order) for _, leaf in leaves]
    found = [Variable.of(array) for array in arrays]
    names = [jax.tree_util.keystr(path, simple=True, separator=".") or "x" for path, _ in leaves]
    blocks = [Block(v.values, labels(name, v.index)) for name, v in zip(names, found, strict=True)]
    shapes = [block.shape for block in blocks]

    def log_density(x: Any) -> Any:
        return logdensity_fn(jax.tree_util.tree_unflatten(tree, split(x, shapes)))

    samples = samples_of(blocks, independent)
    if independent is None and not stateful and order == "draw":
        samples = Samples.of(samples.values[0], names=samples.names)
    return samples, Target(log_density)


def _axes(states: Any) -> Axes:
    shape = np.shape(getattr(states, "logdensity", np.empty(1)))
    if len(shape) == 1:
        return "draw"
    if len(shape) == 2:
        return "draw chain" if shape[0] > shape[1] else "chain draw"
    raise InputError(
        f"the log densities of the states have shape {shape}: expected (draw,), (draw, chain) or "
        "(chain, draw). Was only the last state kept? Stack all of them, as jax.lax.scan does."
    )


def _chains_first(array: np.ndarray, axes: Axes) -> np.ndarray:
    leading = len(axes.split())
    if axes not in ("draw", "draw chain", "chain draw") or array.ndim < leading:
        raise InputError(
            f"axes is {axes!r} for a position of shape {array.shape}: expected 'draw', "
            "'draw chain' or 'chain draw', the leading axes of every array."
        )
    if axes == "draw":
        return array[None]
    return np.swapaxes(array, 0, 1) if axes == "draw chain" else array
