"""Mixtures of normal densities as host targets, whose modes and masses are known."""

import numpy as np

import steinwise as sw
from steinwise.target import AbstractTarget


class NormalMixture:
    """Weights, means (k, d) and standard deviations of the components."""

    def __init__(self, weights: object, means: object, sds: object) -> None:
        self.weights, self.means, self.sds = (np.asarray(a, float) for a in (weights, means, sds))

    def _logs(self, x: np.ndarray) -> np.ndarray:
        squares = ((x[:, None] - self.means) ** 2).sum(axis=2) / self.sds**2
        d = self.means.shape[1]
        return np.log(self.weights) - d * np.log(self.sds) - squares / 2

    def log_density(self, x: np.ndarray) -> np.ndarray:
        return np.logaddexp.reduce(self._logs(x), axis=1)

    def score(self, x: np.ndarray) -> np.ndarray:
        logs = self._logs(x)
        share = np.exp(logs - np.logaddexp.reduce(logs, axis=1)[:, None]) / self.sds**2
        return np.einsum("nk,nkd->nd", share, self.means - x[:, None])

    @property
    def target(self) -> AbstractTarget:
        return sw.Target.from_score(self.score, self.log_density)

    def draws(self, rng: np.random.Generator, n: int, weights: object | None = None) -> np.ndarray:
        """Draws, with other weights where these are given."""
        chosen = self.weights if weights is None else np.asarray(weights)
        k = rng.choice(len(self.weights), size=n, p=chosen)
        return self.means[k] + self.sds[k, None] * rng.normal(size=(n, self.means.shape[1]))


def two_apart(d: int, weights: object = (0.5, 0.5), sds: object = (1.0, 1.0)) -> NormalMixture:
    """Two normal densities 12 standard deviations apart, along the diagonal."""
    return NormalMixture(weights, [np.zeros(d), np.full(d, 12 / np.sqrt(d))], sds)
