"""What the answers should be: means, sds and quantiles of the targets, each with its own error.

Means and sds are closed forms, or come from long runs of BlackJAX's NUTS with second-order control
variates (regressions on s_j and x_j s_k + x_k s_j, of mean 0 under the target): for correct draws
these take away noise and add no bias. Quantiles are those of the long runs, or of exact draws.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from benchmarks.answer_cases import from_nuts, target

LENGTH = 20_000  # of each of four chains
EXACT_DRAWS = 2_000_000
BATCHES = 200
SHARES = (0.05, 0.5, 0.95)


@dataclass(frozen=True, eq=False)
class Truth:
    """Of each coordinate, with standard errors."""

    mean: np.ndarray
    mean_error: np.ndarray
    sd: np.ndarray
    sd_error: np.ndarray
    quantiles: np.ndarray  # one row per coordinate
    quantile_error: np.ndarray

    def to_lists(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name).tolist() for field in fields(self)}


def truth(name: str, known: dict[str, Any]) -> Truth:
    """Of a target; what was computed is kept in `known`."""
    if name not in known:
        given = target(name)
        rng = np.random.default_rng(12345)
        if given.exact is None:
            x = from_nuts(name, rng, LENGTH).reshape(-1, given.d)
            mean, sd, mean_error, sd_error = _by_control_variates(x, _scores(name, x))
        else:
            x = given.exact(rng, EXACT_DRAWS)
            mean, sd = np.array(given.mean), np.array(given.sd)
            mean_error = sd_error = np.zeros(given.d)
        known[name] = Truth(mean, mean_error, sd, sd_error, *_quantiles(x)).to_lists()
    return Truth(**{key: np.array(value) for key, value in known[name].items()})


def _scores(name: str, x: np.ndarray) -> np.ndarray:
    import jax

    with jax.enable_x64(True):
        score = jax.jit(jax.vmap(jax.grad(target(name).log_density)))
        return np.concatenate([np.asarray(score(part)) for part in np.split(x, BATCHES)])


def _by_control_variates(
    x: np.ndarray, scores: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Means and sds, then the standard errors of both."""
    d, centre, scale = x.shape[1], x.mean(axis=0), x.std(axis=0)
    z, s = (x - centre) / scale, scores * scale
    j, k = np.triu_indices(d)
    second = z[:, j] * s[:, k] + z[:, k] * s[:, j] + 2 * (j == k)
    columns = np.concatenate([np.ones((len(z), 1)), s, second], axis=1)
    functions = np.concatenate([z, z**2], axis=1)
    coefficients = np.linalg.solve(columns.T @ columns, columns.T @ functions)
    rest = (functions - columns @ coefficients).reshape(BATCHES, -1, 2 * d).mean(axis=1)
    mean, square = coefficients[0, :d], coefficients[0, d:]
    sd = np.sqrt(square - mean**2)
    mean_error = rest[:, :d].std(axis=0) / np.sqrt(BATCHES)
    of_sd = (rest[:, d:] - 2 * mean * rest[:, :d]).std(axis=0) / np.sqrt(BATCHES) / (2 * sd)
    return centre + scale * mean, scale * sd, scale * mean_error, scale * of_sd


def _quantiles(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    parts = x.reshape(BATCHES, -1, x.shape[1])
    by_batch = np.quantile(parts, SHARES, axis=1)
    return np.quantile(x, SHARES, axis=0).T, by_batch.std(axis=1).T / np.sqrt(BATCHES)
