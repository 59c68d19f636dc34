"""Many small networks trained together, or in groups that fit into memory."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.conditionals import Histogram, MixtureDensity
from steinwise.conditionals.network_training import NetworkData, train_networks
from tests.conditionals.examples import losses, normal, training

NETWORKS, ROWS, LEARNING_RATE = 5, 40, 0.05


def squared_errors(weights, x, per_network):
    """Linear regressions of a column per network, on the inputs that its mask marks."""
    masks, columns = per_network
    return jnp.mean((columns - (weights * masks) @ x.T) ** 2, axis=1)


def regressions() -> tuple[np.ndarray, NetworkData, NetworkData]:
    """Where training starts, and what it learns from and is validated on."""
    rng = np.random.default_rng(0)
    masks = (rng.random((NETWORKS, 4)) < 0.7).astype(np.float32)
    start = rng.normal(size=(NETWORKS, 4)).astype(np.float32)
    slopes = rng.normal(size=(NETWORKS, 4))

    def data(scale: float) -> NetworkData:
        x = rng.normal(size=(ROWS, 4))
        columns = slopes @ x.T * scale + rng.normal(size=(NETWORKS, ROWS))
        return NetworkData(x.astype(np.float32), (masks, columns.astype(np.float32)))

    return start, data(1.0), data(0.5)  # the best epoch comes before the last


def train(memory: int, epochs: int, data: NetworkData | None = None) -> np.ndarray:
    start, learned_from, validation = regressions()
    return train_networks(
        squared_errors,
        start,
        learned_from,
        validation if data is None else data,
        units=1,
        epochs=epochs,
        learning_rate=LEARNING_RATE,
        labels=tuple(f"network {j}" for j in range(NETWORKS)),
        run=RunOptions(progress=False, memory=memory),
    )


def by_hand(j: int, epochs: int) -> np.ndarray:
    """Adam on one regression, with the weights of its lowest validation loss."""
    start, learned_from, validation = regressions()
    weights = start[j].astype(float)
    mask = learned_from.per_network[0][j].astype(float)

    def errors(data: NetworkData) -> np.ndarray:
        return data.x.astype(float) @ (weights * mask) - data.per_network[1][j]

    first, second = np.zeros(4), np.zeros(4)
    best, lowest = weights, np.mean(errors(validation) ** 2)
    for step in range(1, epochs + 1):
        gradient = 2 * mask * (errors(learned_from) @ learned_from.x) / ROWS
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        scale = np.sqrt(second / (1 - 0.999**step)) + 1e-8
        weights = weights - LEARNING_RATE * first / (1 - 0.9**step) / scale
        loss = np.mean(errors(validation) ** 2)
        if loss < lowest:
            best, lowest = weights, loss
    return best


@pytest.mark.parametrize("memory", [1, 4 * 8 * (2 * ROWS + 4) * 2, 2**30])
def test_groups_of_one_two_or_all_networks_learn_what_each_learns_alone(memory: int) -> None:
    """Catches a group with data or parameters of another, and epochs lost between calls."""
    epochs = 60  # two full calls, and one of the rest
    learned = train(memory, epochs)
    expected = np.stack([by_hand(j, epochs) for j in range(NETWORKS)])
    np.testing.assert_allclose(learned, expected, atol=1e-3)


def test_a_network_that_diverges_in_a_later_group_is_named() -> None:
    """Catches labels that are counted from the start of the group."""
    _, _, validation = regressions()
    masks, columns = validation.per_network
    columns = columns.copy()
    columns[3, 0] = np.inf
    with pytest.raises(sw.InputError, match=r"the validation loss of network 3 is inf in epoch 0"):
        train(1, 10, NetworkData(validation.x, (masks, columns)))


@pytest.mark.parametrize("model", [Histogram(10, epochs=25), MixtureDensity(epochs=25)], ids=str)
def test_networks_trained_in_groups_learn_the_same(model: Histogram | MixtureDensity) -> None:
    """Catches a model whose arrays do not have the network as their first axis."""
    data = training(normal(0, 200), normal(1, 100))
    together = model.fit(data).log_density(data.validation)
    one_by_one = model.fit(replace(data, run=RunOptions(progress=False, memory=1)))
    np.testing.assert_allclose(one_by_one.log_density(data.validation), together, atol=1e-3)
    assert (-together.mean(axis=0) < losses(replace(model, epochs=0), data)).all()
