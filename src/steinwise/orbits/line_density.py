"""The log density along lines through draws, and its slopes, wherever they are asked for."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from steinwise.errors import TargetError
from steinwise.orbits.nodes import SearchRanges
from steinwise.target import AbstractTarget
from steinwise.target.base import NOT_FINITE, Coordinates, Directions, LineValues

# The step of the difference quotient for the curvature, in sds of the draws, for targets in 64 and
# in 32 bit: a little above the square root of their rounding error. The curvature only sets the
# scale of the first nodes, so a digit or two are enough.
STEP_64_BIT, STEP_32_BIT = 1e-6, 1e-3
# The step of the difference quotient for slopes, where a density has values alone, in sds of the
# draws and of the distance from the draw: slopes then have an error of 1e-6 of the curvature, and
# of 1e-10 of log p by rounding. Of 1e-8, 1e-7 and 1e-6 all keep the errors of u that exact slopes
# have.
SLOPE_STEP = 1e-6
# The largest rounding error of log p that is tolerated. A log density with an enormous constant has
# no digits left for its shape (at 1e17 it is a staircase with steps of 16), and correct draws would
# be rejected. Its slopes have no such constant, so they are integrated instead.
COARSEST_VALUES = 1e-3


@dataclass(frozen=True, eq=False)
class LineDensity:
    """A target along lines through draws.

    Parameters
    ----------
    target
        The density; along a line it need not be finite, except at the draw.
    x
        The draws that the lines go through.
    directions
        Numbers of coordinates, or one direction per row; the same for all draws, or each draw's
        own.
    positions
        Where each draw is on its lines: x_ij for coordinates.
    ranges
        The range of the draws along each line.
    memory
        The budget of the evaluations, in bytes.
    draw_numbers
        The numbers of the draws, to name one where the target is not finite.
    """

    target: AbstractTarget
    x: Float[np.ndarray, "n d"]
    directions: Directions | Coordinates
    positions: Float[np.ndarray, "n c"]
    ranges: SearchRanges
    memory: int
    draw_numbers: Int[np.ndarray, " n"]

    def single(self, draw: Int[np.ndarray, " m"], line: Int[np.ndarray, " m"]) -> "LineDensity":
        """Some of the lines, one to a row, of lines that are the same for all draws."""
        return replace(
            self,
            x=self.x[draw],
            directions=self.directions[line][:, None],
            positions=self.positions[draw, line][:, None],
            ranges=SearchRanges(self.ranges.sd[line][:, None], self.ranges.points[line][:, None]),
            draw_numbers=self.draw_numbers[draw],
        )

    def rows(self, chosen: Int[np.ndarray, " m"] | Bool[np.ndarray, " n"]) -> "LineDensity":
        """Some of the rows, where each has a line of its own."""
        return replace(
            self,
            x=self.x[chosen],
            directions=self.directions[chosen],
            positions=self.positions[chosen],
            ranges=SearchRanges(self.ranges.sd[chosen], self.ranges.points[chosen]),
            draw_numbers=self.draw_numbers[chosen],
        )

    @property
    def along_coordinates(self) -> bool:
        return np.issubdtype(self.directions.dtype, np.integer)

    @property
    def evaluations_per_point(self) -> int:
        """Two where there are no slopes, which are then differences of values."""
        return 1 if self.target.has_scores(self.x.shape[1]) else 2

    @property
    def sd(self) -> Float[np.ndarray, "n c"]:
        """Of the draws along each line."""
        return np.broadcast_to(self.ranges.sd, self.positions.shape)

    @property
    def limits(self) -> tuple[Float[np.ndarray, "n c"], Float[np.ndarray, "n c"]] | None:
        """Between which the density can be evaluated, where that is known."""
        limits = self.target.line_limits() if self.along_coordinates else None
        if limits is None:
            return None
        least, most = (
            np.broadcast_to(end[self.directions], self.positions.shape) for end in limits
        )
        return least, most

    def values(self, where: Float[np.ndarray, "n c k"]) -> Float[np.ndarray, "n c k"]:
        """log p, up to a constant per line, of a target that has one."""
        values = self._evaluate(where)[0]
        assert values is not None
        return values

    def values_and_slopes(
        self, where: Float[np.ndarray, "n c k"]
    ) -> tuple[Float[np.ndarray, "n c k"] | None, Float[np.ndarray, "n c k"]]:
        """log p, None if only scores are known, and its slope; neither need be finite."""
        values, slopes = self._evaluate(where)
        if slopes is not None:
            return values, slopes
        assert values is not None
        step = SLOPE_STEP * (self.sd[..., None] + abs(where - self.positions[..., None]))
        step = np.maximum(step, 4 * np.spacing(abs(where)))
        after, before = where + step, where - step
        slopes = slopes_between(values, self.values(after), after - where)
        at_edge = np.isfinite(values) & ~np.isfinite(slopes)
        if at_edge.any():  # the density ends within the step: look back instead
            backward = slopes_between(values, self.values(before), before - where)
            slopes = np.where(at_edge, backward, slopes)
        return values, slopes

    def at_draws(
        self,
    ) -> tuple[Float[np.ndarray, "n c"] | None, Float[np.ndarray, "n c"], Float[np.ndarray, "n c"]]:
        """log p at the draws, its slope and its curvature, which takes two points."""
        exact = self._dtype == np.float64 and self.evaluations_per_point == 1
        step = (STEP_64_BIT if exact else STEP_32_BIT) * self.sd
        where = np.stack([self.positions, self.positions + step], axis=-1)
        values, slopes = self.values_and_slopes(where)
        with np.errstate(invalid="ignore"):
            curvature = (slopes[..., 1] - slopes[..., 0]) / step
        return None if values is None else values[..., 0], slopes[..., 0], curvature

    def coarse(self, values: Float[np.ndarray, "n c"] | None) -> bool:
        """Whether log p at the draws is so large that rounding leaves nothing of its shape."""
        if values is None:
            return False
        return bool(self.rounding(values).min() > COARSEST_VALUES)

    def rounding(self, values: Float[np.ndarray, "*any"]) -> Float[np.ndarray, "*any"]:
        """The rounding errors of log p."""
        return np.finfo(self._dtype).eps * np.abs(values)

    def require_finite(
        self, values: Float[np.ndarray, "n c"] | None, slopes: Float[np.ndarray, "n c"]
    ) -> None:
        """Raise where a draw itself has no density or no score."""
        for what, evaluated in (("log density", values), ("score", slopes)):
            if evaluated is None or np.isfinite(evaluated).all():
                continue
            i, c = np.argwhere(~np.isfinite(evaluated))[0]
            x = self.target.on_own_scale(self.x)[i]
            raise TargetError(
                f"the {what} is {evaluated[i, c]} at draw {self.draw_numbers[i]}, where "
                f"x = {x.tolist()}. Draws where the target has no density cannot be checked. "
                f"{NOT_FINITE}"
            )

    @property
    def _dtype(self) -> np.dtype:
        return np.dtype(self.target.prepare(self.x.shape[1]))

    def _evaluate(self, where: Float[np.ndarray, "n c k"]) -> LineValues:
        if self.along_coordinates:
            return self.target.line_values(self.x, self.directions, where, memory=self.memory)
        steps = where - self.positions[..., None]
        return self.target.direction_values(self.x, self.directions, steps, memory=self.memory)


def slopes_between(
    values: Float[np.ndarray, "n c k"],
    after: Float[np.ndarray, "n c k"],
    step: Float[np.ndarray, "n c k"],
) -> Float[np.ndarray, "n c k"]:
    """Slopes by a second value a small step away, for a density that has values alone."""
    with np.errstate(invalid="ignore"):
        return (after - values) / step
