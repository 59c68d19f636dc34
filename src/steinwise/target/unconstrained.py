r"""Bounded coordinates taken to the real line, and a density with them.

A coordinate above `low` by y = log(x - low), one below `high` by y = -log(high - x), one between
both by y = log(x - low) - log(high - x). All increase, so that u, the place of a draw on its line,
is the same on either scale; and with the derivative of x in y as a factor, a density that jumps at
its edge, or has an integrable pole there, is smooth and falls off like an exponential.

A draw that was rounded to its edge is placed where the numbers next to the edge are: its u is then
that of the largest value that is rounded so, and it is no outlier.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit

from steinwise.target.support import AbstractSupport, Interval

if TYPE_CHECKING:
    from jaxtyping import Array

# How near to its edge a draw is placed at most, relative to the edge: where the numbers of 64 bit
# still tell distances from the edge apart to a few per cent; and, for draws in 32 bit, half of the
# distance to the next number. At 0 numbers of any size are next to each other, down to the least.
NEAREST_64_BIT, NEAREST_32_BIT = 16 * np.finfo(np.float64).eps, np.finfo(np.float32).eps / 4
LEAST_64_BIT, LEAST_32_BIT = 1e-300, 1e-37
LARGEST_LOG = 690.0  # of a distance from an edge: below the largest float


@dataclass(frozen=True, eq=False)
class Unconstrained:
    """Where coordinates are bounded, and how near to their edges draws are placed."""

    low: Float[np.ndarray, "..."]  # -inf where there is no edge, as for discrete coordinates
    high: Float[np.ndarray, "..."]
    nearest: Float[np.ndarray, "..."]  # distances from the low and from the high edge
    discrete: Bool[np.ndarray, "..."]  # coordinates along which there is no derivative

    @classmethod
    def of(
        cls, supports: Sequence[AbstractSupport], draws: Float[np.ndarray, "m d"] | None = None
    ) -> "Unconstrained":
        """For these supports; draws tell whether they were made in 32 bit."""
        intervals = [s if isinstance(s, Interval) else Interval(-np.inf, np.inf) for s in supports]
        low, high = (np.array([getattr(s, end) for s in intervals]) for end in ("low", "high"))
        single = np.zeros(len(low), bool)
        if draws is not None:
            with np.errstate(over="ignore"):
                single = (draws == draws.astype(np.float32)).all(axis=0)
        relative = np.where(single, NEAREST_32_BIT, NEAREST_64_BIT)
        least = np.where(single, LEAST_32_BIT, LEAST_64_BIT)
        edges = np.where(np.isfinite([low, high]), np.abs([low, high]), 0.0)
        discrete = np.array([support.kind == "discrete" for support in supports])
        return cls(low, high, np.maximum(relative * edges, least), discrete)

    @property
    def _exactly(self) -> "Unconstrained":
        """Half as near to the edges: nodes of a line can go beyond a draw that was rounded."""
        ends = zip(self.low, self.high, strict=True)
        exact = Unconstrained.of([Interval(*pair) for pair in ends])
        return replace(exact, nearest=exact.nearest / 2)

    @property
    def changes_nothing(self) -> bool:
        return not (np.isfinite(self.low) | np.isfinite(self.high) | self.discrete).any()

    @property
    def limits(self) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
        """The least and the largest y at which x still differs from its edges."""
        exact = self._exactly
        above, below = np.isfinite(self.low), np.isfinite(self.high)
        least = np.where(above, exact.to_line(self.low), np.where(below, -LARGEST_LOG, -np.inf))
        most = np.where(below, exact.to_line(self.high), np.where(above, LARGEST_LOG, np.inf))
        return least, most

    def to_line(self, x: Float[np.ndarray, "*n d"]) -> Float[np.ndarray, "*n d"]:
        above, below = np.isfinite(self.low), np.isfinite(self.high)
        from_low = np.maximum(x - np.where(above, self.low, 0.0), self.nearest[0])
        from_high = np.maximum(np.where(below, self.high, 0.0) - x, self.nearest[1])
        logs = np.where(above, np.log(from_low), 0.0) - np.where(below, np.log(from_high), 0.0)
        return np.where(above | below, logs, x)

    def along(self, coordinates: Int[np.ndarray, "*lines"]) -> "Unconstrained":
        """For points on lines (..., line, point) along these coordinates."""
        low, high = self.low[coordinates][..., None], self.high[coordinates][..., None]
        nearest = self.nearest[:, coordinates][..., None]
        return Unconstrained(low, high, nearest, self.discrete[coordinates][..., None])

    def scores_on_line(
        self, x: Float[np.ndarray, "*n d"], scores: Float[np.ndarray, "*n d"]
    ) -> Float[np.ndarray, "*n d"]:
        """The scores of the density of y, from those of the density of x."""
        return self.slopes(self.to_line(x), scores)

    def from_line(self, y: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """x of y."""
        return y if self.changes_nothing else self._parts(y)[0]

    def log_jacobian(self, y: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """log dx/dy of every coordinate."""
        return self._parts(y)[1]

    def slopes(
        self, y: Float[np.ndarray, "..."], scores: Float[np.ndarray, "..."]
    ) -> Float[np.ndarray, "..."]:
        """The derivative in y of log p(x) + log dx/dy, from the derivative of log p in x."""
        _, log_jacobian, bend = self._parts(y)
        return scores * np.exp(log_jacobian) + bend

    def _parts(self, y: Float[np.ndarray, "..."]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, log dx/dy, and its derivative in y."""
        above, below = np.isfinite(self.low), np.isfinite(self.high)
        both, one = above & below, above ^ below
        low, high = np.where(above, self.low, 0.0), np.where(below, self.high, 0.0)
        width = np.where(both, high - low, 1.0)
        toward = np.where(above, y, -y)  # grows with the distance from a single edge
        with np.errstate(over="ignore"):
            distance = np.exp(np.where(one, toward, 0.0))
        one_sided = np.where(above, low + distance, high - distance)
        x = np.where(both, low + width * expit(y), np.where(one, one_sided, y))
        of_both = np.log(width) - np.abs(y) - 2 * np.log1p(np.exp(-np.abs(y)))
        log_jacobian = np.where(both, of_both, np.where(one, toward, 0.0))
        bend = np.where(both, 1 - 2 * expit(y), np.where(one, np.where(above, 1.0, -1.0), 0.0))
        return x, log_jacobian, bend

    def composed(self, log_density: "Callable[[Array], Array]") -> "Callable[[Array], Array]":
        """A JAX log density on the real line."""
        import jax
        import jax.numpy as jnp

        edges = list(zip(self.low, self.high, self.discrete, strict=True))
        runs, start = [], 0
        for ends, same in groupby(edges):
            stop = start + len(list(same))
            runs.append((slice(start, stop), ends))
            start = stop

        def on_line(y: "Array") -> "Array":
            pieces, log_jacobian = [], 0.0
            for run, (low, high, discrete) in runs:
                part = y[run]
                if np.isfinite(low) and np.isfinite(high):
                    pieces.append(low + (high - low) * jax.nn.sigmoid(part))
                    log_jacobian -= jnp.sum(jax.nn.softplus(part) + jax.nn.softplus(-part))
                elif np.isfinite(low):
                    pieces.append(low + jnp.exp(part))
                    log_jacobian += jnp.sum(part)
                elif np.isfinite(high):
                    pieces.append(high - jnp.exp(-part))
                    log_jacobian -= jnp.sum(part)
                else:
                    pieces.append(jax.lax.stop_gradient(part) if discrete else part)
            return log_density(jnp.concatenate(pieces)) + log_jacobian

        return on_line
