"""Standard errors of statistics, from their batches.

Draws of a chain are taken care of by the length of the batches.
"""

import numpy as np
from jaxtyping import Bool, Float

from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import Batches


def standard_error(sums: BatchSums) -> float:
    """The standard error of a statistic summed over coordinates, from its batches.

    For a mean, from the spread of batch means; for a pair statistic, the delete-one-batch
    jackknife.
    """
    batches = sums.batches
    total = sums.values.sum(axis=1)[0]
    if not sums.paired:
        mean = total.sum() / batches.lengths.sum()
        residual = total - mean * batches.lengths
        correction = batches.count / (batches.count - 1)
        return float(np.sqrt(correction * (residual**2).sum()) / batches.lengths.sum())
    return jackknife_error(leave_one_out(total, batches, batches.allowed)[1])


def leave_one_out(
    sums: Float[np.ndarray, "batch batch"],
    batches: Batches,
    pairs: Bool[np.ndarray, "batch batch"],
) -> tuple[float, Float[np.ndarray, " batch"]]:
    """The mean over some pairs of draws, and the same without each batch in turn.

    `sums` holds the sums over pairs of batches, `pairs` which of them count.
    """
    lengths = batches.lengths.astype(float)
    values = np.where(pairs, sums, 0.0)
    terms = np.where(pairs, lengths[:, None] * lengths[None, :], 0.0)

    def without(matrix: np.ndarray) -> np.ndarray:
        own = matrix.sum(axis=0) + matrix.sum(axis=1) - np.diagonal(matrix)
        return matrix.sum() - own

    return float(values.sum() / terms.sum()), without(values) / without(terms)


def leave_one_out_mean(
    sums: Float[np.ndarray, " batch"], batches: Batches
) -> tuple[float, Float[np.ndarray, " batch"]]:
    """The mean over draws, and the same without each batch in turn."""
    lengths = batches.lengths.astype(float)
    without = (sums.sum() - sums) / (lengths.sum() - lengths)
    return float(sums.sum() / lengths.sum()), without


def jackknife_error(without: Float[np.ndarray, " batch"]) -> float:
    """The standard error of a value, from the values without each batch in turn.

    For a pair statistic near its null it is too large rather than too small.
    """
    return float(jackknife_errors(without[:, None])[0])


def jackknife_errors(without: Float[np.ndarray, "batch q"]) -> Float[np.ndarray, " q"]:
    """The standard errors of several values, one per column."""
    spread = ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    return np.sqrt(spread * (len(without) - 1) / len(without))
