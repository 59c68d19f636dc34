"""sw.assert_fits: what a sampler author's test suite sees."""

import numpy as np
import pytest

import steinwise as sw

TARGET = sw.Gaussian(np.zeros(3), np.eye(3))
NAMES = ["mu", "theta", "log_tau"]


def _draws(scale=(1.0, 1.0, 1.0), seed=0):
    return np.random.default_rng(seed).normal(size=(300, 3)) * scale


def test_right_draws_return_the_result():
    result = sw.assert_fits(_draws(), TARGET)
    assert not result.rejected
    assert (result.alpha, result.n_bootstrap) == (1e-3, 10_000)


def test_the_message_names_the_coordinates_and_their_verdicts():
    with pytest.raises(AssertionError) as raised:
        sw.assert_fits(_draws((1.0, 1.0, 2.0)), TARGET, names=NAMES)
    message = str(raised.value)
    assert "at level 0.001" in message
    assert "log_tau: draws are too wide" in message
    assert "mu:" not in message


def test_a_method_without_coordinates_says_so():
    """Catches "no coordinate stands out" where none was looked at."""
    with pytest.raises(AssertionError, match="KSD") as raised:
        sw.assert_fits(_draws() + 1.0, TARGET, method="ksd", alpha=0.01)
    assert "stands out" not in str(raised.value)
    page = sw.check(_draws() + 1.0, TARGET, method="ksd")._repr_html_()
    assert "stands out" not in page


def test_many_wrong_coordinates_are_cut_short():
    target = sw.Gaussian(np.zeros(14), np.eye(14))
    draws = np.random.default_rng(0).normal(size=(200, 14)) * 3
    with pytest.raises(AssertionError, match="and 4 more"):
        sw.assert_fits(draws, target, alpha=0.01)


def test_options_go_to_check():
    assert sw.assert_fits(_draws(), TARGET, alpha=0.01, n_bootstrap=500).n_bootstrap == 500
    with pytest.raises(sw.InputError, match="alpha is 0"):
        sw.assert_fits(_draws(), TARGET, alpha=0)
