"""Coverage of the intervals of sw.fit_parameters, where the constant is not known."""

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw

SEEDS, N = 150, 1000
LEAST = 128  # of 150: fewer have probability 1e-3 at 0.92, which is what second order leaves


def quartic(theta, x):
    return -theta[0] * x[0] ** 4 - theta[1] * x[0] ** 2


def gaussian_bernoulli(theta, x):
    """One hidden unit: log p = -|x - b|^2 / 2 + log(1 + exp(w . x + c)), up to a constant."""
    w, b, c = theta["weights"], theta["bias"], theta["hidden"]
    return -0.5 * jnp.sum((x - b) ** 2) + jnp.logaddexp(0.0, w @ x + c)


GRID = np.linspace(-3.5, 3.5, 7001)
CUMULATIVE = np.cumsum(np.exp(-0.5 * GRID**4 + GRID**2))
MACHINE = {"weights": np.array([2.0, -1.0]), "bias": np.zeros(2), "hidden": np.array(-2.5)}


def quartic_draws(rng: np.random.Generator) -> np.ndarray:
    return np.interp(rng.random((N, 1)), CUMULATIVE / CUMULATIVE[-1], GRID)


def machine_draws(rng: np.random.Generator) -> np.ndarray:
    """The hidden unit, on with odds exp(c + (|b + w|^2 - |b|^2) / 2), moves the mean by w."""
    w, b, c = MACHINE["weights"], MACHINE["bias"], MACHINE["hidden"]
    odds = np.exp(c + (np.sum((b + w) ** 2) - np.sum(b**2)) / 2)
    on = rng.random((N, 1)) < odds / (1 + odds)
    return b + on * w + rng.normal(size=(N, 2))


@pytest.mark.full
@pytest.mark.parametrize("method", ["ksd", "kccsd"])
@pytest.mark.parametrize(
    ("log_density", "draw", "truth"),
    [
        (quartic, quartic_draws, np.array([0.5, -1.0])),
        (gaussian_bernoulli, machine_draws, MACHINE),
    ],
    ids=["quartic energy", "Gaussian-Bernoulli machine"],
)
@pytest.mark.filterwarnings("ignore:.*no better than:steinwise.SteinwiseWarning")
def test_coverage(log_density, draw, truth, method):
    expected = (
        np.concatenate([np.ravel(truth[key]) for key in sorted(truth)])
        if isinstance(truth, dict)
        else truth
    )
    hits = np.zeros(len(expected), int)
    for seed in range(SEEDS):
        draws = draw(np.random.default_rng([31, seed]))
        fit = sw.fit_parameters(log_density, draws, truth, method=method, independent=True)
        assert fit.converged
        reach = 1.96 * np.sqrt(np.diagonal(fit.covariance))
        hits += np.abs(fit.vector - expected) < reach
    assert hits.min() >= LEAST, f"{hits} of {SEEDS}"
    assert hits.max() < SEEDS, f"{hits} of {SEEDS}"
