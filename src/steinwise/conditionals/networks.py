"""Small networks, one per coordinate or block, trained together in one compiled program.

Every array of parameters has the network as its first axis. The sum of their losses has the
gradients of all of them, and Adam works entry by entry, so that together, or in groups that fit
into memory, they learn as they would alone. Of each network the epoch with the lowest validation
loss is kept, the start among them.
"""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from steinwise._internal.memory import chunks
from steinwise._internal.run_options import RunOptions
from steinwise.errors import InputError

EPOCHS_PER_CALL = 25
MOST_ROWS = 5000  # to learn from, and half as many to validate on; more change little
COPIES = 8  # of parameters, and of what a network makes of a row, while it learns

Losses = Callable[[Any, Any, Any], Float[Array, " network"]]  # of parameters, x, own


class Rows(NamedTuple):
    """What networks learn from, or are validated on."""

    x: Float[np.ndarray, "n d"]  # the inputs of all of them
    own: Any  # arrays that have the network as their first axis


def others(blocks: Int[np.ndarray, "j s"], d: int) -> Float[np.ndarray, "j d"]:
    """1 for the coordinates that are inputs of a block's network."""
    out = np.ones((len(blocks), d), np.float32)
    np.put_along_axis(out, blocks, 0.0, axis=1)
    return out


def train_networks(
    losses: Losses,
    parameters: Any,
    train: Rows,
    validation: Rows,
    *,
    units: int,
    epochs: int,
    learning_rate: float,
    labels: tuple[str, ...],
    run: RunOptions,
) -> Any:
    """The parameters of every network at its best epoch.

    Parameters
    ----------
    losses
        The mean loss of every network; a function that stays the same between calls.
    parameters
        Where training starts.
    train, validation
        What `losses` takes beside the parameters.
    units
        Numbers that a network makes of a row: as many networks as memory allows are trained
        together.
    epochs, learning_rate
        Steps of Adam, each on all of the training draws.
    labels
        The names of the networks, for the message when one of them diverges.
    """
    weights = sum(array.size for array in jax.tree.leaves(parameters)) // len(labels)
    rows = len(train.x) + len(validation.x)
    at_once = max(1, run.memory // (4 * COPIES * (rows * units + weights)))
    groups = -(-len(labels) // at_once)
    parts = list(chunks(len(labels), -(-len(labels) // groups)))
    calls = [EPOCHS_PER_CALL] * (epochs // EPOCHS_PER_CALL)
    calls += [epochs % EPOCHS_PER_CALL] * (epochs % EPOCHS_PER_CALL > 0)
    steps = iter(run.bar(calls * groups, groups * len(calls), "training"))
    found = []
    with jax.enable_x64(True):  # what is float32 stays so, whatever the configuration
        for part in parts:
            some, learnt, checked = jax.tree.map(
                lambda a, part=part: a[part], (parameters, train.own, validation.own)
            )
            best_loss = losses(some, validation.x, checked)
            state = (some, optax.adam(learning_rate).init(some), some, best_loss)
            _refuse_divergence(np.asarray(best_loss)[None], -1, labels[part], learning_rate)
            rows_of = Rows(train.x, learnt), Rows(validation.x, checked)
            done = 0
            for count in islice(steps, len(calls)):
                state, seen = _epochs(losses, learning_rate, count, state, *rows_of)
                _refuse_divergence(np.asarray(seen), done, labels[part], learning_rate)
                done += count
            found.append(jax.tree.map(np.asarray, state[2]))
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *found)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _epochs(
    losses: Losses, learning_rate: float, count: int, state: Any, train: Rows, validation: Rows
) -> Any:
    adam = optax.adam(learning_rate)

    def epoch(state, _):
        parameters, moments, best, best_loss = state
        gradients = jax.grad(lambda p: jnp.sum(losses(p, *train)))(parameters)
        updates, moments = adam.update(gradients, moments)
        parameters = optax.apply_updates(parameters, updates)
        loss = losses(parameters, *validation)
        better = loss < best_loss

        def kept(old: Array, new: Array) -> Array:
            return jnp.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old)

        best = jax.tree.map(kept, best, parameters)
        return (parameters, moments, best, jnp.where(better, loss, best_loss)), loss

    return jax.lax.scan(epoch, state, None, length=count)


def _refuse_divergence(
    seen: Float[np.ndarray, "epoch network"],
    done: int,
    labels: tuple[str, ...],
    learning_rate: float,
) -> None:
    if np.isfinite(seen).all():
        return
    epoch, network = (int(i) for i in np.argwhere(~np.isfinite(seen))[0])
    raise InputError(
        f"training diverged: the validation loss of {labels[network]} is {seen[epoch, network]} in "
        f"epoch {done + epoch + 1}. The steps are too long: try a learning_rate below "
        f"{learning_rate:g}. Draws many standard deviations out can cause it too."
    )
