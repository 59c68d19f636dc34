"""How often draws that are independent, or chains that have settled, are refused or noted."""

import numpy as np
import pytest

import steinwise as sw
from benchmarks import simulate
from steinwise.calibration.batch_plan import plan_batches
from steinwise.draws.chain_diagnostics import row_autocorrelation


@pytest.mark.parametrize("kind", ["normal", "cauchy", "equal columns", "few values", "short"])
def test_independent_rows_are_accepted(kind: str) -> None:
    """Catches tails or correlations between coordinates that pass for autocorrelation."""
    rng = np.random.default_rng(9)
    draw = {
        "normal": lambda: rng.normal(size=(200, 10)),
        "cauchy": lambda: rng.standard_cauchy(size=(200, 10)),
        "equal columns": lambda: np.repeat(rng.normal(size=(200, 1)), 10, axis=1),
        "few values": lambda: rng.integers(0, 3, size=(200, 10)).astype(float),
        "short": lambda: rng.normal(size=(25, 4)),
    }[kind]
    refused = sum(row_autocorrelation(draw()) is not None for _ in range(300))
    assert refused <= 6  # expected 1.2 at level 0.004; more than 6 has probability 2e-4


@pytest.mark.parametrize("n", [50, 1000])
def test_samples_are_seldom_refused(n: int) -> None:
    """Catches a level far above its 0.4 %: of 300 independent sets at most 3 are refused."""
    refused = 0
    for seed in range(300):
        rng = np.random.default_rng([n, seed])
        mixing = rng.normal(size=(4, 4))
        draws = rng.standard_t(3, size=(n, 4)) @ mixing  # heavy tails, correlated coordinates
        try:
            sw.Samples.of(draws)
        except sw.InputError:
            refused += 1
    assert refused <= 3


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_settled_chains_are_not_noted(count: int, rho: float) -> None:
    """Catches thresholds that cry wolf, and an R-hat of one chain that is never finite."""
    noted = 0
    for seed in range(60):
        rng = np.random.default_rng(200 + seed)
        chains = simulate.autoregressive(rng, np.full(3, rho), count, 6000 // count)
        noted += bool(plan_batches(sw.Samples.of(chains), lambda _, x, __: x, most=250).notes)
    assert noted <= 2
