"""Size and power of the test with exact conditionals (Algorithm 1), as the paper uses it; and size
with conditionals that are learned from next to nothing.

Draws are said to be independent, so that the border's own test for hidden chains, which refuses
0.4 % of independent draws, takes no part.
"""

import numpy as np
import pytest
from scipy import stats

import steinwise as sw

D, N_ATOMS, ALPHA = 30, 10, 0.05


def _equicorrelated(correlation: float) -> np.ndarray:
    return np.full((D, D), correlation) + (1 - correlation) * np.eye(D)


def _pvalues_under_the_null(repetitions: int, n: int) -> np.ndarray:
    """p = q = N(0, Sigma), all correlations 0.5, y from the exact conditionals."""
    covariance = _equicorrelated(0.5)
    target = sw.Gaussian(np.zeros(D), covariance)
    factor, diagonal = np.linalg.cholesky(covariance), np.diag(target.precision)

    def conditional(key, x, n_atoms):
        mean = x - (x @ target.precision) / diagonal
        noise = np.random.default_rng(key).normal(size=(*x.shape, n_atoms))
        return mean[..., None] + noise / np.sqrt(diagonal)[:, None]

    method = sw.methods.KCCSD(sw.conditionals.Sampler(conditional, N_ATOMS))
    pvalues = []
    for seed in range(repetitions):
        draws = np.random.default_rng([17, seed]).normal(size=(n, D)) @ factor.T
        result = sw.check(draws, target, method=method, seed=seed, independent=True)
        pvalues.append(result.pvalue)
    return np.array(pvalues)


def _rejections_of_laplace(repetitions: int, n: int) -> int:
    """Laplace(0, 1/sqrt 2)^d, whose variance is 1, against N(0, I)."""
    target, scale = sw.Gaussian(np.zeros(D), np.eye(D)), 1 / np.sqrt(2)

    def conditional(key, x, n_atoms):
        return np.random.default_rng(key).laplace(0, scale, size=(*x.shape, n_atoms))

    method = sw.methods.KCCSD(sw.conditionals.Sampler(conditional, N_ATOMS))
    rejected = 0
    for seed in range(repetitions):
        draws = np.random.default_rng([23, seed]).laplace(0, scale, size=(n, D))
        rejected += sw.check(draws, target, method=method, seed=seed, independent=True).rejected
    return rejected


def test_size():
    """A variance too small (rejects too much) or a null shifted from 0 (rejects at random)."""
    pvalues = _pvalues_under_the_null(repetitions=400, n=300)
    low, high = stats.binom.interval(0.999, 400, ALPHA)
    assert (low, high) == (7, 36)  # rates 0.018 to 0.090
    rejected = int((pvalues <= ALPHA).sum())
    assert low <= rejected <= high, f"{rejected} of 400 rejected at {ALPHA}"
    uniform = stats.kstest(pvalues, "uniform").pvalue
    assert uniform > 0.001, f"p-values are not uniform: Kolmogorov-Smirnov p = {uniform:.2g}"


def test_power():
    """A statistic that does not see tails, or a null as wide as the statistic."""
    assert _rejections_of_laplace(repetitions=100, n=200) == 100


@pytest.mark.filterwarnings("ignore:for .* coordinates")  # that nothing was learned
def test_size_with_learned_conditionals_and_the_fewest_draws():
    """Histograms of 6 draws, 21 tested: what is found so (experiments, panel 2) is power."""
    target = sw.Gaussian(np.zeros(D), np.eye(D))
    rejected = 0
    for seed in range(200):
        draws = np.random.default_rng([29, seed]).normal(size=(30, D))
        result = sw.check(draws, target, method="kccsd", seed=seed, independent=True)
        rejected += result.rejected
    low, high = stats.binom.interval(0.999, 200, ALPHA)
    assert low <= rejected <= high, f"{rejected} of 200 rejected at {ALPHA}"
