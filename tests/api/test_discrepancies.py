"""Values of the rivals without a test, against independent implementations and simulation."""

from typing import Any

import dask.array as da
import numpy as np
import pytest

import steinwise as sw
from steinwise.api import discrepancies
from steinwise.kernels import RBF

X = np.random.default_rng(0).laplace(0, 1 / np.sqrt(2), (200, 5))
V = np.random.default_rng(1).standard_normal((5, 5))
TARGET = sw.Gaussian(np.zeros(5), np.eye(5))
MEDIAN = 2.7438457483802026


def test_fssd_at_given_locations() -> None:
    found = sw.fssd(X, TARGET, kernel=RBF(MEDIAN), locations=V)
    assert 200 * found.value == pytest.approx(0.15817136241899915, rel=1e-9)
    assert found.per_coordinate.sum() == pytest.approx(found.value)


def test_fssd_finds_its_locations_on_draws_that_are_not_measured() -> None:
    found = sw.fssd(X, TARGET, locations=3)
    assert "FSSD-opt" in found.description
    assert found.value != sw.fssd(X, TARGET, locations=3, seed=1).value


def test_rfsd_at_given_locations() -> None:
    found = sw.rfsd(X, TARGET, kind="imq", gamma=0.25, locations=V)
    assert np.log(found.value) == pytest.approx(-48.19199881447129, rel=1e-9)
    assert np.sqrt((found.per_coordinate**2).sum()) == pytest.approx(found.value)


@pytest.mark.parametrize(("kind", "d"), [("imq", 160), ("sech", 400)])
def test_a_value_that_no_float_holds_is_said(kind, d: int) -> None:
    """Catches a discrepancy of 0 for draws that are far off."""
    x = np.random.default_rng(0).normal(1.0, 1.0, (60, d))
    with pytest.warns(sw.SteinwiseWarning, match=r"RPhiSD is exp\(-?\d{3}.*no float holds"):
        sw.rfsd(x, sw.Gaussian(np.zeros(d), np.eye(d)), kind=kind)


def test_small_squares_do_not_make_a_value_zero() -> None:
    """Catches a square root of squares that are too small for a float, where it is not."""
    x = np.random.default_rng(0).normal(1.0, 1.0, (60, 20))
    found = sw.rfsd(x, sw.Gaussian(np.zeros(20), np.eye(20)), kind="imq", gamma=0.25)
    assert 1e-200 < found.per_coordinate.max() <= found.value < 1e-100


@pytest.mark.parametrize(
    ("estimator", "value"), [("u", 0.46460924214592475), ("v", 0.52924780378516)]
)
def test_sliced_ksd_on_the_axes(estimator, value: float) -> None:
    found = sw.sksd(X, TARGET, estimator=estimator)
    assert found.value == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize(
    "measure",
    [
        lambda x, t: sw.fssd(x, t, kernel=RBF(1.5), locations=V[:, :2]),
        lambda x, t: sw.rfsd(x, t, kind="sech", locations=V[:, :2]),
        lambda x, t: sw.sksd(x, t, kernel=RBF(1.0)),
    ],
    ids=["fssd", "rfsd", "sksd"],
)
def test_the_standard_error_is_the_spread_over_data_sets(measure) -> None:
    """Catches an error of the mean of one batch, or of one coordinate."""
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    rng = np.random.default_rng(0)
    found = [measure(rng.normal(0.4, 1.2, size=(400, 2)), target) for _ in range(60)]
    spread = np.std([one.value for one in found], ddof=1)
    errors = [one.standard_error for one in found]
    assert np.mean(errors) == pytest.approx(spread, rel=0.35)  # 4 standard errors of the spread


def test_one_coordinate_at_random_has_no_standard_error() -> None:
    """Catches an error that forgets the choice: one coordinate does not tell how they differ."""
    sampler = sw.conditionals.Sampler(lambda _, x, n_atoms: np.zeros((*x.shape, n_atoms)))
    chosen = sw.kccsd(X, TARGET, conditional=sampler, coordinates=1)
    assert chosen.standard_error is None
    assert chosen.per_coordinate is not None
    assert chosen.value == pytest.approx(5 * chosen.per_coordinate[0])


def test_bad_estimator_and_too_few_draws() -> None:
    with pytest.raises(sw.InputError, match="estimator is 'w'"):
        sw.sksd(X, TARGET, estimator="w")  # type: ignore[arg-type]
    with pytest.warns(sw.SteinwiseWarning, match="no standard error"):
        assert sw.rfsd(X[:7], TARGET).standard_error is None


@pytest.mark.filterwarnings("ignore:no standard error")
@pytest.mark.parametrize("measure", [sw.ksd, sw.sksd])
def test_a_chain_too_slow_for_an_error_is_still_cut(measure, monkeypatch) -> None:
    """Catches all pairs of draws at once, whatever memory= says."""
    walk = np.random.default_rng(2).normal(size=(1, 2000, 2)).cumsum(axis=1) / 50
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    found, seen = measure(walk, target, kernel=RBF(1.0)), []
    one_error = discrepancies.error_and_sums

    def noted(*arguments):
        seen.append(one_error(*arguments))
        return seen[-1]

    monkeypatch.setattr(discrepancies, "error_and_sums", noted)
    assert measure(walk, target, kernel=RBF(1.0), memory="1MiB").value == pytest.approx(found.value)
    assert found.standard_error is None
    assert seen[0][1].batches.lengths.max() <= 8


def test_stored_draws_are_read_once_and_only_if_there_is_room() -> None:
    """Catches a computation that is repeated for every look at the draws."""
    reads = []

    def read(block):
        reads.append(1)
        return block

    chunks: Any = (200, 5)  # whose annotation knows only "auto"
    stored = da.from_array(X, chunks=chunks).map_blocks(read, dtype=float)
    reads.clear()  # Dask has tried it out
    sw.Samples.of(stored)
    at_the_border = len(reads)
    assert sw.ksd(stored, TARGET).value == sw.ksd(X, TARGET).value
    assert len(reads) == at_the_border + (at_the_border + 1)
    chunks = (20_000, 5)
    large = da.random.default_rng(0).normal(size=(200_000, 5), chunks=chunks)
    with pytest.raises(sw.InputError, match="takes 8 MiB in memory"):
        sw.ksd(large, TARGET, memory="4MiB", independent=True)
