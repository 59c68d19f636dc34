"""Monte Carlo errors of means and sds: those of repetitions, for independent draws and chains."""

import numpy as np
import pytest

from steinwise.calibration.batches import Batches, even_batches
from steinwise.draws.samples import Samples
from steinwise.estimates.monte_carlo import monte_carlo_errors
from steinwise.estimates.settling import batches_for_errors

RHO, CHAINS, LENGTH = 0.7, 4, 500


def as_samples(x: np.ndarray) -> tuple[Samples, Batches]:
    samples = Samples.of(x)
    return samples, batches_for_errors(samples)[0]


def test_independent_draws_have_the_textbook_errors() -> None:
    """sd / sqrt(n), and for a normal distribution sd / sqrt(2 n)."""
    x = 3.0 * np.random.default_rng(0).normal(size=(20_000, 2))
    batches = even_batches(1, len(x), 50, independent=True)
    of_mean, of_sd = monte_carlo_errors(x, Samples.of(x), batches)
    assert of_mean == pytest.approx(3 / np.sqrt(20_000), rel=0.02)
    assert of_sd == pytest.approx(3 / np.sqrt(2 * 20_000), rel=0.05)


def test_errors_of_chains_cover_as_they_should() -> None:
    """AR(1) chains: 1.96 errors hold 0.95 of the means and sds.

    Batches alone, without what neighbouring ones share and with a normal quantile, hold 0.92 here.
    """
    rng = np.random.default_rng(1)
    repetitions, d = 60, 20
    inside = np.zeros((2, repetitions, d))
    for r in range(repetitions):
        noise = np.sqrt(1 - RHO**2) * rng.normal(size=(CHAINS, LENGTH, d))
        x = np.empty_like(noise)
        x[:, 0] = rng.normal(size=(CHAINS, d))
        for t in range(1, LENGTH):
            x[:, t] = RHO * x[:, t - 1] + noise[:, t]
        samples, batches = as_samples(x)
        of_mean, of_sd = monte_carlo_errors(samples.rows, samples, batches)
        inside[0, r] = np.abs(samples.rows.mean(axis=0)) <= 1.96 * of_mean
        inside[1, r] = np.abs(samples.rows.std(axis=0) - 1) <= 1.96 * of_sd
    covered = inside.mean(axis=(1, 2))
    sd = np.sqrt(0.95 * 0.05 / (repetitions * d))
    assert (np.abs(covered - 0.95) < 0.01 + 2.6 * sd).all(), covered


def test_a_constant_has_no_error() -> None:
    samples, batches = as_samples(np.random.default_rng(2).normal(size=(2, 200, 1)))
    of_mean, of_sd = monte_carlo_errors(np.ones((400, 1)), samples, batches)
    assert of_mean == 0
    assert of_sd == 0
