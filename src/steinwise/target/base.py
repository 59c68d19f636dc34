"""What a target must provide: its score, its log density where known, both along lines."""

import abc

import numpy as np
from jaxtyping import Float, Int

from steinwise.errors import InputError, TargetError

Rows = Float[np.ndarray, "n d"]
DEFAULT_MEMORY = 2**30


class AbstractTarget(abc.ABC):
    """A density p on R^d, known through its score b(x) = grad log p(x).

    All functions take and return NumPy arrays in float64, work in chunks within `memory` bytes, and
    agree with each other: ``line_scores`` at ``y = x_j`` is column j of ``score``.
    """

    @abc.abstractmethod
    def prepare(self, d: int) -> str:
        """Check that the target works in d dimensions; return the dtype that it computes in."""

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
        coordinates: Int[np.ndarray, " c"],
        y: Float[np.ndarray, "n c m"],
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> tuple[Float[np.ndarray, "n c m"] | None, Float[np.ndarray, "n c m"]]:
        """log p along lines, up to a constant per line, and its derivative there.

        The log density is None if only scores are available. Neither need be finite.
        """

    @abc.abstractmethod
    def direction_values(
        self,
        x: Rows,
        directions: Float[np.ndarray, "c d"],
        steps: Float[np.ndarray, "n c m"],
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> tuple[Float[np.ndarray, "n c m"] | None, Float[np.ndarray, "n c m"]]:
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
            f"the draws have {d} coordinates and the target has {expected}. The last axis of the "
            "draws is the coordinate: (n, d) or (chain, draw, d). Are the axes in another order, "
            "or do the draws hold generated quantities that the density does not take?"
        )


NOT_FINITE = (
    "Stein's identity needs a log density that is finite and differentiable on all of R^d. Likely "
    "causes: a bounded parameter that was not transformed to the real line together with its log "
    "density (Jacobian included), log(0), or an overflow in exp."
)


def require_finite(
    scores: np.ndarray, points: np.ndarray, first_row: int, coordinates: np.ndarray, axis: int
) -> None:
    """Raise unless every score is finite; name the draw, the coordinate and the point.

    An index i along `axis` of the scores belongs to coordinate `coordinates[i]`.
    """
    bad = ~np.isfinite(scores)
    if not bad.any():
        return
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    moved = "" if scores.ndim == 2 else " (which a conditional draw replaces)"
    raise TargetError(
        f"{int(bad.sum())} of {bad.size} scores are not finite; the first is {scores[index]} at "
        f"draw {index[0] + first_row}, coordinate {coordinates[index[axis]]}{moved}, where "
        f"x = {points[index[0]].tolist()}. {NOT_FINITE}"
    )
