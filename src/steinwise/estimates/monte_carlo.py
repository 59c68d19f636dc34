"""Monte Carlo errors of means and sds of draws: what is left if their distribution is right.

There are two estimates of such an error for chains. The spread of batch means is too small by what
neighbouring batches share, the one from autocorrelation times by what Geyer's sequence leaves off;
both are too small rather than too large, so the larger is taken. For correct draws of NUTS (4
chains of 500, a hierarchical regression of 29 coordinates), 1.96 errors from batches alone hold
0.930 of the means and 0.941 of the sds, the larger of the two 0.940 and 0.953.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri, stdtrit

from steinwise._internal.memory import chunks
from steinwise.calibration.batches import Batches
from steinwise.draws.chain_diagnostics import autocorrelation_times
from steinwise.draws.samples import Samples
from steinwise.estimates.settling import batch_errors

COVERED = 0.975  # one-sided: errors are such that a normal quantile covers as t does with batches
LEVEL = 0.05  # of calling any quantity of correct draws biased
ENTRIES_AT_ONCE = 2**21  # numbers whose autocorrelations are computed together, some 100 MB of work


def monte_carlo_errors(
    values: Float[np.ndarray, "n q"], samples: Samples, batches: Batches
) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
    """Standard errors of the means and of the sds of functions of the draws.

    Parameters
    ----------
    values
        The functions at the draws.
    samples
        The draws: independent ones, or chains.
    batches
        Of the draws, for chains.
    """
    sd = values.std(axis=0)
    squares = (values - values.mean(axis=0)) ** 2
    of_sd = _errors_of_means(squares, samples, batches) / (2 * np.where(sd > 0, sd, 1.0))
    return _errors_of_means(values, samples, batches), of_sd


def simultaneous_errors(count: int, samples: Samples, batches: Batches) -> float:
    """The number of these errors within which all means and sds of some quantities lie together.

    With probability 0.95, for correct draws (Bonferroni).
    """
    share = 1 - LEVEL / (4 * count)
    if samples.independent:
        return float(ndtri(share))
    return float(stdtrit(batches.count - 1, share) / _few_batches(batches))


def _few_batches(batches: Batches) -> float:
    return stdtrit(batches.count - 1, COVERED) / ndtri(COVERED)


def _errors_of_means(
    values: Float[np.ndarray, "n q"], samples: Samples, batches: Batches
) -> Float[np.ndarray, " q"]:
    n, q = values.shape
    sd = values.std(axis=0)
    if samples.independent:
        return sd / np.sqrt(n - 1)
    times = np.empty(q)
    for columns in chunks(q, max(1, ENTRIES_AT_ONCE // n)):
        chains = values[:, columns].reshape(samples.n_chains, samples.n_draws, -1)
        times[columns] = autocorrelation_times(chains)
    by_times = np.where(np.isfinite(times), sd * np.sqrt(times / n), 0.0)
    return np.maximum(_few_batches(batches) * batch_errors(values, batches), by_times)
