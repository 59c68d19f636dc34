"""Scores from minibatches: when they may be used, and the two ways in which they mislead."""

from typing import NamedTuple

import numpy as np
import pytest

import steinwise as sw

DATA, BATCH, D = 1000, 50, 2


class Posterior(NamedTuple):
    """The mean of normal data, with a standard normal prior."""

    data: np.ndarray
    rng: np.random.Generator

    @classmethod
    def of(cls, seed: int) -> "Posterior":
        rng = np.random.default_rng([17, seed])
        return cls(rng.normal(size=(DATA, D)), rng)

    @property
    def exact(self) -> sw.Gaussian:
        return sw.Gaussian(self.data.sum(axis=0) / (DATA + 1), np.eye(D) / (DATA + 1))

    def minibatches(self, n: int) -> np.ndarray:
        return self.rng.integers(DATA, size=(n, BATCH))

    def score(self, x: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return DATA / BATCH * (self.data[rows] - x[:, None]).sum(axis=1) - x

    def fresh(self, x: np.ndarray) -> np.ndarray:
        """With a new minibatch for every row."""
        return self.score(x, self.minibatches(len(x)))

    def draws(self, n: int) -> np.ndarray:
        return self.rng.multivariate_normal(self.exact.mean, self.exact.covariance, n)

    def langevin(self, n: int, thin: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """SGLD, of twice the right sd; and the scores of the minibatch that led to each draw."""
        step = 0.5 / (DATA + 1)
        x = np.tile(self.exact.mean, (4, 1))
        draws, scores = [], []
        for t in range(thin * n):
            rows = self.minibatches(len(x))
            x = x + step / 2 * self.score(x, rows) + np.sqrt(step) * self.rng.normal(size=x.shape)
            if t % thin == thin - 1:
                draws.append(x)
                scores.append(self.score(x, rows))
        return np.stack(draws, axis=1), np.stack(scores, axis=1)


def verdicts(draws: np.ndarray, target: object) -> list[str]:
    result = sw.check(draws, target, method="scores", n_bootstrap=199)
    words = [c.verdict.partition(" (")[0] for c in result.findings.coordinates[:D]]
    return [verdict.removeprefix("given the others, ") for verdict in words]


def test_minibatches_drawn_after_the_draw_tell_the_truth() -> None:
    posterior = Posterior.of(0)
    draws, _ = posterior.langevin(500)
    target = sw.Target.from_score(posterior.fresh, noisy=True)
    assert verdicts(draws, target) == verdicts(draws, posterior.exact) == ["draws are too wide"] * D
    scores = posterior.fresh(draws.reshape(-1, D)).reshape(draws.shape)
    assert verdicts(draws, sw.Target.at_draws(scores, noisy=True)) == ["draws are too wide"] * D


def test_the_minibatch_that_moved_the_chain_tells_the_opposite() -> None:
    """The trap that `Target.from_score` warns of: the draw follows the noise of its minibatch."""
    draws, scores = Posterior.of(0).langevin(500)
    found = verdicts(draws, sw.Target.at_draws(scores, noisy=True))
    assert found == ["draws are too narrow"] * D


def test_one_minibatch_for_all_draws_rejects_right_ones() -> None:
    """The other trap: it is the posterior of other data."""
    posterior = Posterior.of(1)
    draws = posterior.draws(300)
    one = np.broadcast_to(posterior.minibatches(1), (len(draws), BATCH))
    target = sw.Target.at_draws(posterior.score(draws, one), noisy=True)
    assert sw.check(draws, target, method="scores", n_bootstrap=199).rejected


@pytest.mark.parametrize("size", [0.0, 50.0])
def test_batch_lengths_come_from_the_draws(size: float) -> None:
    """Catches noise, which is independent, hiding how slowly a chain moves."""
    rng = np.random.default_rng(3)
    noise = rng.normal(size=(4, 1000, D))
    draws = noise.copy()
    for t in range(1, 1000):
        draws[:, t] = 0.9 * draws[:, t - 1] + np.sqrt(1 - 0.9**2) * noise[:, t]
    scores = -draws + size * rng.normal(size=draws.shape)
    target = sw.Target.at_draws(scores, noisy=True)
    result = sw.check(draws, target, method="scores", n_bootstrap=99)
    assert result.draws.autocorrelation_time > 10


def test_nothing_is_said_of_what_would_have_been_found() -> None:
    """Catches a promise that is computed for exact scores."""
    posterior = Posterior.of(2)
    draws = posterior.draws(300)
    known = sw.Target.at_draws(posterior.fresh(draws), noisy=True)
    noisy = sw.check(draws, known, method="scores", n_bootstrap=199)
    assert noisy.findings.detectable is None
    assert "would have found" not in str(noisy)
