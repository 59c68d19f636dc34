r"""The default check: transported conditionals.

F_ij, the CDF of p(. | x_i,-j), takes every coordinate of every draw to u_ij = F_ij(x_ij), which is
uniform, and independent of x_i,-j, when the draws come from p. The statistic looks for any
departure from that. No training, no split, linear in n.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from steinwise._internal.counting import by_count, counted
from steinwise._internal.escaping import printable
from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.notes import Note, note
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import as_points, require_flag
from steinwise.calibration.pvalues import EXACT_SHARE
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, TargetError
from steinwise.methods.base import AbstractMethod, Cost
from steinwise.methods.complete_conditionals.line_cost import tried_cost
from steinwise.methods.complete_conditionals.line_method import AbstractLineMethod, require_some
from steinwise.methods.complete_conditionals.line_sets import FEWEST_HELD_OUT, held_out_draws
from steinwise.methods.complete_conditionals.mode_family import SearchedModes
from steinwise.methods.complete_conditionals.settings import BASES
from steinwise.methods.complete_conditionals.statistic import Follow
from steinwise.methods.scores import Scores
from steinwise.orbits.modes.search import find_modes
from steinwise.orbits.quadrature import evaluations_per_line
from steinwise.results.wording import PROGRESS
from steinwise.target import AbstractTarget, Unconstrained
from steinwise.target.transformed import on_real_line

MOST_HELD_OUT = 1000  # draws that set the scale of the search, and are starts in turn


class Transported(AbstractLineMethod):
    """Conditional probability transforms of every coordinate, tested in linear time.

    Several kinds of evidence are calibrated together: all coordinates summed, and the single
    coordinate that stands out most, each by itself (largest over the bases) and with others
    (largest over bases and contexts); the single other coordinate, or pair of them, on which a
    coordinate depends most; and the first ones again along the leading directions of a held-out
    fifth of the draws. Faults of a coordinate by itself weigh most. A hundredth of the level goes
    to single draws far out, which no signs can judge.

    Of many draws, the lines of 1000 to 2000, evenly spaced, are followed (of 500 or more with more
    than 80 coordinates), and the scores of all are looked at as `Scores` does; both are calibrated
    together.

    Parameters
    ----------
    bases
        Some of "shape" (a Stein kernel, one conditional standard deviation wide), "shift" (cosines
        of u, the low ones weighing most) and "tails" (Hermite polynomials of the normal score).
    contexts
        How a departure may vary with the other coordinates: some of "alone" (not at all),
        "dependence" (linearly), "dependence on size" (with squares) and "interaction" (with
        products of two).
    directions
        Whether directions are followed as well as the coordinates.
    coordinates
        The numbers of the coordinates that are tested, all by default; the others still serve as
        those on which they may depend. Directions are followed only where all are tested.
    every_line
        Whether the lines of all draws are followed, however many these are: ``effort="full"``.
    modes
        Whether modes of the density are looked for, and the draws' shares of them tested, where
        the target has a log density and scores. A search costs a few thousand evaluations. Not
        where only some coordinates are tested, nor with discrete ones.
    starts
        More points, (m, d), from which modes are looked for, such as draws from the prior. By
        default only held-out draws, and these spread out from their mean, are starts. The points
        must not depend on the draws that are tested.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.normal(size=(500, 3))
    >>> draws[:, 2] = np.abs(draws[:, 2]) * np.sign(draws[:, 0] * draws[:, 1])
    >>> result = sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)))
    >>> result["x[2]"].verdict
    'its dependence on x[0] and x[1] together is wrong'
    """

    bases: Sequence[str] = BASES
    every_line: bool = False
    modes: bool = True
    starts: Any = None

    name: ClassVar[str] = "transported"
    bootstrap_share: ClassVar[float] = 1 - EXACT_SHARE
    needs_scores: ClassVar[bool] = False

    def __check_init__(self) -> None:
        require_some("bases", self.bases, BASES)
        require_flag("every_line", self.every_line)
        require_flag("modes", self.modes)
        if self.starts is not None:
            _points(self.starts)

    @property
    def follow(self) -> Follow:
        return "all" if self.every_line else "some"

    @property
    def line_bases(self) -> Sequence[str]:
        return self.bases

    def describe(self) -> str:
        return "transported conditionals"

    def at_effort(self, effort: str) -> AbstractMethod:
        if effort == "quick":
            return Scores(
                contexts=self.contexts, directions=self.directions, coordinates=self.coordinates
            )
        return replace(self, every_line=True) if effort == "full" else self

    def within_budget(self) -> "Transported":
        return replace(self, modes=False)

    def search_modes(
        self, samples: Samples, target: AbstractTarget, space: Unconstrained, run: RunOptions
    ) -> tuple[SearchedModes | None, tuple[Note, ...]]:
        held_out = held_out_draws(samples)
        numbers, starts = held_out.numbers(samples.n), self._starts_on_line(samples, space)
        why_not = self._why_no_search(samples, space, len(numbers))
        if why_not:
            return None, (note("starts unused", reason=why_not),) if starts is not None else ()
        some = numbers[evenly_spaced_indices(len(numbers), MOST_HELD_OUT)]
        try:
            with run.stage(PROGRESS["modes"]):
                found = find_modes(target, samples.take(some), starts, run.seed, run.memory)
        except TargetError as error:  # far from all draws, where a density may fail
            return None, (note("no modes", why=str(error)),)
        if found is None:
            unused = note("starts unused", reason="no gradient")
            return None, (unused,) if starts is not None else ()
        return SearchedModes(found, held_out), ()

    def _why_no_search(self, samples: Samples, space: Unconstrained, held_out: int) -> str:
        """Why modes are not looked for; "" where they may be."""
        if not self.modes:
            return "modes off"
        if len(self.chosen_coordinates(samples)) < samples.dim:
            return "some coordinates"
        if space.discrete.any():
            return "discrete coordinates"
        return "" if held_out >= FEWEST_HELD_OUT else "few draws"

    def _starts_on_line(self, samples: Samples, space: Unconstrained) -> np.ndarray | None:
        if self.starts is None:
            return None
        d, points = samples.dim, _points(self.starts)
        if points.shape[1] != d:
            raise InputError(
                f"starts has {counted(points.shape[1], 'column')} and the draws have "
                f"{counted(d, 'coordinate')}: expected a point (m, d) in each row."
            )
        outside = (points < space.low) | (points > space.high)
        if outside.any():
            i, j = np.argwhere(outside)[0]
            count = int(outside.any(axis=1).sum())
            raise InputError(
                f"{counted(count, 'point')} of starts= {by_count(count, 'is', 'are')} outside "
                f"of the support; the first is {points[i, j]:g}, {printable(samples.names[j])} of "
                f"point {i}: expected {space.low[j]:g} to {space.high[j]:g}. Are the points on "
                "another scale, or their columns in another order?"
            )
        return space.to_line(points)

    def evaluations(self, samples: Samples, target: AbstractTarget, budget: float) -> Cost:
        most_per_line = evaluations_per_line(target, samples.evenly_spaced(1))
        if most_per_line == 0:
            return Cost(0.0)
        on_line, space, _ = self.on_line(samples, target)
        real = on_real_line(target, space)
        lines = self.line_sets(on_line, space)
        cost = tried_cost(lines, on_line, real, most_per_line, budget)
        needs_scores = samples.scores is None and target.has_scores(samples.dim)
        return cost._replace(each=cost.each + needs_scores)


def _points(starts: Any) -> Float[np.ndarray, "m d"]:
    expected = "an array (m, d), a point in each row, such as draws from the prior"
    return as_points("starts", starts, expected)
