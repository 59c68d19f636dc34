"""The target's conditionals along lines through the draws, as they are known in the end."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from steinwise._internal.memory import chunks

QUANTILES = 32  # midpoints (k + 1/2) / QUANTILES of (0, 1)
MIDPOINTS = (np.arange(QUANTILES) + 0.5) / QUANTILES
NORMAL_QUANTILES = ndtri(MIDPOINTS)
NODES_AT_ONCE = 2**15  # quantiles of lines, which stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Lines:
    """Conditionals of the target along lines, each seen from its draw."""

    u: Float[np.ndarray, "n c"]  # F(x_ij)
    score: Float[np.ndarray, "n c"]  # b_j(x_i)
    quantiles: Float[np.ndarray, "n c k"]  # F^-1 at MIDPOINTS
    quantile_scores: Float[np.ndarray, "n c k"]
    spread: Float[np.ndarray, "n c"]  # a robust standard deviation of the conditional
    log_density: Float[np.ndarray, "n c"]  # log p(x_ij | x_i,-j)

    @property
    def normal_scores(self) -> Float[np.ndarray, "n c"]:
        return ndtri(self.u)

    def stein_kernel(
        self, at: Float[np.ndarray, "n c"], weights: Float[np.ndarray, "k w"], dtype: np.dtype
    ) -> Float[np.ndarray, "w cn"]:
        """Weighted sums over the quantiles of a Stein kernel between draw and quantile.

        The RBF kernel, as wide as the spread of the line, in units of which all is taken. The draws
        of a coordinate follow each other.
        """
        n, c = at.shape
        out = np.empty((weights.shape[1], c * n), dtype)

        def by_quantile(values: Float[np.ndarray, "n c #k"]) -> Float[np.ndarray, "#k m"]:
            return values.transpose(2, 1, 0).reshape(values.shape[2], -1).astype(dtype)

        for some in chunks(c, max(1, NODES_AT_ONCE // (n * QUANTILES))):
            spread = self.spread[:, some, None]
            # in 64 bit: both may be far from 0
            step = by_quantile((at[:, some, None] - self.quantiles[:, some]) / spread)
            here = by_quantile(self.score[:, some, None] * spread)
            there = by_quantile(self.quantile_scores[:, some] * spread)
            with np.errstate(over="ignore", invalid="ignore"):  # the method looks for it
                # here there + (here - there) step + 1 - step^2
                kernel = (here - step) * (there + step) + 1
                kernel *= np.exp(-0.5 * step**2)
                out[:, some.start * n : some.stop * n] = weights.T.astype(dtype) @ kernel
        return out


@dataclass(frozen=True, eq=False)
class NormalLines:
    """Conditionals that are normal: in units of the spread they are all the same."""

    z: Float[np.ndarray, "n c"]  # where the draw stands
    mean: Float[np.ndarray, "n c"]
    sd: Float[np.ndarray, " c"]

    @cached_property
    def u(self) -> Float[np.ndarray, "n c"]:
        return ndtr(self.z)

    @property
    def score(self) -> Float[np.ndarray, "n c"]:
        return -self.z / self.sd

    @property
    def quantiles(self) -> Float[np.ndarray, "n c k"]:
        return self.mean[..., None] + self.sd[:, None] * NORMAL_QUANTILES

    @property
    def quantile_scores(self) -> Float[np.ndarray, "n c k"]:
        return np.broadcast_to(-NORMAL_QUANTILES / self.sd[:, None], (*self.z.shape, QUANTILES))

    @property
    def spread(self) -> Float[np.ndarray, "n c"]:
        return np.broadcast_to(self.sd, self.z.shape)

    @property
    def log_density(self) -> Float[np.ndarray, "n c"]:
        return -(self.z**2) / 2 - np.log(self.sd * np.sqrt(2 * np.pi))

    @property
    def normal_scores(self) -> Float[np.ndarray, "n c"]:
        return self.z

    def stein_kernel(
        self,
        at: Float[np.ndarray, "n c"],  # noqa: ARG002
        weights: Float[np.ndarray, "k w"],
        dtype: np.dtype,
    ) -> Float[np.ndarray, "w cn"]:
        """As of other lines.

        Between z and a quantile q it is (1 - 2 q^2 + 5 q z - 2 z^2) exp(-q^2 / 2 + q z - z^2 / 2).
        """
        q, z = NORMAL_QUANTILES[:, None], self.z.T.ravel().astype(dtype)
        exponents = np.concatenate([-(q**2) / 2, q, np.full_like(q, -0.5)], axis=1).astype(dtype)
        factors = np.concatenate([(1 - 2 * q**2) * weights, 5 * q * weights, -2 * weights], axis=1)
        factors = factors.T.astype(dtype)
        out = np.empty((weights.shape[1], len(z)), dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # the method looks for it
            powers = np.stack([np.ones_like(z), z, z**2])
            for part in chunks(len(z), NODES_AT_ONCE // QUANTILES):
                kernel = exponents @ powers[:, part]
                np.exp(kernel, out=kernel)
                by_power = (factors @ kernel).reshape(3, -1, kernel.shape[1])
                by_power *= powers[:, None, part]
                np.sum(by_power, axis=0, out=out[:, part])
        return out
