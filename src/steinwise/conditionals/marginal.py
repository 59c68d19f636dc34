"""The law of a coordinate or block alone: what a conditional must beat to have learnt anything."""

import numpy as np
from jaxtyping import Float

from steinwise._internal.indices import evenly_spaced_indices
from steinwise.conditionals.base import TrainingData

MOST_ROWS = 2000
WIDTHS = np.array([0.35, 0.5, 0.7, 1.0, 1.4])  # times the rule of thumb


def log_sum_exp(logs: Float[np.ndarray, "*rows m"]) -> Float[np.ndarray, "*rows"]:
    """Over the last axis."""
    highest = logs.max(axis=-1)
    return highest + np.log(np.exp(logs - highest[..., None]).sum(axis=-1))


def rule_of_thumb(n: int, size: int) -> float:
    """The bandwidth of a Gaussian kernel density estimate, in standard deviations (Scott)."""
    return n ** (-1.0 / (size + 4))


def marginal_losses(data: TrainingData) -> Float[np.ndarray, " block"]:
    """Validation losses of kernel density estimates, at their best bandwidth."""
    train = data.scale.apply(data.train)[evenly_spaced_indices(len(data.train), MOST_ROWS)]
    validation = data.scale.apply(data.validation)[
        evenly_spaced_indices(len(data.validation), MOST_ROWS)
    ]
    losses = []
    for block in data.blocks:
        centres, x = train[:, block], validation[:, block]
        squared = ((x[:, None] - centres) ** 2).sum(axis=-1)
        widths = WIDTHS * rule_of_thumb(len(centres), len(block))
        found = [_loss(squared, width, len(block)) for width in widths]
        losses.append(min(found) + np.log(data.scale.sd[block]).sum())
    return np.array(losses)


def _loss(squared: Float[np.ndarray, "v n"], width: float, size: int) -> float:
    peak = size * np.log(width * np.sqrt(2 * np.pi)) + np.log(squared.shape[1])
    return float(peak - log_sum_exp(-squared / (2 * width**2)).mean())
