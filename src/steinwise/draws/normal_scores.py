"""Ranks among draws, as quantiles of the standard normal distribution."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Normal scores of ranks among given draws, with mean 0 and variance 1 among these.

    A robust change of scale, which the theory allows: the other coordinates may be transformed in
    any way. Scores are interpolated between the draws and constant beyond them.

    >>> scores = NormalScores.among(np.array([[1.0], [2.0], [30.0]]))
    >>> scores(np.array([[1.0], [2.0], [100.0]])).round(2).tolist()
    [[-1.22], [0.0], [1.22]]
    """

    values: Float[np.ndarray, "q m"]  # each coordinate's draws, sorted
    scores: Float[np.ndarray, "q m"]  # their scores

    @classmethod
    def among(cls, x: Float[np.ndarray, "m q"]) -> "NormalScores":
        """Scores of the ranks among the rows of x."""
        from scipy.special import ndtri
        from scipy.stats import rankdata

        z = ndtri((rankdata(x, axis=0) - 0.5) / len(x))
        z = (z - z.mean(axis=0)) / z.std(axis=0)
        return cls(np.sort(x, axis=0).T.copy(), np.sort(z, axis=0).T.copy())

    def __call__(self, x: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n q"]:
        out = np.empty_like(x)
        for j, (values, scores) in enumerate(zip(self.values, self.scores, strict=True)):
            out[:, j] = np.interp(x[:, j], values, scores)
        return out
