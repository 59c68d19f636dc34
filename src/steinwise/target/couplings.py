"""How strongly the coordinates of a density depend on each other, from its Hessian.

`sw.graphs` has the formula of a coupling. The derivatives are differences of scores at some of the
draws, so every target has them.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from steinwise._internal.escaping import printable
from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.memory import chunks
from steinwise._internal.spread import pulled_in
from steinwise.errors import TargetError
from steinwise.target.base import AbstractTarget

# The step of a central difference, in standard deviations. Its truncation error goes with the
# square of the step and its rounding error with eps / step: both are about 1e-9 to 1e-12 here.
STEP = 1e-4
# The largest difference between M_ij and M_ji, relative to their scale. Exact scores stay far
# below it, scores in float32 or of minibatches far above.
ASYMMETRY = 1e-3
ENTRIES_PER_CALL = 2**21  # of the scores that are asked for in one call, 16 MiB


def hessian_couplings(
    target: AbstractTarget,
    rows: Float[np.ndarray, "n d"],
    names: Sequence[str],
    *,
    points: int,
    memory: int,
) -> Float[np.ndarray, "d d"]:
    """The matrix C of couplings, with zeros on its diagonal, from `points` of the rows."""
    if target.prepare(rows.shape[1]) != "float64":
        raise TargetError(
            "the density is evaluated in float32, whose scores are too coarse to be subtracted: "
            "pass graph= yourself, or let the dtypes of the density follow that of its input."
        )
    spread = pulled_in(rows).std(axis=0)
    x = rows[evenly_spaced_indices(len(rows), points)]
    hessians = _hessians(target, x, STEP * spread, memory) * np.outer(spread, spread)
    hessians /= np.abs(hessians).max() or 1.0  # couplings are ratios, and squares may overflow
    size = np.sqrt((hessians**2).mean(axis=0))
    largest = size.max(axis=1)
    scale = np.sqrt(np.outer(largest, largest))
    scale[scale == 0] = 1.0
    asymmetry = np.abs(hessians - np.swapaxes(hessians, 1, 2)).max(axis=0) / scale
    if asymmetry.max() > ASYMMETRY:
        i, j = (int(k) for k in np.unravel_index(asymmetry.argmax(), asymmetry.shape))
        pair = f"{printable(names[i])} and {printable(names[j])}"
        raise TargetError(
            f"the second derivatives of log p in {pair} depend on the order of "
            f"differentiation, by {asymmetry.max():.2g} of their size, so that noise hides "
            "any zeros. Are the scores computed in float32, from minibatches, or not the gradient "
            "of one function? Pass graph= yourself."
        )
    couplings = (size + size.T) / (2 * scale)
    np.fill_diagonal(couplings, 0.0)
    return couplings


def _hessians(
    target: AbstractTarget,
    x: Float[np.ndarray, "p d"],
    steps: Float[np.ndarray, " d"],
    memory: int,
) -> Float[np.ndarray, "p d d"]:
    """Entry (i, j) is the derivative of score i along coordinate j."""
    count, d = x.shape
    out = np.empty((count, d, d))
    for columns in chunks(d, ENTRIES_PER_CALL // (2 * count * d)):
        shifts = np.eye(d)[columns] * steps  # (coordinates, d)
        moved = x[:, None, None] + np.stack([shifts, -shifts])  # (points, side, coordinates, d)
        scores = target.score(moved.reshape(-1, d), memory=memory).reshape(moved.shape)
        difference = (scores[:, 0] - scores[:, 1]) / (2 * steps[columns, None])
        out[:, :, columns] = np.swapaxes(difference, 1, 2)
    return out


def join_coupled(
    couplings: Float[np.ndarray, "d d"], strength: float, largest: int
) -> list[list[int]]:
    """Blocks of coordinates: pairs are joined from the strongest down to `strength`.

    Two blocks are joined only if they have at most `largest` coordinates together.
    """
    block_of = {j: [j] for j in range(len(couplings))}
    rows, columns = np.triu_indices(len(couplings), 1)
    order = np.argsort(-couplings[rows, columns], kind="stable")
    for i, j in zip(rows[order], columns[order], strict=True):
        left, right = block_of[int(i)], block_of[int(j)]
        if couplings[i, j] < strength:
            break
        if left is not right and len(left) + len(right) <= largest:
            joined = sorted(left + right)
            block_of |= dict.fromkeys(joined, joined)
    return [block for j, block in block_of.items() if block[0] == j]
