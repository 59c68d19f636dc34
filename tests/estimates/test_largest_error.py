"""The largest error of a mean or an sd, and how often its interval covers."""

import numpy as np
import pytest

import steinwise as sw
from steinwise.calibration.batches import even_batches
from steinwise.calibration.set_ranking import exceeds
from steinwise.estimates.largest_error import largest_error
from steinwise.estimates.moments import moment_errors

D = 5
COVARIANCE = 0.5 * np.eye(D) + 0.5
ROOT, PRECISION = np.linalg.cholesky(COVARIANCE), np.linalg.inv(COVARIANCE)
NAMES = tuple("abcde")
CUT = (1, 300, 60)
BATCHES = even_batches(1, 300, 60, independent=True)


def drawn(seed: int, width: float = 1.0, shift: float = 0.0) -> np.ndarray:
    z = np.random.default_rng(seed).normal(size=(300, D))
    return width * z @ ROOT.T + shift * np.eye(D)[2]


def interval(x: np.ndarray, alpha: float):
    return largest_error(moment_errors(x, -x @ PRECISION, BATCHES), NAMES, CUT, 0, alpha)


@pytest.mark.parametrize(
    ("width", "shift", "truth"),
    [(1.0, 0.0, 0.0), (1.0, 0.3, 0.3), (1 / 1.4, 0.2, np.log(1.4)), (1.4, 0.0, np.log(1.4))],
)
def test_intervals_cover_the_truth(width: float, shift: float, truth: float) -> None:
    """Catches the largest of ten estimates taken as if it was the only one.

    200 repetitions at level 0.1: more than 36 misses have probability 2e-4. Where all errors are
    0 the interval is no wider than it must be: fewer than 8 misses have probability 1e-3.
    """
    found = [interval(drawn(seed, width, shift), 0.1) for seed in range(200)]
    misses = sum(not (one.low <= truth <= (one.high or np.inf)) for one in found)
    assert misses <= 36
    assert truth > 0 or misses >= 8


def test_half_as_wide_is_as_far_off_as_twice_as_wide() -> None:
    x = drawn(0)
    narrow, wide = interval(x / 2, 0.05), interval(2 * x, 0.05)
    for one in (narrow, wide):
        assert one.quantity == "sd"
        assert one.low < np.log(2) < (one.high or 0.0)
    assert wide.size - np.log(2) == pytest.approx(np.log(2) - narrow.size, abs=0.15)


def test_what_is_not_known_is_said() -> None:
    none = largest_error(None, NAMES, CUT, 0, 0.05)
    assert (none.size, none.low, none.high, none.unknown) == (None, 0.0, None, NAMES)
    assert not exceeds(none, none)
    bounded = sw.Target(lambda x: -x[0], support=sw.support.positive)
    result = sw.check(np.random.default_rng(0).exponential(size=(100, 1)), bounded)
    assert result.largest_error().unknown == ("x[0]",)
    with pytest.raises(sw.InputError, match="alpha is 2"):
        result.largest_error(2)


def test_one_set_exceeds_another_beyond_chance() -> None:
    right, near, far = (interval(drawn(7, shift=shift), 0.01) for shift in (0.0, 0.05, 1.0))
    assert exceeds(far, right)
    assert exceeds(far, near)
    assert not exceeds(near, right)
    assert not exceeds(right, far)
    assert (far.coordinate, far.quantity) == ("c", "mean")


def test_smaller_levels_have_longer_intervals_however_small() -> None:
    """Catches a quantile of signs that are too few for it: the largest one, whatever the level."""
    x = drawn(3, shift=0.5)
    lows = [interval(x, alpha).low for alpha in (0.2, 1e-2, 1e-3, 1e-4, 1e-5, 1e-8)]
    assert lows == sorted(lows, reverse=True)
    assert len(set(lows)) == len(lows)
