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


def centred_in_place(x):
    x -= MEAN
    return -x @ PRECISION


def log_density_in_place(x):
    x -= MEAN
    return -0.5 * np.einsum("ni,ij,nj->n", x, PRECISION, x)


def lines_in_place(x, j, y):
    x[:, j], y[:] = 7.0, y - 1.0  # x is not used here, only spoiled
    return -y


def test_functions_that_write_into_their_input_spoil_nothing_anywhere():
    """The log density saw what the score had left of the points, and rejected correct draws."""
    target = sw.Target.from_score(centred_in_place, log_density_in_place)
    clean = sw.Target.from_score(host_score, lambda x: log_density_in_place(x.copy()))
    directions, steps = np.eye(4)[:2], np.random.default_rng(0).normal(size=(37, 2, 3))
    before = X.copy(), steps.copy()
    values, slopes = target.direction_values(X, directions, steps)
    clean_values, clean_slopes = clean.direction_values(X, directions, steps)
    assert values is not None
    assert clean_values is not None
    assert slopes is not None
    assert clean_slopes is not None
    np.testing.assert_allclose(values, clean_values, atol=1e-12)
    np.testing.assert_allclose(slopes, clean_slopes, atol=1e-12)
    with_lines = sw.Target.from_score(centred_in_place, lines=lines_in_place)
    for _ in range(2):
        slopes = with_lines.line_values(X, np.array([1, 3]), steps)[1]
        assert slopes is not None
        np.testing.assert_allclose(slopes, 1 - before[1])
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(steps, before[1])


def test_a_conditional_sampler_that_writes_into_its_input_spoils_nothing():
    def spoils(key, x, n_atoms):
        x[:] = np.random.default_rng(key).normal(size=x.shape)
        return np.repeat(x[..., None], n_atoms, axis=2)

    def clean(key, x, n_atoms):
        return spoils(key, x.copy(), n_atoms)

    target, before = sw.Gaussian(MEAN, np.linalg.inv(PRECISION)), X.copy()
    values = [
        sw.kccsd(X, target, conditional=sw.conditionals.Sampler(fn)).value for fn in (spoils, clean)
    ]
    assert values[0] == values[1]
    np.testing.assert_array_equal(X, before)


def test_masked_scores_are_refused() -> None:
    """Catches what lies under a mask, and is taken for a score."""
    x = np.random.default_rng(0).normal(size=(20, 2))
    target = sw.Target.from_score(lambda y: np.ma.masked_greater(-y, 1.0))
    with pytest.raises(sw.TargetError, match=r"masked array with .* masked entries"):
        target.score(x)
