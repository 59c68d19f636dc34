"""Small networks, one per coordinate or block, trained together in one compiled program.

Every array of parameters has the network as its first axis. The gradient of the sum of their losses
is the gradient of each, and Adam works entry by entry, so networks that are trained together, or in
groups that fit into memory, learn what each would learn alone. Each network keeps the epoch with
its lowest validation loss, or its start where no epoch is better.
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

from steinwise._internal.compiled import precision
from steinwise._internal.memory import chunks, even_size
from steinwise._internal.run_options import RunOptions
from steinwise.errors import InputError

EPOCHS_PER_CALL = 25  # between two steps of the progress bar, and two looks for a diverged loss
MAX_TRAINING_ROWS = 5000  # to learn from, and half as many to validate on; more change little
# Arrays of the size of the parameters, or of the units at all rows, that are alive at once while a
# network learns (parameters, gradient, two moments, best parameters, temporaries), rounded up.
COPIES = 8

Losses = Callable[[Any, Any, Any], Float[Array, " network"]]  # of parameters, x, per_network


class NetworkData(NamedTuple):
    """What networks learn from, or are validated on."""

    x: Float[np.ndarray, "n d"]  # rows that all networks share
    per_network: Any  # arrays that have the network as their first axis


def input_masks(blocks: Int[np.ndarray, "j s"], d: int) -> Float[np.ndarray, "j d"]:
    """1 for the coordinates outside a block, which are the inputs of its network; 0 inside."""
    masks = np.ones((len(blocks), d), np.float32)
    np.put_along_axis(masks, blocks, 0.0, axis=1)
    return masks


def train_networks(
    losses: Losses,
    parameters: Any,
    train: NetworkData,
    validation: NetworkData,
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
        The mean loss of every network; the same function object in every call, so that it is
        compiled once.
    parameters
        Where training starts.
    train, validation
        The other arguments of `losses`.
    units
        How many numbers a network computes per row: as many networks are trained together as the
        memory budget allows.
    epochs, learning_rate
        Steps of Adam, each on all of the training draws.
    labels
        The names of the networks, for the message when one of them diverges.
    """
    n_networks = len(labels)
    weights = sum(array.size for array in jax.tree.leaves(parameters)) // n_networks
    rows = len(train.x) + len(validation.x)
    most = max(1, run.memory // (4 * COPIES * (rows * units + weights)))  # float32 has 4 bytes
    groups = list(chunks(n_networks, even_size(n_networks, most)))
    calls = [EPOCHS_PER_CALL] * (epochs // EPOCHS_PER_CALL)
    calls += [epochs % EPOCHS_PER_CALL] * (epochs % EPOCHS_PER_CALL > 0)
    steps = iter(run.bar(calls * len(groups), len(groups) * len(calls), "training networks"))
    trained = []
    with precision():  # float32 stays float32, whatever JAX's configuration
        for group in groups:
            start, train_own, validation_own = jax.tree.map(
                lambda array, group=group: array[group],
                (parameters, train.per_network, validation.per_network),
            )
            data = NetworkData(train.x, train_own), NetworkData(validation.x, validation_own)
            start_loss = losses(start, *data[1])
            _refuse_divergence(np.asarray(start_loss)[None], -1, labels[group], learning_rate)
            state = (start, optax.adam(learning_rate).init(start), start, start_loss)
            done = 0
            for count in islice(steps, len(calls)):
                state, validation_losses = _train_epochs(losses, learning_rate, count, state, *data)
                _refuse_divergence(
                    np.asarray(validation_losses), done, labels[group], learning_rate
                )
                done += count
            trained.append(jax.tree.map(np.asarray, state[2]))
    return jax.tree.map(lambda *arrays: np.concatenate(arrays), *trained)


@partial(jax.jit, static_argnums=(0, 1, 2))
def _train_epochs(
    losses: Losses,
    learning_rate: float,
    count: int,
    state: Any,
    train: NetworkData,
    validation: NetworkData,
) -> Any:
    """The state (parameters, Adam's moments, best parameters, their losses) after some epochs."""
    adam = optax.adam(learning_rate)

    def epoch(state, _):
        parameters, moments, best, best_loss = state
        gradients = jax.grad(lambda p: jnp.sum(losses(p, *train)))(parameters)
        updates, moments = adam.update(gradients, moments)
        parameters = optax.apply_updates(parameters, updates)
        loss = losses(parameters, *validation)
        better = loss < best_loss

        def keep_better(old: Array, new: Array) -> Array:
            return jnp.where(better.reshape(-1, *[1] * (new.ndim - 1)), new, old)

        best = jax.tree.map(keep_better, best, parameters)
        return (parameters, moments, best, jnp.where(better, loss, best_loss)), loss

    return jax.lax.scan(epoch, state, None, length=count)


def _refuse_divergence(
    losses: Float[np.ndarray, "epoch network"],
    done: int,
    labels: tuple[str, ...],
    learning_rate: float,
) -> None:
    if np.isfinite(losses).all():
        return
    epoch, network = (int(i) for i in np.argwhere(~np.isfinite(losses))[0])
    raise InputError(
        f"training diverged: the validation loss of {labels[network]} is {losses[epoch, network]} "
        f"in epoch {done + epoch + 1}. The steps are too long: try a learning_rate below "
        f"{learning_rate:g}. Draws many standard deviations out can cause it too."
    )
