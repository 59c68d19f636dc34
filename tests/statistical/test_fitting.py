"""sw.fit_parameters: coverage of its intervals, and no bias, where the constant is not known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from benchmarks.fit_cases import (
    MACHINE,
    N,
    gaussian_bernoulli,
    machine_draws,
    quartic,
    quartic_draws,
)

SEEDS = 150
LEAST = 128  # of 150: fewer have probability 1e-3 at 0.92, which is what second order leaves


@pytest.mark.full
@pytest.mark.parametrize("method", ["ksd", "kccsd"])
@pytest.mark.parametrize(
    ("log_density", "draw", "truth"),
    [
        (quartic, quartic_draws, {"fourth": 0.5, "second": -1.0}),
        (gaussian_bernoulli, machine_draws, MACHINE),
    ],
    ids=["quartic energy", "Gaussian-Bernoulli machine"],
)
@pytest.mark.filterwarnings("ignore:.*no better than:steinwise.SteinwiseWarning")
def test_coverage(log_density, draw, truth, method):
    expected = np.concatenate([np.ravel(truth[key]) for key in sorted(truth)])
    hits = np.zeros(len(expected), int)
    for seed in range(SEEDS):
        draws = draw(np.random.default_rng([31, seed]), N)
        fit = sw.fit_parameters(log_density, draws, truth, method=method, independent=True)
        assert fit.converged
        assert fit.covariance is not None
        reach = 1.96 * np.sqrt(np.diagonal(fit.covariance))
        hits += np.abs(fit.vector - expected) < reach
    assert hits.min() >= LEAST, f"{hits} of {SEEDS}"
    assert hits.max() < SEEDS, f"{hits} of {SEEDS}"


@jax.jit  # many fits, compiled once
def natural(theta, x):
    """An exponential family: log p = shift . x - precision x^2 / 2."""
    return jnp.sum(theta[0] * x - 0.5 * theta[1] * x**2)


def draws_of_natural(seed: int, n: int) -> np.ndarray:
    """Mean 2 and variance 2: shift 1 and precision 1 / 2."""
    return np.random.default_rng(seed).normal(2.0, np.sqrt(2.0), size=(n, 1))


TRUTH = np.array([1.0, 0.5])


def test_errors_are_those_of_the_jackknife():
    """Half of the sandwich left out, or a factor of 2, would show."""
    x, method = draws_of_natural(1, 60), sw.methods.KSD(sw.kernels.RBF(1.0))
    fit = sw.fit_parameters(natural, x, TRUTH, method=method, independent=True)
    without = np.array(
        [
            sw.fit_parameters(
                natural, np.delete(x, i, axis=0), fit.vector, method=method, independent=True
            ).vector
            for i in range(len(x))
        ]
    )
    expected = np.sqrt(((without - without.mean(axis=0)) ** 2).sum(axis=0) * 59 / 60)
    assert fit.standard_errors == pytest.approx(expected, rel=0.25)


def unrelated(key, x, n_atoms):
    """A stand-in that is nothing like the draws."""
    return np.random.default_rng(key).normal(-1.0, 3.0, size=(*x.shape, n_atoms))


def test_a_wrong_stand_in_does_not_bias():
    """Minimising the discrepancy of the stand-in would find mean -1 and precision 1 / 9."""
    method = sw.methods.KCCSD(sw.conditionals.Sampler(unrelated, n_atoms=7), sw.kernels.RBF(2.0))
    errors = []
    for seed in range(40):
        draws = draws_of_natural(seed, 300)
        fit = sw.fit_parameters(natural, draws, TRUTH, method=method, independent=True)
        errors.append((fit.vector - TRUTH) / fit.standard_errors)
    assert np.abs(np.mean(errors, axis=0)).max() < 0.55  # 3.5 standard errors of 40
    assert 0.65 < np.std(errors) < 1.35
