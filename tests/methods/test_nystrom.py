"""Nystrom KSD: against the formula written out, KSD itself, and draws that are right."""

import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.draws.samples import Samples
from steinwise.methods.ksd import KSD
from steinwise.methods.nystrom import FittedNystromKSD, NystromKSD

TARGET = sw.Gaussian(np.zeros(3), np.eye(3))
KERNEL = sw.kernels.IMQ(1.5)


def draws(n: int, shift: float = 0.0, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([3, seed]).normal(shift, 1.0, size=(n, 3))


def gram(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The Stein kernel of the IMQ with width 1.5 for N(0, I), written out."""
    away, s = x[:, None] - y, 1.5**2
    q = 1 + (away**2).sum(axis=-1) / s
    along = ((y[None] - x[:, None]) * away).sum(axis=-1)
    terms = x @ y.T * q**-0.5 + (3 + along) / s * q**-1.5
    return terms - 3 * (away**2).sum(axis=-1) / s**2 * q**-2.5


def test_the_statistic_is_the_projected_mean_over_pairs() -> None:
    """Catches a wrong inverse, landmarks without their scores, and a diagonal kept in."""
    x = draws(80, 0.3)
    found = sw.check(x, TARGET, method=NystromKSD(KERNEL, 15))
    fitted = FittedNystromKSD(NystromKSD(KERNEL, 15), Samples.of(x))
    chosen = fitted.statistic(TARGET, RunOptions()).chosen
    assert len(chosen) == len(set(chosen)) == 15
    z = x[chosen]
    pairs = gram(x, z) @ np.linalg.pinv(gram(z, z)) @ gram(z, x)
    np.fill_diagonal(pairs, 0.0)
    assert found.discrepancy == pytest.approx(pairs.sum() / (80 * 79))


def test_with_all_draws_as_landmarks_it_is_ksd() -> None:
    """Catches an approximation that never becomes exact."""
    x = draws(120, 0.1)
    exact, all_of_them = (
        sw.check(x, TARGET, method=method) for method in (KSD(KERNEL), NystromKSD(KERNEL, 120))
    )
    assert all_of_them.discrepancy == pytest.approx(exact.discrepancy, rel=1e-6)
    assert all_of_them.pvalue == exact.pvalue
    more = sw.check(x, TARGET, method=NystromKSD(KERNEL, 10_000))
    assert more.discrepancy == all_of_them.discrepancy


def test_the_default_number_of_landmarks_grows_as_the_root_of_n() -> None:
    """Catches a cost that is quadratic after all."""
    for n, expected in ((10, 10), (400, 80), (2500, 200)):
        fitted = FittedNystromKSD(NystromKSD(), Samples.of(draws(n)))
        assert len(fitted.statistic(TARGET, RunOptions()).chosen) == expected


@pytest.mark.parametrize("landmarks", [0, 2.5, True, "many"])
def test_bad_options_are_answered(landmarks: object) -> None:
    with pytest.raises(sw.InputError, match="landmarks is"):
        NystromKSD(landmarks=landmarks)  # type: ignore[arg-type]
