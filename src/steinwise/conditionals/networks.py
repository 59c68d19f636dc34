"""Small networks, one per coordinate or block, trained together in one compiled program.

Every array of parameters has the network as its first axis. The sum of their losses has the
gradients of all of them, and Adam works entry by entry, so that together they learn as they would
alone. Of each network the epoch with the lowest validation loss is kept, the start among them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

from steinwise.errors import InputError
from steinwise.work import Work

EPOCHS_PER_CALL = 25
MOST_ROWS = 5000  # to learn from, and half as many to validate on; more change little

Losses = Callable[[Any, Any], Float[Array, " network"]]


def train_networks(
    losses: Losses,
    parameters: Any,
    train: Any,
    validation: Any,
    *,
    epochs: int,
    learning_rate: float,
    labels: tuple[str, ...],
    work: Work,
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
    epochs, learning_rate
        Steps of Adam, each on all of the training draws.
    labels
        The names of the networks, for the message when one of them diverges.
    """
    with jax.enable_x64(True):  # what is float32 stays so, whatever the configuration
        best_loss = losses(parameters, validation)
        state = (parameters, optax.adam(learning_rate).init(parameters), parameters, best_loss)
        _refuse_divergence(np.asarray(best_loss)[None], -1, labels, learning_rate)
        calls = [EPOCHS_PER_CALL] * (epochs // EPOCHS_PER_CALL)
        calls += [epochs % EPOCHS_PER_CALL] * (epochs % EPOCHS_PER_CALL > 0)
        done = 0
        for count in work.bar(calls, len(calls), "training"):
            state, seen = _epochs(losses, learning_rate, count, state, train, validation)
            _refuse_divergence(np.asarray(seen), done, labels, learning_rate)
            done += count
    return jax.tree.map(np.asarray, state[2])


@partial(jax.jit, static_argnums=(0, 1, 2))
def _epochs(losses: Losses, learning_rate: float, count: int, state, train, validation):
    adam = optax.adam(learning_rate)

    def epoch(state, _):
        parameters, moments, best, best_loss = state
        gradients = jax.grad(lambda p: jnp.sum(losses(p, train)))(parameters)
        updates, moments = adam.update(gradients, moments)
        parameters = optax.apply_updates(parameters, updates)
        loss = losses(parameters, validation)
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
