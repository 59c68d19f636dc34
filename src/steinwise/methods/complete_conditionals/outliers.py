"""Single draws that stand where the target's conditional has next to nothing."""

import numpy as np
from jaxtyping import Float

from steinwise.calibration.pvalues import EXACT_SHARE
from steinwise.methods.complete_conditionals.effects import NormalScoreSums
from steinwise.methods.complete_conditionals.outcome_sums import OutcomeSums

OUTLIER_LEVEL = 0.05 * EXACT_SHARE  # of calling any draw an outlier, where all are right


def outlier_tail(draws: int, lines: int) -> float:
    """The tail below which a draw is an outlier, where none of all draws should be."""
    return OUTLIER_LEVEL / (2 * draws * lines)


def outlier_pvalues(normal_scores: NormalScoreSums | OutcomeSums) -> Float[np.ndarray, " c"]:
    """Whether a single draw stands where the target's conditional has next to nothing.

    To signs, a few draws far out look like chance. But P(2 min(u, 1 - u) <= t)
    is t for every draw that comes from p, so the least over n draws, times n, is a p-value,
    however the draws depend on each other.
    """
    tails = normal_scores.least * 2 * normal_scores.draws
    return np.clip(tails, np.finfo(float).eps, 1.0)  # 1 - u is known to this precision
