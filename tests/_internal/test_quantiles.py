"""Quantiles of sorted numbers."""

import numpy as np

from steinwise._internal.quantiles import quantiles_of_sorted


def test_they_are_those_of_numpy() -> None:
    rows = np.random.default_rng(0).normal(size=(4, 23))
    shares = np.array([0.0, 0.013, 0.5, 0.77, 1.0])
    expected = np.quantile(rows, shares, axis=1)
    np.testing.assert_allclose(quantiles_of_sorted(np.sort(rows, axis=1), shares), expected)
