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
        ([0.0, 0.0], [[1.0, 0.5], [0.4, 1.0]], "not symmetric.*by up to 0.1"),
        ([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]], "smallest eigenvalue is -1"),
        ([0.0, 0.0], [[1.0, 1e-3], [0.0, 1.0]], "not symmetric"),
        ([[0.0], [0.0, 1.0]], np.eye(2), "mean is .*rows of one length"),
        (["a", "b"], np.eye(2), "mean is .*real numbers"),
        ([0.0, 0.0], "identity", "covariance is 'identity'"),
        ([0.0, 1j], np.eye(2), "mean is .*real numbers"),
        (np.zeros(2), np.eye(2) + 1j * np.diag([1.0, -1.0]), "covariance is .*real numbers"),
        (np.ma.masked_array([0.0, 9.0], [False, True]), np.eye(2), "mean is .*masked"),
        ([np.ma.masked, 0.0], np.eye(2), "mean is .*masked"),
        (np.zeros(2), [np.ma.masked_array([1.0, 9.0], [False, True]), [9.0, 100.0]], "masked"),
        (None, np.eye(2), "mean is None"),
    ],
    ids=[
        "vector of variances",
        "matrix mean",
        "nan",
        "asymmetric",
        "indefinite",
        "a little asymmetric",
        "ragged",
        "strings",
        "a word",
        "complex mean",
        "complex covariance",
        "masked mean",
        "masked entry",
        "masked row",
        "nothing",
    ],
)
def test_a_mean_and_covariance_of_no_gaussian(mean, covariance, expected):
    with pytest.raises(sw.InputError, match=expected):
        sw.Gaussian(mean, covariance)


def test_asymmetry_of_rounding_is_taken_out():
    """A covariance from a product of matrices, refused for its last digit next to a zero."""
    covariance = np.eye(3) + 0.5
    covariance[0, 1] += 1e-16
    covariance[0, 2], covariance[2, 0] = 1e-17, 0.0
    covariance[:, 2] *= 1e-3
    covariance[2] *= 1e-3
    found = sw.Gaussian(np.zeros(3), covariance).covariance
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, covariance, rtol=1e-12, atol=1e-16)
    in_float32 = np.random.default_rng(0).normal(size=(3, 9)).astype(np.float32)
    product = in_float32 @ np.diag(np.arange(1, 10, dtype=np.float32)) @ in_float32.T
    assert sw.Gaussian(np.zeros(3), product).precision.shape == (3, 3)
