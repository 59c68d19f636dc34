"""Draws that come again among draws that are said to be independent."""

import numpy as np
import pytest

import steinwise as sw
from steinwise.draws.repeats import repeated_rows

N = 1000


def normal(seed: int, n: int = N, d: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


NATURAL = {
    "continuous": lambda rng: rng.normal(size=(N, 3)),
    "two digits": lambda rng: rng.normal(size=(N, 3)).round(2),
    "one digit": lambda rng: rng.normal(size=(N, 2)).round(1),
    "counts": lambda rng: rng.poisson(2.0, size=(N, 3)).astype(float),
    "halves": lambda rng: rng.integers(0, 60, size=(N, 2)) / 2,
    "a rate and its count": lambda rng: np.stack([rng.gamma(2, size=N), rng.poisson(1, N)], 1),
    "one coordinate": lambda rng: rng.normal(size=(50, 1))[rng.integers(0, 50, N)],
    "a few by accident": lambda rng: rng.normal(size=(N, 2))[np.r_[: N - 4, :4]],
}


@pytest.mark.parametrize("kind", NATURAL)
def test_values_that_come_again_by_themselves_are_no_repeats(kind: str) -> None:
    """Catches a warning about discrete coordinates, or about numbers rounded for a text file."""
    for seed in range(20):
        assert repeated_rows(NATURAL[kind](np.random.default_rng(seed)), N) is None


@pytest.mark.parametrize("of", [200, 1000, 4000])
def test_resampled_draws_are_noticed(of: int) -> None:
    """With 4000 the variance of a mean is a quarter larger than that of independent draws."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        chosen = rng.integers(0, of, N)
        rows = np.column_stack([normal(seed, of)[chosen], rng.poisson(2.0, of)[chosen]])
        assert repeated_rows(rows, N) == (N, len(np.unique(chosen)))


def test_the_first_rows_speak_for_all() -> None:
    """Catches resampled draws that hardly repeat among the first ones."""
    rows = normal(1, 50_000)[np.random.default_rng(2).integers(0, 50_000, 50_000)]
    found = repeated_rows(rows[:3000], 50_000)
    assert found is not None
    assert found.looked_at == 3000
    assert repeated_rows(rows[:3000], 3000) is None  # these alone are worth nearly as many


def test_a_check_says_so_and_the_fix_silences_it() -> None:
    """Every draw comes from the density, and most such sets are rejected."""
    target = sw.Gaussian(np.zeros(3), np.eye(3))
    draws = normal(0, 400)
    rng = np.random.default_rng(1)
    with pytest.warns(sw.SteinwiseWarning, match=r"only \d+ of the 1000 draws are different"):
        result = sw.check(draws[rng.integers(0, 400, N)], target, independent=True)
    assert "resample fewer, without replacement" in result.notes[0]
    fewer = draws[rng.choice(400, 200, replace=False)]
    assert not sw.check(fewer, target, alpha=0.01).rejected
