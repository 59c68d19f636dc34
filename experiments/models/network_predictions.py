"""What chains of network weights predict, and how far the predictions are from a reference.

The reference is long chains of Hamiltonian Monte Carlo.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from arviz_stats.base.array import array_stats
from jaxtyping import Float

from experiments.engine.tasks import Outcome, rounded
from experiments.models.network import ARRAYS, Network, typical_spread
from steinwise._internal.indices import evenly_spaced_indices

DRAWS = 200  # of a chain that predictions are computed from, each a pass through the network
INPUTS = 77  # at which predictions are compared: every fourth of 308


def thin(
    draws: Float[np.ndarray, "chains n d"],
) -> Float[np.ndarray, "chains m d"]:
    """The draws of every chain that predictions are computed from."""
    return draws[:, evenly_spaced_indices(draws.shape[1], DRAWS)]


def predict(
    model: Network, draws: Float[np.ndarray, "chains m d"]
) -> Float[np.ndarray, "chains m data"]:
    """f(x) at some of the inputs, for every draw."""
    inputs = jnp.asarray(model.inputs[evenly_spaced_indices(len(model.inputs), INPUTS)])
    with jax.enable_x64(True):
        of_draws = jax.vmap(jax.vmap(lambda w: model.predict(w, inputs)))
        return np.asarray(of_draws(jnp.asarray(draws)))


def summarise_predictions(model: Network, draws: Float[np.ndarray, "chains m d"]) -> Outcome:
    """The mean and standard deviation of f(x) in every chain, and its mean log posterior."""
    predictions = predict(model, draws)
    with jax.enable_x64(True):
        log_posterior = np.asarray(jax.vmap(jax.vmap(model.log_density))(jnp.asarray(draws)))
    return {
        "mean": [[rounded(v, 4) for v in chain] for chain in predictions.mean(axis=1)],
        "sd": [[rounded(v, 4) for v in chain] for chain in predictions.std(axis=1)],
        "log_posterior": [rounded(v) for v in log_posterior.mean(axis=1)],
    }


def describe_reference(model: Network, draws: Float[np.ndarray, "chains m d"]) -> Outcome:
    """Whether the reference has converged, and how wide the conditionals of each array are."""
    rhat = array_stats.rhat(predict(model, draws), chain_axis=0, draw_axis=1, method="rank")
    spread, arrays = typical_spread(model), model.layer()
    return {
        "rhat": rounded(np.max(rhat)),
        "conditional_sd": {name: rounded(spread[arrays == k][0]) for k, name in enumerate(ARRAYS)},
    }


def pool_repetitions(outcomes: Sequence[Outcome]) -> Outcome:
    """The chains of all repetitions in one list; of a number for several chains, the largest.

    >>> pool_repetitions([{"sd": [1.0, 2.0], "rhat": 1.1}, {"sd": [3.0], "rhat": 1.2}])
    {'sd': [1.0, 2.0, 3.0], 'rhat': 1.2}
    """
    if any(outcome.get("diverged") for outcome in outcomes):
        return {"diverged": 1}
    pooled = {}
    for name, first in outcomes[0].items():
        values = [outcome[name] for outcome in outcomes]
        if isinstance(first, dict):
            pooled[name] = pool_repetitions(values)
        elif isinstance(first, list):
            pooled[name] = [value for chains in values for value in chains]
        else:
            pooled[name] = max(values)
    return pooled


def prediction_errors(outcome: Outcome, reference: Outcome) -> Outcome:
    """For every chain, RMS errors of the mean (in the reference's sds) and of the log sd."""
    means, sds = np.array(reference["mean"]), np.array(reference["sd"])
    mean = means.mean(axis=0)
    sd = np.sqrt((sds**2).mean(axis=0) + means.var(axis=0))
    mean_error = (np.array(outcome["mean"]) - mean) / sd
    log_ratio = np.log(np.maximum(np.array(outcome["sd"]), 1e-6) / sd)
    return {
        "mean_error": [rounded(v) for v in np.sqrt((mean_error**2).mean(axis=1))],
        "spread_error": [rounded(v) for v in np.sqrt((log_ratio**2).mean(axis=1))],
    }


def reference_errors(reference: Outcome) -> Outcome:
    """The errors of each chain of the reference, against its other chains."""

    def of_chains(chosen: Sequence[int]) -> Outcome:
        return {name: [reference[name][c] for c in chosen] for name in ("mean", "sd")}

    chains = range(len(reference["mean"]))
    return pool_repetitions(
        [
            prediction_errors(of_chains([c]), of_chains([other for other in chains if other != c]))
            for c in chains
        ]
    )
