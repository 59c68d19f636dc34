"""What a target must provide: its score, its log density where known, both along lines."""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.counting import by_count, counted
from steinwise.errors import InputError, TargetError
from steinwise.target.support import undeclared

Rows = Float[np.ndarray, "n d"]
# of lines: the same for all draws, or those of each draw
Coordinates = Int[np.ndarray, " c"] | Int[np.ndarray, "n c"]
Directions = Float[np.ndarray, "c d"] | Float[np.ndarray, "n c d"]
LineValues = tuple[Float[np.ndarray, "n c m"] | None, Float[np.ndarray, "n c m"] | None]
DEFAULT_MEMORY = 2**30


@dataclass(frozen=True, eq=False)
class LineSeries:
    """Taylor series of log p along lines, and the density itself to compare them with."""

    coefficients: Float[np.ndarray, "n c order"]  # from order 0; NaN where there is none
    evaluations: float  # of log p that would have taken as long
    # of the numbers of m draws and of steps (m, c, point): log p at x_i + step * direction
    values: Callable[[np.ndarray, np.ndarray], np.ndarray]


class AbstractTarget(abc.ABC):
    """A density p, known through its score b(x) = grad log p(x) or through log p alone.

    Its coordinates are real unless `support` says otherwise (see `sw.support`).

    All functions take and return NumPy arrays in float64, work in chunks within `memory` bytes, and
    agree with each other: ``line_scores`` at ``y = x_j`` is column j of ``score``.
    """

    noisy: bool = False  # whether two evaluations at one point differ; see `Target.from_score`
    support: Any = undeclared  # as a user passed it; `supports_of` reads it
    conditionals: Any = None  # log probabilities of discrete coordinates, if the user has them

    @abc.abstractmethod
    def prepare(self, d: int) -> str:
        """Check that the target works in d dimensions; return the dtype that it computes in."""

    def try_draw(self, draw: Float[np.ndarray, " d"]) -> None:  # noqa: B027
        """Raise what shows only when the target is evaluated at a draw; by default, nothing."""

    def has_scores(self, d: int) -> bool:  # noqa: ARG002
        """Whether the density can be differentiated in d dimensions, and not only evaluated."""
        return True

    def no_derivative(self, d: int) -> str:  # noqa: ARG002
        """Why a density that was meant to be differentiated is only evaluated; "" where it is not.

        What was passed as a function of values alone needs no such word.
        """
        return ""

    def on_own_scale(self, x: Rows) -> Rows:
        """Draws as a user knows them, where bounded coordinates were taken to the real line."""
        return x

    def line_limits(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The least and the largest number of each coordinate at which log p can be evaluated.

        Only where they are known. Beyond them the density falls off as it does up to them.
        """
        return None

    @abc.abstractmethod
    def score(self, x: Rows, *, memory: int = DEFAULT_MEMORY) -> Rows:
        """b(x_i), one row per draw."""

    def log_values(
        self,
        x: Rows,  # noqa: ARG002
        *,
        memory: int = DEFAULT_MEMORY,  # noqa: ARG002
    ) -> Float[np.ndarray, " n"] | None:
        """log p(x_i), up to one constant for all draws; None if only scores are available."""
        return None

    def values_and_scores(
        self,
        x: Rows,  # noqa: ARG002
        *,
        memory: int = DEFAULT_MEMORY,  # noqa: ARG002
    ) -> tuple[Float[np.ndarray, " n"], Rows] | None:
        """log p and its gradient at points anywhere: neither need be finite.

        None where the target does not have both, or where a search for its maxima has nothing to
        find, as for a normal density.
        """
        return None

    @abc.abstractmethod
    def line_scores(
        self,
        x: Rows,
        coordinates: Int[np.ndarray, " c"],
        y: Float[np.ndarray, "n c m"],
        *,
        memory: int = DEFAULT_MEMORY,
        first_row: int = 0,
    ) -> Float[np.ndarray, "n c m"]:
        """b_j(y, x_i,-j): coordinate j of the score at draw i with x_ij replaced by y.

        `first_row` is the number of the first draw, for error messages.
        """

    @abc.abstractmethod
    def line_values(
        self,
        x: Rows,
        coordinates: Coordinates,
        y: Float[np.ndarray, "n c m"],
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> LineValues:
        """log p along lines, up to a constant per line, and its derivative there.

        The log density is None if only scores are available, its derivative if there are none.
        Neither need be finite.
        """

    def outcome_values(
        self,
        x: Rows,
        coordinate: int,
        values: Float[np.ndarray, " k"],
        *,
        memory: int = DEFAULT_MEMORY,
        complete: bool = True,  # noqa: ARG002
    ) -> Float[np.ndarray, "n k"]:
        """log p with a coordinate replaced by each of its values, up to a constant per draw.

        `complete` says whether these are all of its values, as conditionals of the user's give
        them, or a window.
        """
        out = np.empty((len(x), len(values)))
        for k, value in enumerate(values):
            moved = x.copy()
            moved[:, coordinate] = value
            logs = self.log_values(moved, memory=memory)
            if logs is None:
                raise TargetError(
                    "the target has a discrete coordinate and no log density, only scores: pass "
                    "log_density= to sw.Target.from_score."
                )
            out[:, k] = logs
        return out

    @abc.abstractmethod
    def direction_values(
        self,
        x: Rows,
        directions: Directions,
        steps: Float[np.ndarray, "n c m"],
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> LineValues:
        """As `line_values`, along any directions: at x_i + step * direction."""

    def normal_along(
        self,
        x: Rows,  # noqa: ARG002
        directions: Float[np.ndarray, "c d"] | Int[np.ndarray, " c"],  # noqa: ARG002
    ) -> tuple[Float[np.ndarray, "n c"], Float[np.ndarray, " c"]] | None:
        """The step from x_i to the mean of p along a line, and its sd, if p is normal there.

        `directions` is a vector of coordinates or a matrix of directions. None if p is not known
        to be normal.
        """
        return None

    def line_series(
        self,
        x: Rows,  # noqa: ARG002
        directions: Float[np.ndarray, "c d"] | Int[np.ndarray, " c"],  # noqa: ARG002
        order: int,  # noqa: ARG002
        most_evaluations: float = np.inf,  # noqa: ARG002
    ) -> LineSeries | None:
        """log p along lines as Taylor series around the draws.

        None if there are none, or if they cost more than `most_evaluations` on each line.
        """
        return None

    @abc.abstractmethod
    def block_scores(
        self,
        x: Rows,
        block: Int[np.ndarray, " b"],
        y: Float[np.ndarray, "n m b"],
        *,
        memory: int = DEFAULT_MEMORY,
        first_row: int = 0,
    ) -> Float[np.ndarray, "n m b"]:
        """The block's coordinates of the score at draw i with the block replaced by y."""


def check_dimension(expected: int, d: int) -> None:
    """Refuse draws of d coordinates for a target that has another number of them."""
    if d != expected:
        raise InputError(
            f"the draws have {counted(d, 'coordinate')} and the target has {expected}. The last "
            "axis of the draws is the coordinate: (n, d) or (chain, draw, d). Are the axes in "
            "another order, or do the draws hold generated quantities that the density does not "
            "take?"
        )


NOT_FINITE = (
    "Stein's identity needs a log density that is finite and differentiable on all of R^d. Likely "
    "causes: a bounded parameter that was not transformed to the real line together with its log "
    "density (Jacobian included), or not declared, as in support={'sigma': sw.support.positive}; "
    "log(0); or an overflow in exp."
)
NO_SCORES = (
    "the target has values of its log density only and no score, which is needed here. sw.check "
    "with its default method needs none. Pass a score to sw.Target.from_score, or a log density "
    "in JAX that can be differentiated to sw.Target."
)


def require_finite(
    scores: np.ndarray, points: np.ndarray, first_row: int, coordinates: np.ndarray, axis: int
) -> None:
    """Raise unless every score is finite; name the draw, the coordinate and the point.

    An index i along `axis` of the scores belongs to coordinate `coordinates[i]`.
    """
    bad = ~np.isfinite(scores)
    count = int(bad.sum())
    if not count:
        return
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    moved = "" if scores.ndim == 2 else " (which a conditional draw replaces)"
    raise TargetError(
        f"{count} of {bad.size} scores {by_count(count, 'is', 'are')} not finite; the first is "
        f"{scores[index]} at draw {index[0] + first_row}, coordinate "
        f"{coordinates[index[axis]]}{moved}, where x = {points[index[0]].tolist()}. {NOT_FINITE}"
    )


def require_outcomes(
    logs: Float[np.ndarray, "n k"], count: int, coordinate: int
) -> Float[np.ndarray, "n k"]:
    """The user's log probabilities of a discrete coordinate, if there is one for every value."""
    if logs.shape[1] != count:
        raise TargetError(
            f"conditionals(x, j) gave {logs.shape[1]} log probabilities for coordinate "
            f"{coordinate}, whose support has {count} values: expected one for each, in increasing "
            "order. Is the support another one, or the coordinate?"
        )
    return logs
