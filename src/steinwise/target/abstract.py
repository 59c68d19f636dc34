"""What every method asks of a target."""

import abc

import numpy as np
from jaxtyping import Float, Int

from steinwise.errors import InputError, TargetError

Rows = Float[np.ndarray, "n d"]
DEFAULT_MEMORY = 2**30


class AbstractTarget(abc.ABC):
    """A density p on R^d, known through its score b(x) = grad log p(x).

    The three scores take and give NumPy arrays in float64, work in chunks within `memory` bytes,
    and agree with each other: ``line_scores`` at ``y = x_j`` is column j of ``score``.
    """

    @property
    @abc.abstractmethod
    def dim(self) -> int | None:
        """The dimension d where the target knows it."""

    @abc.abstractmethod
    def prepare(self, d: int) -> str:
        """Check that the target works in d dimensions; return the dtype that it computes in."""

    @abc.abstractmethod
    def score(self, x: Rows, *, memory: int = DEFAULT_MEMORY) -> Rows:
        """b(x_i), one row per draw."""

    @abc.abstractmethod
    def line_scores(
        self,
        x: Rows,
        coordinates: Int[np.ndarray, " c"],
        y: Float[np.ndarray, "n c m"],
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> Float[np.ndarray, "n c m"]:
        """b_j(y, x_i,-j): coordinate j of the score at draw i with x_ij replaced by y."""

    @abc.abstractmethod
    def block_scores(
        self,
        x: Rows,
        block: Int[np.ndarray, " b"],
        y: Float[np.ndarray, "n m b"],
        *,
        memory: int = DEFAULT_MEMORY,
    ) -> Float[np.ndarray, "n m b"]:
        """The block's coordinates of the score at draw i with the block replaced by y."""


def check_dimension(expected: int, d: int) -> None:
    if d != expected:
        raise InputError(
            f"the draws have {d} coordinates and the target has {expected}. The last axis of the "
            "draws is the coordinate: (n, d) or (chain, draw, d). Are the axes in another order, "
            "or do the draws hold generated quantities that the density does not take?"
        )


def require_finite(scores: np.ndarray, points: np.ndarray, first_row: int, what: str) -> None:
    """Raise unless every score is finite; name the draw, the coordinate and the point."""
    bad = ~np.isfinite(scores)
    if not bad.any():
        return
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    row, rest = index[0] + first_row, index[1:]
    raise TargetError(
        f"{int(bad.sum())} of {bad.size} scores {what} are not finite; the first is "
        f"{scores[index]} at draw {row}, index {rest}, where x = {points[index[0]].tolist()}. "
        "Stein's identity needs a log density that is finite and differentiable on all of R^d. "
        "Likely causes: a bounded parameter that was not transformed to the real line together "
        "with its log density (Jacobian included), log(0), or an overflow in exp."
    )
