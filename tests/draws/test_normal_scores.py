"""Normal scores of ranks."""

import numpy as np
import pytest

from steinwise.draws.normal_scores import NormalScores


def test_scores_have_mean_zero_and_variance_one_and_keep_the_order() -> None:
    """Catches a coordinate that is scored by another's draws."""
    x = np.random.default_rng(0).standard_cauchy(size=(200, 3)) * [1.0, 1e-6, 1e6]
    z = NormalScores.among(x)(x)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(z.std(axis=0), 1, rtol=1e-12)
    np.testing.assert_array_equal(np.argsort(z, axis=0), np.argsort(x, axis=0))


def test_ties_have_one_score() -> None:
    z = NormalScores.among(np.array([[0.0], [1.0], [1.0], [3.0]]))(np.array([[1.0]]))
    assert z[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_scores_are_constant_beyond_the_draws_and_rise_between_them() -> None:
    """Catches an extrapolation, by which one far draw would decide a sum."""
    scores = NormalScores.among(np.arange(10.0)[:, None])
    z = scores(np.array([-1e9, 0.0, 4.25, 4.75, 9.0, 1e9])[:, None])[:, 0]
    assert (z[0], z[5]) == (z[1], z[4])
    assert z[1] < z[2] < z[3] < z[4]
