"""The null distribution of a squared mean of features: a weighted sum of chi-squares.

For correct draws sqrt(pairs) times the mean over pairs of <tau(x_i), tau(x_l)> is distributed as
sum_k lambda_k (Z_k^2 - 1), with lambda the eigenvalues of the covariance of the features tau.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.memory import chunks
from steinwise._internal.threads import one_blas_thread
from steinwise.calibration.batches import Batches
from steinwise.calibration.pvalues import Calibration, share_at_or_above
from steinwise.calibration.signs import BOOTSTRAPS_AT_ONCE
from steinwise.methods.statistics import FeatureProduct
from steinwise.methods.statistics.feature_product import sums_before


def chi_square_calibration(
    statistic: FeatureProduct,
    batches: Batches,
    width: int,
    count: int,
    rng: np.random.Generator,
) -> Calibration:
    """A verdict on a statistic of `width` features, by `count` draws from its null."""
    limit = limit_distribution(statistic, batches, width)
    parts = [part.stop - part.start for part in chunks(count, BOOTSTRAPS_AT_ONCE)]
    shape = len(limit.eigenvalues)
    null = np.concatenate(
        [(rng.normal(size=(some, shape)) ** 2 - 1) @ limit.eigenvalues for some in parts]
    )
    observed = np.sqrt(limit.pairs) * limit.value
    pvalue = float(share_at_or_above(observed, null))
    return Calibration.of_all_together(
        float(observed), pvalue, null, discrepancy=float(limit.value)
    )


class LimitDistribution(NamedTuple):
    """The statistic over some pairs; sqrt(pairs) times it is sum_k lambda_k (Z_k^2 - 1)."""

    value: float
    pairs: float
    eigenvalues: Float[np.ndarray, " k"]


def limit_distribution(
    statistic: FeatureProduct, batches: Batches, width: int
) -> LimitDistribution:
    """The statistic of `width` features and its null, from draws or, in a chain, from batches."""
    if not batches.independent:
        return _limit_of_batches(statistic, batches)
    if statistic.n > width:
        return _limit_of_draws(statistic, width)
    one_each = Batches(np.arange(statistic.n + 1), np.zeros(statistic.n, int), independent=True)
    return _limit_of_batches(statistic, one_each)


@one_blas_thread
def _limit_of_draws(statistic: FeatureProduct, width: int) -> LimitDistribution:
    """All pairs i != l, and the covariance matrix of the features."""
    n = statistic.n
    total, second, different = np.zeros(width), np.zeros((width, width)), 0.0
    for part in chunks(n, statistic.rows_per_chunk):
        rows = statistic.features(part)[0].reshape(-1, width)
        before = sums_before(rows, total)
        different += 2 * float(np.vdot(before[:-1], rows))
        total = before[-1]
        second += rows.T @ rows
    pairs = n * (n - 1.0)
    value = different / pairs
    covariance = (second - np.outer(total, total) / n) / (n - 1)
    return LimitDistribution(float(value), pairs, _eigenvalues(covariance))


@one_blas_thread
def _limit_of_batches(statistic: FeatureProduct, batches: Batches) -> LimitDistribution:
    """Pairs of allowed batches, and the covariance that the central limit theorem of batches sees.

    The covariance of the sums S_g of the features, sum_g R_g R_g' with R_g = S_g - L_g mean, has
    the eigenvalues of the matrix <R_g, R_h>.
    """
    products = sum(block.values.sum(axis=(0, 1)) for block in statistic.batch_sums(batches))
    assert isinstance(products, np.ndarray)
    count, share = batches.count, batches.lengths / statistic.n
    residual = np.eye(count) - share[:, None]
    spread = residual @ products @ residual.T * count / ((count - 1) * statistic.n)
    value = products[batches.allowed].sum() / batches.pairs
    return LimitDistribution(float(value), batches.pairs, _eigenvalues(spread))


def _eigenvalues(covariance: Float[np.ndarray, "k k"]) -> Float[np.ndarray, " k"]:
    """Largest first; what rounding made negative is 0."""
    return np.maximum(np.linalg.eigvalsh(covariance)[::-1], 0.0)
