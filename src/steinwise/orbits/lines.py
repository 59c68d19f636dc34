"""The target's conditionals along lines through the draws, and a Stein kernel on them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from steinwise._internal.memory import chunks

# Midpoints (k + 1/2) / QUANTILES of (0, 1). A power of two, so that histograms of 1, 2, ..., 32
# bins share them. Their number enters every sum over a line: more resolve finer shapes of the
# conditional, at a cost that grows with it.
QUANTILES = 32
MIDPOINTS = (np.arange(QUANTILES) + 0.5) / QUANTILES
NORMAL_QUANTILES = ndtri(MIDPOINTS)
# Entries of one array in the loops below, 256 kB in float64: a few such arrays fit into a
# processor's second-level cache. Changes the time only.
ENTRIES_AT_ONCE = 2**15


@dataclass(frozen=True, eq=False)
class Lines:
    """Conditionals of the target along lines, one line per draw and coordinate (or direction)."""

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
        self,
        positions: Float[np.ndarray, "n c"],
        weights: Float[np.ndarray, "k w"],
        dtype: np.dtype,
    ) -> Float[np.ndarray, "w cn"]:
        """Weighted sums over the quantiles of a Stein kernel between draw and quantile.

        The kernel is RBF with the spread of the line as its bandwidth; positions and scores are
        measured in units of that spread. The result is ordered by coordinate, then by draw.
        """
        n, c = positions.shape
        out = np.empty((weights.shape[1], c * n), dtype)

        def by_quantile(values: Float[np.ndarray, "n c #k"]) -> Float[np.ndarray, "#k m"]:
            return values.transpose(2, 1, 0).reshape(values.shape[2], -1).astype(dtype)

        for columns in chunks(c, max(1, ENTRIES_AT_ONCE // (n * QUANTILES))):
            spread = self.spread[:, columns, None]
            # subtracted in 64 bit: both may be far from 0
            step = by_quantile((positions[:, columns, None] - self.quantiles[:, columns]) / spread)
            draw_score = by_quantile(self.score[:, columns, None] * spread)
            quantile_score = by_quantile(self.quantile_scores[:, columns] * spread)
            with np.errstate(over="ignore", invalid="ignore"):  # the method checks its statistic
                # with scores a at the draw and b at the quantile: a b + (a - b) step + 1 - step^2
                kernel = (draw_score - step) * (quantile_score + step) + 1
                kernel *= np.exp(-0.5 * step**2)
                out[:, columns.start * n : columns.stop * n] = weights.T.astype(dtype) @ kernel
        return out


@dataclass(frozen=True, eq=False)
class NormalLines:
    """Conditionals that are normal: the same function on every line, in units of its spread."""

    z: Float[np.ndarray, "n c"]  # (x_ij - mean) / sd
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
        positions: Float[np.ndarray, "n c"],  # noqa: ARG002
        weights: Float[np.ndarray, "k w"],
        dtype: np.dtype,
    ) -> Float[np.ndarray, "w cn"]:
        """The same sums as `Lines.stein_kernel`, in closed form.

        Between z and a quantile q the kernel is
        (1 - 2 q^2 + 5 q z - 2 z^2) exp(-q^2 / 2 + q z - z^2 / 2).
        """
        q, z = NORMAL_QUANTILES[:, None], self.z.T.ravel().astype(dtype)
        exponents = np.concatenate([-(q**2) / 2, q, np.full_like(q, -0.5)], axis=1).astype(dtype)
        factors = np.concatenate([(1 - 2 * q**2) * weights, 5 * q * weights, -2 * weights], axis=1)
        factors = factors.T.astype(dtype)
        out = np.empty((weights.shape[1], len(z)), dtype)
        with np.errstate(over="ignore", invalid="ignore"):  # the method checks its statistic
            powers = np.stack([np.ones_like(z), z, z**2])
            for columns in chunks(len(z), ENTRIES_AT_ONCE // QUANTILES):
                kernel = exponents @ powers[:, columns]
                np.exp(kernel, out=kernel)
                by_power = (factors @ kernel).reshape(3, -1, kernel.shape[1])
                by_power *= powers[:, None, columns]
                np.sum(by_power, axis=0, out=out[:, columns])
        return out
