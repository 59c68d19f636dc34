"""Where draws stand on their lines: u, by the cheapest way that is accurate enough.

In closed form where the target's conditionals are normal; by a Taylor series around the draw where
the target has one that can be trusted; else by nodes along the line, few where the density is
nearly normal. No line is left out.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtr, ndtri

from steinwise._internal.memory import chunks
from steinwise.orbits.line_density import LineDensity
from steinwise.orbits.node_recipes import follow_each
from steinwise.orbits.nodes import SearchRanges
from steinwise.orbits.series import ORDER, places_from_series
from steinwise.orbits.series_comparison import SeriesComparison
from steinwise.target import AbstractTarget

# In place of an infinite normal score: far enough for functions of it to vanish.
IN_PLACE_OF_INFINITY = 50.0
# What a series may cost, in evaluations a line: few nodes take about 16, and 4 more for the lines
# that are followed both ways. A series through a factorisation of 100 x 100 costs 30.
MOST_SERIES_COST = 20.0
LINES_AT_ONCE = 2**14  # followed in one call by nodes: their arrays stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Places:
    """Where draws stand in the target's conditionals along their lines."""

    u: Float[np.ndarray, "n c"]
    normal_scores: Float[np.ndarray, "n c"]  # the normal quantiles of u
    evaluations: float = 0.0  # of the log density, for all these lines
    breaks: int = 0  # lines along which the density ends, at an edge not declared, or jumps

    @classmethod
    def of_transforms(
        cls, u: Float[np.ndarray, "n c"], evaluations: float, breaks: int
    ) -> "Places":
        z = np.clip(ndtri(u), -IN_PLACE_OF_INFINITY, IN_PLACE_OF_INFINITY)
        return cls(u, z, evaluations, breaks)

    @classmethod
    def of_normal_scores(cls, z: Float[np.ndarray, "n c"]) -> "Places":
        return cls(ndtr(z), z)

    def part(self, rows: Int[np.ndarray, " m"], lines: slice) -> "Places":
        """Of some draws and lines."""
        return Places(self.u[rows, lines], self.normal_scores[rows, lines])

    def among(self, chosen: Bool[np.ndarray, " m"]) -> "Places":
        """As rows of more draws; those that were not chosen stand in the middle."""
        if chosen.all():
            return self
        u, z = (
            np.full((len(chosen), self.u.shape[1]), 0.5),
            np.zeros((len(chosen), self.u.shape[1])),
        )
        u[chosen], z[chosen] = self.u, self.normal_scores
        return Places(u, z)


def find_places(
    target: AbstractTarget,
    x: Float[np.ndarray, "n d"],
    directions: Float[np.ndarray, "c d"] | Int[np.ndarray, " c"],
    positions: Float[np.ndarray, "n c"],
    ranges: SearchRanges,
    memory: int,
    draw_numbers: Int[np.ndarray, " n"],
) -> Places:
    """u of the draws x along coordinates (integers) or directions (rows).

    The arguments are those of `LineDensity`.
    """
    normal = target.normal_along(x, directions)
    if normal is not None:
        to_mean, sd = normal
        return Places.of_normal_scores(-to_mean / sd)
    u, evaluations, breaks = np.full(positions.shape, np.nan), 0.0, 0
    may_be_normal = np.ones(positions.shape, bool)
    series = target.line_series(x, directions, ORDER, MOST_SERIES_COST) if len(x) else None
    if series is not None:
        found = places_from_series(series.coefficients)
        trusted, checks = SeriesComparison(series, found, positions, ranges).trusted()
        u[trusted] = found.u[trusted]
        may_be_normal = np.any(np.isnan(series.coefficients), axis=-1)  # where there was no series
        evaluations = series.evaluations + checks
    density = LineDensity(target, x, directions, positions, ranges, memory, draw_numbers)
    draw, line = np.nonzero(np.isnan(u))
    for some in chunks(len(draw), LINES_AT_ONCE):
        i, k = draw[some], line[some]
        followed = follow_each(density.single(i, k), i, k, may_be_normal[i, k])
        u[i, k] = followed.u
        evaluations, breaks = evaluations + followed.evaluations, breaks + followed.breaks
    return Places.of_transforms(u, evaluations, breaks)
