"""Summaries of chains that are too long to keep draw by draw."""

import numpy as np
import pytest

from benchmarks import simulate
from steinwise import Samples
from steinwise.draws import chain_summary
from steinwise.draws.chain_summary import summarise_chains


@pytest.fixture(scope="module")
def samples() -> Samples:
    rng = np.random.default_rng(0)
    return Samples.of(1e6 + simulate.autoregressive(rng, np.array([0.5, 0.9]), 4, 6000))


def test_short_chains_are_kept_draw_by_draw(samples: Samples) -> None:
    """Catches draws that change their chain or their order on the way through the slabs."""
    summary = summarise_chains(samples, lambda _start, x, _scores: x)
    assert summary.draws_per_stretch == 1
    np.testing.assert_array_equal(summary.first_draws, samples.values)
    np.testing.assert_allclose(summary.stretch_means[..., :2], samples.values, rtol=1e-12)
    rho = np.array([0.5, 0.9])
    np.testing.assert_allclose(summary.autocorrelation_times, (1 + rho) / (1 - rho), rtol=0.15)


def test_stretches_of_long_chains_keep_their_autocorrelation_times(
    samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches times that are counted in stretches, and variances that lose digits far from 0."""
    whole = summarise_chains(samples, lambda _start, x, _scores: x)
    monkeypatch.setattr(chain_summary, "MOST_ENTRIES", 4 * 6 * 1500)
    short = summarise_chains(samples, lambda _start, x, _scores: x)
    assert short.draws_per_stretch == 4
    assert short.stretch_means.shape == (4, 1500, 6)
    means = samples.values.reshape(4, 1500, 4, 2).mean(axis=2)
    np.testing.assert_allclose(short.stretch_means[..., :2], means, rtol=1e-12)
    np.testing.assert_array_equal(short.first_draws, samples.values[:, ::4])
    np.testing.assert_allclose(short.autocorrelation_times, whole.autocorrelation_times, rtol=0.1)


def test_an_enormous_draw_is_no_trouble(samples: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches squares that overflow, and with them a chain that counts as independent draws."""
    monkeypatch.setattr(chain_summary, "MOST_ENTRIES", 4 * 6 * 1500)
    values = samples.values.copy()
    values[0, 7, 0] = 1e99
    short = summarise_chains(
        Samples.of(values), lambda _start, x, _scores: np.column_stack([x, x**2])
    )
    assert np.isfinite(short.autocorrelation_times).all()
    assert short.autocorrelation_times[2] >= 1


@pytest.mark.parametrize("stretches", [6000, 1500])
def test_quantities_that_leave_out_draws_are_judged_by_the_rest(
    samples: Samples, monkeypatch: pytest.MonkeyPatch, stretches: int
) -> None:
    """Catches draws that are left out and yet count: as slow moves, or as a start far away."""
    monkeypatch.setattr(chain_summary, "MOST_ENTRIES", 4 * 6 * stretches)
    out = 1201  # of each chain, within a stretch

    def with_a_strange_start(start: int, x: np.ndarray, _: np.ndarray | None) -> np.ndarray:
        row = np.arange(start, start + len(x)) % 6000
        return np.where(row[:, None] < out, np.nan, x)

    summary = summarise_chains(samples, with_a_strange_start)
    rest = Samples.of(samples.values[:, out:])
    monkeypatch.setattr(chain_summary, "MOST_ENTRIES", 2**22)
    expected = summarise_chains(rest, lambda _start, x, _scores: x).autocorrelation_times
    np.testing.assert_allclose(summary.autocorrelation_times, expected, rtol=0.1)
    left_out = out * stretches // 6000
    means = summary.stretch_means[..., 4:]
    rest_means = means[:, left_out + 1 :].mean(axis=1)
    np.testing.assert_allclose(means[:, left_out // 2], rest_means, rtol=1e-9)
