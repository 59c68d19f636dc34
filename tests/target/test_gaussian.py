"""Gaussian targets that are refused."""

import numpy as np
import pytest

import steinwise as sw


@pytest.mark.parametrize(
    ("mean", "covariance", "expected"),
    [
        ([0.0, 0.0], [1.0, 1.0], r"covariance \(2,\).*np\.diag"),
        ([[0.0]], [[1.0]], r"mean has shape \(1, 1\)"),
        ([0.0, np.nan], np.eye(2), "not finite"),
        ([0.0, 0.0], [[1.0, 0.5], [0.4, 1.0]], "not symmetric: it differs by up to 0.1"),
        ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], "smallest eigenvalue is -1"),
    ],
    ids=["vector of variances", "matrix mean", "nan", "asymmetric", "indefinite"],
)
def test_a_mean_and_covariance_of_no_gaussian(mean, covariance, expected):
    with pytest.raises(sw.InputError, match=expected):
        sw.Gaussian(mean, covariance)
