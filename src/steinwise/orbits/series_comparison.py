"""Which lines their series are good enough for.

A series must change little with its last terms, and must agree with the density itself. Neither is
enough alone: terms may vanish while there is more to come, and a density that agrees at a few
places may differ between them.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from steinwise.orbits.nodes import SearchRanges
from steinwise.orbits.series import ORDER, REACH, SeriesPlaces
from steinwise.target.base import LineSeries

# What the last terms of a series may change of u. Half as much as an error of 1e-4 in u, which is
# far below what 10^5 draws can show.
LARGEST_CHANGE = 5e-5
# Where a series is compared with the density itself, in standard deviations from the mode; and
# guides, the numbers of points in the range of the draws: there may be another mode that the series
# knows nothing of. They may differ by LARGEST_ERROR of the mass near such a place.
CHECKED_AT = np.array([-4.0, -2.0, 2.0, 4.0])
GUIDES = np.array([1, 6])
LARGEST_ERROR = 1e-4
# The lines of one draw in CHECKED_STEP are compared with the density. If one of them fails that its
# own terms let pass, so are those of its block of draws; if that happens in a second block, those
# of all: a fault on one line in a hundred is in many blocks, but seldom on their compared draws.
# Blocks are small: with 256 draws, one failing line in ten thousand costs a regression with 30
# coefficients as much again as all its comparisons.
CHECKED_STEP, BLOCK = 16, 64
# Where the last terms are too large on most lines of a draw, they may be small on the others by
# chance, and the density may agree at a few places by chance. Where nodes follow three quarters of
# a draw's lines, they follow all; where they follow a quarter, all others are compared. Either adds
# at most a third to what these nodes cost. On a hidden Markov model, whose series keep a tenth of
# the lines, u was off by 0.03 to 0.05 on five lines in 2000, and by 0.7 on another.
ALL_BY_NODES, ALL_COMPARED = 0.75, 0.25
# A draw further out is followed by nodes: single draws far out have p-values of their own, which
# must not rest on the far end of a series.
LEAST_TAIL = 1e-5


class SeriesComparison(NamedTuple):
    """The series of lines, where they say that the draws stand, and where else to look."""

    series: LineSeries
    found: SeriesPlaces
    positions: Float[np.ndarray, "n c"]
    ranges: SearchRanges

    def trusted(self, allowance: float = 1.0) -> tuple[Bool[np.ndarray, "n c"], int]:
        """Which lines their series are good enough for, and the evaluations to find out.

        Series may be off by `allowance` times as much as a test of the draws can afford.
        """
        n, c = self.positions.shape
        tail = np.minimum(self.found.u, 1 - self.found.u)
        trusted = (self.found.change < allowance * LARGEST_CHANGE) & (tail > LEAST_TAIL / allowance)
        rows = np.arange(n)
        by_nodes = np.mean(~trusted, axis=1)
        trusted[by_nodes >= ALL_BY_NODES] = False
        suspicious = trusted.any(axis=1) & (by_nodes >= ALL_COMPARED)
        checked, others = rows[::CHECKED_STEP], rows[rows % CHECKED_STEP > 0]
        fails = self.disagrees(checked, allowance)
        doubtful = np.unique(checked[(trusted[checked] & fails).any(axis=1)] // BLOCK)
        if len(doubtful) < 2:
            others = others[suspicious[others] | np.isin(others // BLOCK, doubtful)]
        trusted[checked] &= ~fails
        if len(others):
            trusted[others] &= ~self.disagrees(others, allowance)
        evaluations = (len(checked) + len(others)) * c * (len(CHECKED_AT) + len(GUIDES))
        return trusted, evaluations

    def disagrees(
        self, rows: Int[np.ndarray, " m"], allowance: float = 1.0
    ) -> Bool[np.ndarray, "m c"]:
        """Whether series and density differ by too much mass near one of the places."""
        mode, sd, log_density = (
            array[rows, :, None]
            for array in (self.found.mode, self.found.sd, self.found.log_density)
        )
        coefficients = self.series.coefficients[rows]
        guides = self.ranges.points[:, GUIDES] - self.positions[rows, :, None]
        steps = np.concatenate([mode + sd * CHECKED_AT, guides], axis=2)
        with np.errstate(all="ignore"):  # a series that has no place has no steps either
            exact = self.series.values(rows, np.where(np.isfinite(steps), steps, 0))
            exact = exact - coefficients[:, :, :1]
            by_series = np.zeros_like(steps)
            for k in range(ORDER, 0, -1):
                by_series = (by_series + coefficients[:, :, k, None]) * steps
            near = np.abs(steps - mode) < REACH * sd
            density = np.where(near, np.exp(by_series), 0.0)
            width = np.where(near, sd, self.ranges.sd[:, None])
            error = np.abs(density - np.exp(exact)) * np.exp(log_density) * width
        return np.asarray(~(error < allowance * LARGEST_ERROR).all(axis=2))
