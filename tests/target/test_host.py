"""Score functions on the host: what they may return, raise and overwrite."""

import numpy as np
import pytest

import steinwise as sw
from tests.target.cases import MEAN, PRECISION, X, host_score


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (lambda x: x[:, :2], r"returned shape \(37, 2\).*expected shape \(37, 4\)"),
        (lambda x: x.sum(), r"returned shape \(\).*one draw in a loop"),
        (lambda x: x.astype(int), "dtype int64"),
        (lambda x: x.astype(object), "dtype object"),
        (lambda x: x.astype(complex), "dtype complex128"),
    ],
    ids=["fewer columns", "scalar", "integers", "objects", "complex"],
)
def test_a_host_score_of_the_wrong_kind(score, expected):
    """Broadcasting would accept all of these in silence."""
    with pytest.raises(sw.TargetError, match=expected):
        sw.Target.from_score(score).score(X)


def test_a_host_score_that_raises_keeps_its_error_as_the_cause():
    def fails(x):
        raise KeyError("theta")

    with pytest.raises(sw.TargetError, match=r"raised KeyError on input \(37, 4\)") as caught:
        sw.Target.from_score(fails).score(X)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_host_score_that_writes_into_its_input_spoils_nothing():
    """x -= mean is common in NumPy code; the draws that follow must be the draws."""

    def in_place(x):
        x -= MEAN
        return -x @ PRECISION

    before = X.copy()
    np.testing.assert_allclose(sw.Target.from_score(in_place).score(X), host_score(X), atol=1e-12)
    np.testing.assert_array_equal(X, before)
