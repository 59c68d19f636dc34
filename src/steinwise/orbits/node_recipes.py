"""Which lines few nodes are enough for; the others get as many as any line may need.

A narrow mode between two nodes is invisible to few of them. So some lines along every coordinate
are followed both ways: where the two disagree on one, no line along that coordinate is left to few
nodes. A line whose Taylor series failed is not nearly normal, and few nodes are not tried on it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from steinwise.orbits.few_nodes import follow_by_few_nodes
from steinwise.orbits.jumps import count_jumps
from steinwise.orbits.line_density import LineDensity
from steinwise.orbits.lines import Lines
from steinwise.orbits.quadrature import follow_by_nodes
from steinwise.orbits.series_comparison import CHECKED_STEP, LARGEST_ERROR

# Of the lines along a coordinate that are followed both ways, those that few nodes must be enough
# for: if they are for fewer, it costs less to take all nodes at once.
LEAST_SHARE = 0.3


class Followed(NamedTuple):
    """Where draws stand on lines, one to a row."""

    u: Float[np.ndarray, " m"]
    evaluations: float
    breaks: int  # lines along which the density ends or, of some that are searched, jumps


def follow_each(
    density: LineDensity,
    draw: Int[np.ndarray, " m"],
    line: Int[np.ndarray, " m"],
    may_be_normal: Bool[np.ndarray, " m"],
) -> Followed:
    """u on lines, one to a row, each given by the number of its draw and that of its direction."""
    compared = may_be_normal & ((draw + line) % CHECKED_STEP == 0)
    u, evaluations, breaks = np.full(len(line), np.nan), 0.0, 0
    by_few = np.zeros(len(line), bool)
    if compared.any():
        some = density.rows(compared)
        few, full = follow_by_few_nodes(some), follow_by_nodes(some)
        u[compared] = full.u[:, 0]
        evaluations, breaks = few.evaluations + full.evaluations, _breaks(full, some)
        agree = np.abs(few.u - full.u[:, 0]) < LARGEST_ERROR
        by_few = np.isin(line, _enough_for(line[compared], few.trusted, agree))
        by_few &= may_be_normal & ~compared
    if by_few.any():
        few = follow_by_few_nodes(density.rows(by_few))
        u[by_few] = np.where(few.trusted, few.u, np.nan)
        evaluations += few.evaluations
    left = np.isnan(u)
    if left.any():
        some = density.rows(left)
        full = follow_by_nodes(some)
        u[left] = full.u[:, 0]
        evaluations, breaks = evaluations + full.evaluations, breaks + _breaks(full, some)
    return Followed(u, evaluations, breaks)


def _breaks(lines: Lines, density: LineDensity) -> int:
    """Lines along which the density ends or jumps, so that its scores are no evidence."""
    return lines.ends + count_jumps(lines.table, density)


def _enough_for(
    line: Int[np.ndarray, " m"], trusted: Bool[np.ndarray, " m"], agree: Bool[np.ndarray, " m"]
) -> Int[np.ndarray, " k"]:
    """The directions along which few nodes are trusted on enough lines, and never wrongly."""
    return np.array(
        [
            k
            for k in np.unique(line)
            if trusted[line == k].mean() >= LEAST_SHARE and agree[(line == k) & trusted].all()
        ],
        dtype=int,
    )
