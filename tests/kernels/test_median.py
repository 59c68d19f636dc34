"""The median heuristic."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import steinwise as sw
from steinwise.kernels.median import median_distance, median_gap
from tests.kernels.cases import laplace_draws


def test_median_distance_is_the_reference_figure():
    """A median over all ordered pairs, zeros included, or of squared distances."""
    found = median_distance(laplace_draws(), 0, per_coordinate=False)
    np.testing.assert_allclose(found, 2.7438457483802026, rtol=1e-13)


def test_median_distance_per_coordinate():
    """One number for all coordinates, or the axes swapped."""
    x = laplace_draws() * np.arange(1, 6)
    direct = []
    for j in range(5):
        pairs = [abs(x[i, j] - x[k, j]) for i in range(200) for k in range(i)]
        direct.append(np.median(pairs))
    np.testing.assert_allclose(median_distance(x, 0, per_coordinate=True), direct, rtol=1e-13)


@pytest.mark.parametrize("n", [2, 3, 4, 37, 200, 1000])
def test_the_median_gap_is_the_median_of_all_gaps(n):
    """Ties, gaps of many sizes, numbers far from 0, an even and an odd number of pairs."""
    rng = np.random.default_rng(n)
    for x in (
        rng.normal(size=n),
        rng.standard_cauchy(n),
        rng.integers(0, 4, n).astype(float),
        1e8 + rng.normal(size=n),
        np.append(np.zeros(n - 1), 1.0),
    ):
        direct = np.median(np.abs(x[:, None] - x)[np.triu_indices(n, 1)])
        assert median_gap(x) == pytest.approx(direct, rel=1e-13, abs=1e-15)


def test_median_of_many_rows_depends_on_the_seed_alone():
    """An unseeded subsample would give other numbers on every call."""
    x = np.random.default_rng(0).normal(size=(3000, 2))
    first, again, other = (median_distance(x, s, per_coordinate=False) for s in (1, 1, 2))
    assert first == again != other
    np.testing.assert_allclose(first, np.median(pdist(x)), rtol=0.05)


def test_a_median_of_zero_says_why():
    """Repeated draws (a Metropolis chain that rarely moves) would divide by zero."""
    x = np.zeros((50, 2))
    x[:3] = np.arange(6).reshape(3, 2)
    with pytest.raises(sw.InputError, match="more than half of the pairs"):
        median_distance(x, 0, per_coordinate=False)
    with pytest.raises(sw.InputError, match="of coordinate 0"):
        median_distance(x, 0, per_coordinate=True)
