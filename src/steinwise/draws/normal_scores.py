"""Ranks among draws, as quantiles of the standard normal distribution."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class NormalScores:
    """Normal scores of ranks among some draws, with mean 0 and variance 1 among them.

    Robust, and allowed by the theory, which lets the other coordinates be changed in any way.
    Between those draws they are interpolated, beyond them they stay as they are.
    """

    places: Float[np.ndarray, "q m"]
    scores: Float[np.ndarray, "q m"]

    @classmethod
    def among(cls, x: Float[np.ndarray, "m q"]) -> "NormalScores":
        from scipy.special import ndtri
        from scipy.stats import rankdata

        z = ndtri((rankdata(x, axis=0) - 0.5) / len(x))
        z = (z - z.mean(axis=0)) / z.std(axis=0)
        return cls(np.sort(x, axis=0).T.copy(), np.sort(z, axis=0).T.copy())

    def __call__(self, x: Float[np.ndarray, "n q"]) -> Float[np.ndarray, "n q"]:
        out = np.empty_like(x)
        for j, (places, scores) in enumerate(zip(self.places, self.scores, strict=True)):
            out[:, j] = np.interp(x[:, j], places, scores)
        return out
