"""Along which lines the density jumps, which its slopes do not show.

A log density with `argmax`, `floor` or a comparison in it, such as that of a change point in
continuous time, may be differentiable everywhere but at single points, where it jumps. Values at
nodes show that. But Stein's identity does not hold, so that scores are no evidence.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise.orbits.edges import DEPTH_OF_ENDS, HALVINGS
from steinwise.orbits.line_density import LineDensity
from steinwise.orbits.node_table import NodeTable

# Of the difference in log p between two nodes, what their slopes leave unexplained, for a jump to
# be looked for between them. A smooth density has as much on few lines, and no jump is found there.
UNEXPLAINED = 1e-3
LEAST_JUMP = 1e-6  # of log p, in the end: small ones may add up
ROUNDING_ERRORS = 1e3  # of log p, that are no jump
LINES_SEARCHED = 16  # those with the most: one jump is enough


class _Intervals(NamedTuple):
    """Intervals of lines, by their two ends."""

    where: Float[np.ndarray, "*intervals 2"]
    values: Float[np.ndarray, "*intervals 2"]
    slopes: Float[np.ndarray, "*intervals 2"]

    @classmethod
    def between(cls, first: tuple[np.ndarray, ...], second: tuple[np.ndarray, ...]) -> "_Intervals":
        """From one place to another, each given by where it is, log p and its slope."""
        return cls(*(np.stack(pair, axis=-1) for pair in zip(first, second, strict=True)))

    @property
    def first(self) -> tuple[np.ndarray, ...]:
        return tuple(array[..., 0] for array in self)

    @property
    def second(self) -> tuple[np.ndarray, ...]:
        return tuple(array[..., 1] for array in self)

    @property
    def unexplained(self) -> Float[np.ndarray, "*intervals"]:
        """The difference in log p, less what slopes like those at the ends can make of it."""
        width, rise = np.diff(self.where)[..., 0], np.diff(self.values)[..., 0]
        bend = np.abs(np.diff(self.slopes)[..., 0])
        return np.abs(rise - width * self.slopes.mean(axis=-1)) - width * bend

    def among(self, chosen: tuple[np.ndarray, ...]) -> "_Intervals":
        return _Intervals(*(array[chosen] for array in self))


def count_jumps(table: NodeTable, density: LineDensity) -> int:
    """How many of the lines, one to a row, that are searched have a jump where there is mass."""
    if table.values is None or density.evaluations_per_point > 1:
        return 0  # slopes are those of the values, or there are no values
    nodes = [array[:, 0] for array in (table.nodes, table.values, table.slopes)]
    intervals = _Intervals.between(
        tuple(array[:, :-1] for array in nodes), tuple(array[:, 1:] for array in nodes)
    )
    with np.errstate(invalid="ignore", over="ignore"):
        deep = table.values.max(axis=-1) - intervals.values.min(axis=-1) > DEPTH_OF_ENDS
        unexplained = np.where(deep, 0.0, np.nan_to_num(intervals.unexplained))
    worst = unexplained.argmax(axis=1)
    most = unexplained.max(axis=1)
    searched = np.argsort(-most, kind="stable")[:LINES_SEARCHED]
    searched = searched[most[searched] > UNEXPLAINED]
    if not len(searched):
        return 0
    density, intervals = density.rows(searched), intervals.among((searched, worst[searched]))
    for _ in range(HALVINGS):
        where = intervals.where.mean(axis=-1)
        values, slopes = density.values_and_slopes(where[:, None, None])
        assert values is not None  # as at the nodes
        middle = where, values[:, 0, 0], slopes[:, 0, 0]
        left = _Intervals.between(intervals.first, middle)
        right = _Intervals.between(middle, intervals.second)
        chosen = (right.unexplained > left.unexplained)[:, None]
        intervals = _Intervals(*(np.where(chosen, b, a) for a, b in zip(left, right, strict=True)))
    rounding = ROUNDING_ERRORS * density.rounding(intervals.values).max(axis=-1)
    return int((intervals.unexplained > np.maximum(LEAST_JUMP, rounding)).sum())
