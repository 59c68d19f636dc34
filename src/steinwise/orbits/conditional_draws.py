"""Draws from the target's conditionals along lines: x_ij replaced by F^-1(v), a step of Gibbs.

If v is uniform and independent of the draw, the target is invariant: a draw of the target stays
one, and a draw of anything else comes closer to it.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from steinwise._internal.memory import chunks
from steinwise.orbits.line_density import LineDensity
from steinwise.orbits.nodes import search_ranges_of
from steinwise.orbits.places import LINES_AT_ONCE
from steinwise.orbits.quadrature import follow_by_nodes
from steinwise.orbits.quantiles import quantiles_at
from steinwise.orbits.series import ORDER, places_from_series, steps_from_series
from steinwise.orbits.series_comparison import SeriesComparison
from steinwise.target import AbstractTarget

# How much more a series may be off than where draws are tested: its distribution function by 1e-3,
# and then few of them. That is far below the noise of draws.
ALLOWANCE = 20.0


def steps_to_quantiles(
    target: AbstractTarget,
    x: Float[np.ndarray, "n d"],
    direction: Float[np.ndarray, " d"] | int,
    v: Float[np.ndarray, "n k"],
    memory: int,
    draw_numbers: Int[np.ndarray, " n"],
) -> Float[np.ndarray, "n k"]:
    """The steps from draws, along one coordinate or direction, to quantiles of its conditional.

    Parameters
    ----------
    target
        The density.
    x
        The draws that the lines go through.
    direction
        The number of a coordinate, or a direction.
    v
        The probabilities of the quantiles, on the line of each draw.
    memory
        The budget of the evaluations, in bytes.
    draw_numbers
        The numbers of the draws, to name one where the target is not finite.
    """
    d = x.shape[1]
    if isinstance(direction, int):
        lines, vector, positions = np.array([direction]), np.eye(d)[[direction]], x[:, [direction]]
    else:
        lines = vector = direction[None]
        positions = x @ vector.T / (vector**2).sum()
    normal = target.normal_along(x, lines)
    if normal is not None:
        to_mean, sd = normal
        return to_mean + sd * ndtri(v)
    ranges = search_ranges_of(positions)
    steps = np.full(v.shape, np.nan)
    series = target.line_series(x, vector, ORDER)
    if series is not None:
        found = places_from_series(series.coefficients)
        trusted, _ = SeriesComparison(series, found, positions, ranges).trusted(ALLOWANCE)
        steps = np.where(trusted, steps_from_series(series.coefficients[:, 0], v), np.nan)
    left = np.nonzero(np.isnan(steps).any(axis=1))[0]
    for some in chunks(len(left), LINES_AT_ONCE):
        i = left[some]
        some_lines = LineDensity(target, x[i], lines, positions[i], ranges, memory, draw_numbers[i])
        table = follow_by_nodes(some_lines).table
        steps[i] = quantiles_at(v[i][:, None], table)[:, 0] - positions[i]
    return steps
