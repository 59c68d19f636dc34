"""The distribution of a coordinate or block alone: what a stand-in must beat to have learned."""

import numpy as np
from jaxtyping import Float

from steinwise._internal.indices import evenly_spaced_indices
from steinwise.conditionals.base import TrainingData

MAX_MARGINAL_ROWS = 2000  # of both kinds of draws: their distances take 32 MB
BANDWIDTH_FACTORS = np.array([0.35, 0.5, 0.7, 1.0, 1.4])  # of Scott's; steps of about sqrt(2)


def log_sum_exp(logs: Float[np.ndarray, "*rows m"]) -> Float[np.ndarray, "*rows"]:
    """Over the last axis."""
    highest = logs.max(axis=-1)
    return highest + np.log(np.exp(logs - highest[..., None]).sum(axis=-1))


def scott_bandwidth(n: int, size: int) -> float:
    """Scott's rule for a Gaussian kernel density estimate in `size` dimensions.

    In standard deviations of the n draws.
    """
    return n ** (-1.0 / (size + 4))


def marginal_losses(data: TrainingData) -> Float[np.ndarray, " block"]:
    """Validation losses of kernel density estimates of each block, at their best bandwidth."""
    train, validation = (
        data.scale.apply(rows)[evenly_spaced_indices(len(rows), MAX_MARGINAL_ROWS)]
        for rows in (data.train, data.validation)
    )
    losses = []
    for block in data.blocks:
        centres, x = train[:, block], validation[:, block]
        squared = ((x[:, None] - centres) ** 2).sum(axis=-1)
        bandwidths = BANDWIDTH_FACTORS * scott_bandwidth(len(centres), len(block))
        lowest = min(_loss(squared, bandwidth, len(block)) for bandwidth in bandwidths)
        losses.append(lowest + np.log(data.scale.sd[block]).sum())
    return np.array(losses)


def _loss(squared: Float[np.ndarray, "v n"], bandwidth: float, size: int) -> float:
    """Of an estimate with these squared distances between validation and training draws."""
    log_constant = size * np.log(bandwidth * np.sqrt(2 * np.pi)) + np.log(squared.shape[1])
    return float(log_constant - log_sum_exp(-squared / (2 * bandwidth**2)).mean())
