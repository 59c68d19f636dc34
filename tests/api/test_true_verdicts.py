"""What a check prints is true of each coordinate by itself, in the situations that people meet.

Targets are normal, so the mean and sd that draws should have are known, and so are those of the
distribution that the draws come from.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import steinwise as sw


@dataclass(frozen=True)
class Situation:
    """Draws, the covariance of their target (of mean 0), and the moments of their distribution."""

    draws: np.ndarray
    covariance: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    answer: str  # to the question whether a mean or sd is off by more than 0.1


def equal(d: int, correlation: float) -> np.ndarray:
    return np.full((d, d), correlation) + (1 - correlation) * np.eye(d)


def normal(covariance: np.ndarray, *shape: int) -> np.ndarray:
    noise = np.random.default_rng(7).normal(size=(*shape, len(covariance)))
    return noise @ np.linalg.cholesky(covariance).T


def mean_field(n: int, covariance: np.ndarray) -> Situation:
    sd = 1 / np.sqrt(np.diag(np.linalg.inv(covariance)))
    draws = sd * normal(np.eye(len(sd)), n)
    return Situation(draws, covariance, np.zeros(len(sd)), sd, "beyond")


def moved(n: int, covariance: np.ndarray, shift: Any, scale: Any, answer: str) -> Situation:
    d = len(covariance)
    mean, factor = np.broadcast_to(shift, d), np.broadcast_to(scale, d)
    sd = factor * np.sqrt(np.diag(covariance))
    return Situation(mean + factor * normal(covariance, n), covariance, mean, sd, answer)


def one_of_thirty() -> Situation:
    scale = np.ones(30)
    scale[7] = 1.3
    return moved(1500, np.eye(30), 0.0, scale, "beyond")


def heavy_tails() -> Situation:
    draws = np.random.default_rng(7).standard_t(6, size=(4000, 3)) / np.sqrt(1.5)
    return Situation(draws, np.eye(3), np.zeros(3), np.ones(3), "within")


def wrong_correlation() -> Situation:
    draws = normal(equal(3, 0.3), 4000)
    return Situation(draws, equal(3, 0.8), np.zeros(3), np.ones(3), "within")


def hierarchical_chains() -> Situation:
    """theta_i = mu + 0.5 e_i, in chains whose e_i are half as large as they should be."""
    to_theta = np.column_stack([np.ones(7), 0.5 * np.eye(7)[:, 1:]])
    rng = np.random.default_rng(7)
    noise = np.sqrt(1 - 0.3**2) * rng.normal(size=(4, 500, 7))
    e = np.empty_like(noise)
    e[:, 0] = rng.normal(size=(4, 7))
    for t in range(1, 500):
        e[:, t] = 0.3 * e[:, t - 1] + noise[:, t]
    wrong = e @ (to_theta * [1.0, *[0.5] * 6]).T
    sd = np.sqrt([1.0, *[1.0 + 0.25**2] * 6])
    return Situation(wrong, to_theta @ to_theta.T, np.zeros(7), sd, "")


SITUATIONS = {
    "mean-field, 1000 draws": lambda: mean_field(1000, equal(2, 0.7)),
    "mean-field, 4000 draws": lambda: mean_field(4000, equal(2, 0.7)),
    "six correlated slopes": lambda: mean_field(1000, equal(6, 0.9)),
    "shifted": lambda: moved(1000, equal(3, 0.5), 0.4, 1.0, "beyond"),
    "too wide": lambda: moved(2000, equal(3, 0.5), 0.0, 1.2, "beyond"),
    "heavy tails": heavy_tails,
    "wrong correlation": wrong_correlation,
    "one of thirty": one_of_thirty,
    "hierarchical": hierarchical_chains,
    "tiny errors": lambda: moved(100_000, np.eye(3), [0.02, 0, 0], [1, 1.03, 1], "within"),
}


@pytest.mark.parametrize("name", SITUATIONS)
def test_verdicts_are_true_of_coordinates_by_themselves(name: str) -> None:
    """Catches "too wide" of a coordinate whose sd is too small, or a shift where there is none."""
    case = SITUATIONS[name]()
    expected = np.sqrt(np.diag(case.covariance))
    target = sw.Gaussian(np.zeros(len(expected)), case.covariance)
    result = sw.check(case.draws, target, tolerance=0.1, n_bootstrap=199)
    assert result.rejected
    true_shift, true_ratio = case.mean / expected, case.sd / expected
    for c, shift, ratio in zip(result.findings.coordinates, true_shift, true_ratio, strict=False):
        assert c.marginal is not None
        assert abs(c.marginal.mean_error - shift) < 4.5 * c.marginal.mean_error_se
        assert abs(c.marginal.sd_ratio - ratio) < 4.5 * c.marginal.sd_ratio_se
        by_itself = c.verdict.split("given the others")[0]
        assert "too wide" not in by_itself or ratio > 1
        assert "too narrow" not in by_itself or ratio < 1
        assert "shifted by +" not in by_itself or shift > 0
        assert "shifted by -" not in by_itself or shift < 0
        clear = abs(ratio - 1) > 6 * c.marginal.sd_ratio_se
        if clear and c in result.flagged:
            assert ("too wide" if ratio > 1 else "too narrow") in by_itself
    assert result.tolerance is not None
    if case.answer:
        assert result.tolerance.answer == case.answer


def test_directions_are_told_by_themselves_too() -> None:
    """The sum of two coordinates that should be negatively correlated and are not: too wide."""
    draws = normal(np.eye(2), 2000)
    found = sw.check(draws, sw.Gaussian([0, 0], equal(2, -0.6)), n_bootstrap=199)
    for c in found.findings.coordinates[2:]:
        assert c.marginal is not None
        assert ("too wide" if c.marginal.sd_ratio > 1 else "too narrow") in c.verdict
