r"""Affine maps between modes, and the orbit of a draw under them.

With a centre m_k and a factor L_k for every mode, c(x) the mode whose normal density N(m_k, L_k
L_k') is highest at x, and w = L_c^-1 (x - m_c), the points y_k = m_k + L_k w with c(y_k) = k are
the orbit of x: the same for each of its points, so that orbits cut the space into disjoint sets.
Where x comes from p, it is the point of mode k with probability

.. math:: P_k = p(y_k) |L_k| / \sum_j p(y_j) |L_j|

given its orbit, whatever the centres and factors are. Only power depends on them.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from steinwise._internal.memory import chunks
from steinwise._internal.threads import one_blas_thread
from steinwise.errors import TargetError
from steinwise.target import AbstractTarget


class ModeOrbits(NamedTuple):
    """The orbits of some draws."""

    own: Int[np.ndarray, " n"]  # the mode of each draw
    place: Float[np.ndarray, "n d"]  # w, the same for all points of an orbit
    weights: Float[np.ndarray, "n k"]  # log p(y_k) |L_k|, -inf where y_k is not on the orbit

    @property
    def log_sum(self) -> Float[np.ndarray, " n"]:
        """The log of the sum of the weights of all points of an orbit."""
        top = self.weights.max(axis=1, keepdims=True)
        return (top + np.log(np.exp(self.weights - top).sum(axis=1, keepdims=True)))[:, 0]

    @property
    def probabilities(self) -> Float[np.ndarray, "n k"]:
        """P_k of each draw's orbit."""
        return np.exp(self.weights - self.log_sum[:, None])


@dataclass(frozen=True, eq=False)
class ModeMaps:
    """Centres and factors of at least two modes."""

    centres: Float[np.ndarray, "k d"]
    factors: Float[np.ndarray, "k d d"]
    inverses: Float[np.ndarray, "k d d"]
    log_volumes: Float[np.ndarray, " k"]

    @classmethod
    def of(
        cls, centres: Float[np.ndarray, "k d"], factors: Float[np.ndarray, "k d d"]
    ) -> "ModeMaps":
        volumes = np.linalg.slogdet(factors)[1]
        return cls(centres, factors, np.linalg.inv(factors), volumes)

    def nearest(
        self, x: Float[np.ndarray, "n d"]
    ) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, "n d"]]:
        """c(x), and L_c^-1 (x - m_c)."""
        best, height = np.zeros(len(x), int), np.full(len(x), -np.inf)
        place = np.zeros(x.shape)
        for k, volume in enumerate(self.log_volumes):
            w = (x - self.centres[k]) @ self.inverses[k].T
            own = -0.5 * np.einsum("nd,nd->n", w, w) - volume
            higher = own > height
            best[higher], height[higher], place[higher] = k, own[higher], w[higher]
        return best, place

    @one_blas_thread
    def orbits(
        self, target: AbstractTarget, x: Float[np.ndarray, "n d"], memory: int
    ) -> ModeOrbits:
        """The orbits of draws, by an evaluation of log p for each of their points."""
        n, d = x.shape
        own, place = self.nearest(x)
        weights = np.full((n, len(self.centres)), -np.inf)
        for rows in chunks(n, max(1, memory // (8 * 8 * d))):
            for k in range(len(self.centres)):
                points = self.centres[k] + place[rows] @ self.factors[k].T
                here = own[rows] == k
                points[here] = x[rows][here]
                on_orbit = here | (self.nearest(points)[0] == k)
                weights[rows, k] = self._weights(target, points, on_orbit, k, memory)
        return ModeOrbits(own, place, weights)

    def _weights(
        self,
        target: AbstractTarget,
        points: Float[np.ndarray, "m d"],
        on_orbit: Bool[np.ndarray, " m"],
        k: int,
        memory: int,
    ) -> Float[np.ndarray, " m"]:
        out = np.full(len(points), -np.inf)
        if on_orbit.any():
            logs = target.log_values(points[on_orbit], memory=memory)
            if logs is None:
                raise TargetError("maps between modes need a log density.")
            out[on_orbit] = np.where(np.isfinite(logs), logs, -np.inf) + self.log_volumes[k]
        return out
