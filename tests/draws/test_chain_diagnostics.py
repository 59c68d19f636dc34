"""Autocorrelation times, R-hat, drift, and chains passed off as independent draws."""

import numpy as np
import pytest
from arviz_stats.base.array import array_stats

from benchmarks import simulate
from steinwise.draws.chain_diagnostics import (
    autocorrelation_times,
    drift,
    rhat,
    row_autocorrelation,
)


def chains(seed: int, rho: object, count: int = 4, draws: int = 20_000) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return simulate.autoregressive(rng, np.atleast_1d(np.asarray(rho, float)), count, draws)


def test_autocorrelation_time_of_ar1() -> None:
    """Catches 1/(1-rho), a missing factor of two, and columns that get mixed up."""
    rho = np.array([0.0, 0.3, 0.5, 0.9, 0.95])
    found = autocorrelation_times(chains(0, rho))
    np.testing.assert_allclose(found, (1 + rho) / (1 - rho), rtol=0.15)


def test_autocorrelation_time_of_squares() -> None:
    """The square of an AR(1) has autocorrelation rho^(2 lag): catches a rank-based time."""
    found = autocorrelation_times(chains(1, 0.9) ** 2)
    np.testing.assert_allclose(found, (1 + 0.81) / (1 - 0.81), rtol=0.2)


@pytest.mark.parametrize("draws", [4, 5, 50, 101])
def test_the_autocorrelation_time_is_that_of_arviz(draws: int) -> None:
    """Catches a sequence that ends one lag early or late, and one that may rise again."""
    columns = chains(5, np.linspace(-0.9, 0.95, 60), draws=draws)
    centred = columns - columns.mean(axis=1, keepdims=True)
    effective = array_stats.ess(centred, chain_axis=0, draw_axis=1, method="identity")
    expected = 4 * draws / np.asarray(effective)
    np.testing.assert_allclose(autocorrelation_times(columns), expected, rtol=1e-9)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_autocorrelation_time_has_no_unit(unit: float) -> None:
    """Catches tiny numbers taken for constants."""
    draws = chains(2, [0.5, 0.9], draws=2000)
    np.testing.assert_allclose(
        autocorrelation_times(draws * unit), autocorrelation_times(draws), rtol=1e-9
    )


def test_a_difference_between_chains_is_not_autocorrelation() -> None:
    """Catches a time that grows without bound when chains disagree."""
    draws = chains(3, 0.5, draws=2000)
    apart = draws + 10 * np.arange(4)[:, None, None]
    np.testing.assert_allclose(
        autocorrelation_times(apart), autocorrelation_times(draws), rtol=1e-6
    )


def test_rhat_sees_location_scale_and_stuck_chains() -> None:
    """Catches a plain R-hat, which is blind to scale, and NaN for a chain that never moved."""
    draws = chains(4, [0.3] * 4, draws=1000)
    draws[0, :, 1] += 1
    draws[0, :, 2] *= 3
    draws[:, :, 3] = np.arange(4)[:, None]
    found = rhat(draws)
    assert found[0] < 1.02
    assert (found[1:] > 1.05).all()
    assert not np.isnan(found).any()


def test_rhat_is_that_of_arviz() -> None:
    """Catches ranks that are taken chain by chain, or over all columns; draws that are tied too."""
    draws = chains(4, [0.3] * 4, draws=101)
    draws[0, :, 1] += 1
    draws[:, :, 2] = draws[:, :, 2].round()
    expected = array_stats.rhat(draws, chain_axis=0, draw_axis=1)
    np.testing.assert_allclose(rhat(draws), expected, rtol=1e-12)
    assert np.isinf(rhat(draws[:, :3])).all()


@pytest.mark.parametrize("length", [1, 10])
def test_drift_finds_the_start_of_one_chain(length: int) -> None:
    """Catches an average over chains or columns that hides one start, and false alarms."""
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(200):
        columns = rng.normal(size=(4, 20 * length + 3, 30))
        alarms += drift(columns, length) is not None
        columns[2, :length, 7] += 15 / np.sqrt(length)
        found = drift(columns, length)
        assert found is not None
        assert 8 < found < 30
    assert alarms <= 1
    assert drift(rng.normal(size=(4, 3, 2)), 1) is None


def test_drift_knows_heavy_tails() -> None:
    """Catches a bound from the normal distribution alone: it calls most Cauchy starts a drift."""
    rng = np.random.default_rng(6)
    alarms = sum(drift(rng.standard_cauchy((4, 2000, 1)), 1) is not None for _ in range(300))
    assert alarms <= 3


def test_a_chain_as_rows_is_found() -> None:
    """Catches a test with no power at rho = 0.1, n = 1000, d = 10."""
    signs = [row_autocorrelation(chains(seed, [0.1] * 10, 1, 1000)[0]) for seed in range(40)]
    assert sum(sign is not None for sign in signs) >= 38


def test_the_slow_coordinate_is_named() -> None:
    """Catches a sum over coordinates that drowns one slow coordinate, and a wrong index."""
    rho = np.zeros(50)
    rho[37] = 0.5
    found = row_autocorrelation(chains(6, rho, 1, 1000)[0])
    assert found is not None
    assert (found.coordinate, found.lag) == (37, 1)
    assert found.value == pytest.approx(0.5, abs=0.1)


def test_interleaved_chains_are_found() -> None:
    """(draw, chain, d) flattened has autocorrelation at lag 4 only."""
    rows = np.swapaxes(chains(7, [0.6] * 3, 4, 500), 0, 1).reshape(-1, 3)
    found = row_autocorrelation(rows)
    assert found is not None
    assert found.lag == 4


def test_dependence_in_scale_alone_is_found() -> None:
    """A chain whose sign is drawn anew at every step has uncorrelated positions."""
    x = chains(8, [0.8] * 3, 1, 1000)[0]
    signs = np.random.default_rng(8).choice([-1.0, 1.0], size=x.shape)
    found = row_autocorrelation(np.abs(x) * signs)
    assert found is not None
    assert found.signal == "distances from the median"


def test_too_few_rows_to_tell() -> None:
    """Catches a division by zero at four rows."""
    assert row_autocorrelation(np.arange(8.0).reshape(4, 2)) is None
