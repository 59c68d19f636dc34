r"""An interval for the largest error of a set of draws.

The errors e are those of all means, in sds of the target, and the logarithms of all sd ratios. With
half-widths w for which all intervals e +- w cover together,

.. math:: \max_k (|e_k| - w_k)_+ \;\le\; \max_k |\theta_k| \;\le\; \max_k (|e_k| + w_k)

whenever they do. So it does not matter that the largest estimate was picked out of many.
"""

import numpy as np

from steinwise.estimates.marginals import known_errors
from steinwise.estimates.moments import MomentErrors
from steinwise.estimates.tolerance import QUANTITIES, largest_t
from steinwise.results.largest_error import ErrorEstimates, LargestError


def largest_error(
    errors: MomentErrors | None,
    names: tuple[str, ...],
    cut: tuple[int, int, int],
    seed: object,
    alpha: float,
) -> LargestError:
    """The largest of the errors of all means and sds, with an interval of level alpha.

    Parameters
    ----------
    errors
        Of every coordinate; None where none can be estimated.
    names
        Of the coordinates.
    cut
        The numbers of chains, of draws in each, and of batches.
    seed
        Of the random signs.
    alpha
        The probability with which the interval may miss the largest error.
    """
    known, unknown = known_errors(errors, names)
    if errors is None or not known.any():
        return LargestError(alpha, None, 0.0, None, "", "mean", unknown)
    ratios = errors.sd_ratio[known]
    estimated = np.stack([errors.mean_error[known], np.log(ratios)], axis=1).ravel()
    without = np.stack([errors.mean_error_without, np.log(errors.sd_ratio_without)], axis=2)
    without = without[:, known].reshape(len(without), -1)
    doubts = np.stack([errors.mean_doubt[known], errors.sd_doubt[known] / ratios], axis=1).ravel()
    deviations = (without - without.mean(axis=0)) * np.sqrt(1 - 1 / len(without))
    critical = largest_t(without, alpha, seed)
    sizes, width = np.abs(estimated), critical * np.linalg.norm(deviations, axis=0) + doubts
    worst, quantity = divmod(int(np.argmax(sizes)), len(QUANTITIES))
    return LargestError(
        alpha=alpha,
        size=float(sizes.max()),
        low=max(0.0, float((sizes - width).max())),
        high=None if unknown else float((sizes + width).max()),
        coordinate=np.asarray(names, dtype=object)[known][worst],
        quantity=QUANTITIES[quantity],
        unknown=unknown,
        estimates=ErrorEstimates(estimated, doubts, deviations, critical, cut),
    )
