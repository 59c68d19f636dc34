"""Draws that are not held whole: files, chunked arrays, Dask; and what an interruption leaves."""

import os
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

import steinwise as sw
from benchmarks import simulate
from steinwise._internal.memory import chunks
from steinwise.draws.storage import map_slabs, read_rows, take_rows
from steinwise.methods.complete_conditionals import slab_pass
from steinwise.methods.complete_conditionals.slab_pass import SlabPass

from_array: Any = da.from_array  # its annotation of `chunks` knows only "auto"
TARGET = sw.Gaussian(np.zeros(3), np.eye(3))


class Chunked:
    """An array as zarr and HDF5 have it, which remembers how much was ever read at once."""

    chunks = (100, 3)

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.most = array, 0
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, key):
        if key is None or (isinstance(key, tuple) and None in key):
            raise TypeError("zarr and HDF5 add no axes")
        found = self.array[key]
        self.most = max(self.most, found.size // self.shape[-1])
        return found


def normal(n: int = 3000, d: int = 3) -> np.ndarray:
    draws = np.random.default_rng(0).normal(size=(n, d))
    draws[:, 1] *= 1.07
    return draws


def numbers(result: sw.CheckResult) -> np.ndarray:
    found = [result.statistic, result.pvalue, result.draws.effective_draws]
    for c in result.findings.coordinates:
        assert c.effect is not None
        found += [c.value, c.pvalue, c.adjusted_pvalue, *c.effect]
    return np.array(found)


@pytest.mark.parametrize("part", [slice(0, 5), slice(5, 17), slice(8, 21), slice(20, 30)])
def test_rows_are_counted_through_all_chains(part: slice) -> None:
    """Catches rows that are lost, or read twice, where a slab runs from one chain into the next."""
    values = np.random.default_rng(1).normal(size=(3, 10, 2))
    flat = values.reshape(-1, 2)
    stored = from_array(values, chunks=(2, 3, 1))
    for one in (values, values.astype(np.float32), stored):
        np.testing.assert_allclose(read_rows(one, part), flat[part], atol=1e-7)
        assert read_rows(one, part).dtype == np.float64
    index = np.array([0, 9, 10, 29])
    np.testing.assert_array_equal(take_rows(stored, index), flat[index])
    for one in (values, stored):
        pieces = list(map_slabs(one, lambda start, rows: (start, rows), chunks(30, 4)))
        assert [piece[0] for _, piece in pieces] == [where.start for where, _ in pieces]
        np.testing.assert_array_equal(np.concatenate([rows for _, (_, rows) in pieces]), flat)


def test_a_file_gives_the_same_numbers_and_is_not_copied(tmp_path: Path) -> None:
    """Catches a cast, or a copy, of the whole file."""
    draws = normal()
    np.save(tmp_path / "draws.npy", draws)
    np.save(tmp_path / "single.npy", draws.astype(np.float32))
    file = np.load(tmp_path / "draws.npy", mmap_mode="r")
    assert np.shares_memory(sw.Samples.of(file).values, file)
    expected = numbers(sw.check(draws, TARGET))
    np.testing.assert_array_equal(numbers(sw.check(file, TARGET)), expected)
    single = np.load(tmp_path / "single.npy", mmap_mode="r")
    assert sw.Samples.of(single).values.dtype == np.float32
    same = numbers(sw.check(draws.astype(np.float32).astype(np.float64), TARGET))
    np.testing.assert_array_equal(numbers(sw.check(single, TARGET)), same)


def test_a_chunked_array_is_never_read_whole() -> None:
    """Catches a method, or the border, that asks for all rows at once."""
    draws = normal(20_000)
    stored = Chunked(draws[None])
    expected = numbers(sw.check(draws, TARGET, memory="4MiB", n_bootstrap=99))
    samples = sw.Samples(stored, ("x[0]", "x[1]", "x[2]"), True)
    np.testing.assert_allclose(
        numbers(sw.check(samples, TARGET, memory="4MiB", n_bootstrap=99)), expected, rtol=1e-9
    )
    whole = sw.Samples.of(from_array(draws, chunks=(1000, 3)))
    assert whole.loaded(2**30, "a test").in_memory
    with pytest.raises(sw.InputError, match=r"takes 5 MiB in memory.*'ksd' needs all draws"):
        sw.check(from_array(np.tile(draws, (10, 1)), chunks=(1000, 3)), TARGET, method="ksd",
                 memory="4MiB", independent=True)  # fmt: skip


def test_other_methods_take_stored_draws_into_memory() -> None:
    """Catches a method that cannot work with what is not an array."""
    draws = normal(400)
    stored = from_array(draws, chunks=(100, 2))
    for method in ("ksd", "fssd", "sksd"):
        one, other = (sw.check(x, TARGET, method=method, n_bootstrap=99) for x in (draws, stored))
        assert one.pvalue == other.pvalue
    assert sw.ksd(stored, TARGET).value == sw.ksd(draws, TARGET).value


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        (da.ones((100, 3), dtype=int, chunks=50), "dtype int64: expected floats"),
        (
            from_array(normal(90), chunks=30)[from_array(normal(90)[:, 0] > 0)],
            "how many rows",
        ),
        (from_array(np.where(normal(90) > 2, np.nan, 1.0), chunks=30), "NaN or infinite"),
        (da.ones((100, 3), chunks=50), "3 of 3 coordinates never change"),
        (da.ones(100, chunks=50), "1 axis: expected"),
    ],
)
def test_bad_arrays_are_answered(draws: da.Array, expected: str) -> None:
    with pytest.raises(sw.InputError, match=expected):
        sw.check(draws, TARGET, n_bootstrap=99)


@pytest.mark.parametrize("kind", ["independent", "chains"])
def test_dask_gives_the_numbers_of_one_machine(kind: str) -> None:
    """Catches chunks that are added to the wrong batches, and held-out rows counted per chunk."""
    covariance = 0.6 + 0.4 * np.eye(3)
    target = sw.Gaussian(np.zeros(3), covariance)
    rng = np.random.default_rng(2)
    draws = rng.multivariate_normal(np.zeros(3), covariance, 3000)
    stored = from_array(draws, chunks=(701, 2))
    if kind == "chains":
        draws = simulate.autoregressive(rng, np.full(3, 0.5), 3, 1000)
        draws = draws @ np.linalg.cholesky(covariance).T
        stored = from_array(draws, chunks=(2, 333, 3))
    one, other = (sw.check(x, target) for x in (draws, stored))
    assert any(c.name.startswith("direction") for c in one.coordinates)
    np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-9)
    assert [c.verdict for c in one.coordinates] == [c.verdict for c in other.coordinates]
    assert one.findings.pit is not None
    assert other.findings.pit is not None
    np.testing.assert_allclose(one.findings.pit, other.findings.pit, atol=1e-12)


def test_a_budget_of_evaluations_leaves_out_the_same_stored_draws() -> None:
    """Catches stored draws that are thinned across chains, or chunk by chunk."""
    draws = simulate.autoregressive(np.random.default_rng(4), np.full(3, 0.3), 3, 800)
    stored = from_array(draws, chunks=(1, 300, 3))
    target = sw.Target.from_score(lambda x: -x)
    options: dict[str, Any] = {"method": "transported", "evaluations": 200_000, "n_bootstrap": 99}
    with pytest.warns(sw.SteinwiseWarning, match="draws was tested"):
        one, other = (sw.check(x, target, **options) for x in (draws, stored))
    assert one.draws.n_draws == other.draws.n_draws < 800
    np.testing.assert_allclose(numbers(one), numbers(other), rtol=1e-9)


class DiesOnce:
    """A score whose first worker to see a certain draw is killed, and a record of all calls."""

    def __init__(self, folder: Path, fatal: float) -> None:
        self.folder, self.fatal = folder, fatal

    def __call__(self, x: np.ndarray) -> np.ndarray:
        marker = self.folder / "died"
        if "DASK_WORKER" in os.environ and (x[:, 0] == self.fatal).any() and not marker.exists():
            marker.touch()
            os._exit(1)
        return -x


def test_a_worker_that_dies_costs_only_its_chunks(tmp_path: Path) -> None:
    """Catches a run that dies with a worker, or counts a chunk twice or not at all."""
    draws = normal(400, 2)
    target = sw.Target.from_score(DiesOnce(tmp_path, draws[250, 0]))
    alone = numbers(sw.check(draws, target, n_bootstrap=99))
    assert not (tmp_path / "died").exists()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,  # type: ignore[arg-type]
            env={"DASK_WORKER": "1"},
        ) as cluster,
        Client(cluster),
    ):
        stored = from_array(draws, chunks=(50, 2))
        together = numbers(sw.check(stored, target, n_bootstrap=99))
    assert (tmp_path / "died").exists()
    np.testing.assert_allclose(together, alone, rtol=1e-9)


# -- interruptions ---------------------------------------------------------------------------------


class Interrupted:
    """A score that is interrupted when it comes to a certain draw."""

    def __init__(self, draw: float) -> None:
        self.draw = draw

    def __call__(self, x: np.ndarray) -> np.ndarray:
        if (x[:, 0] == self.draw).any():
            raise KeyboardInterrupt
        return -x


def test_an_interruption_leaves_the_verdict_on_the_draws_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Catches batches that were begun and are counted as whole."""
    for limit in ("SLAB_LINES", "MORE_SLAB_LINES"):
        monkeypatch.setattr(slab_pass, limit, 128)
    draws = normal(1280, 2) + 0.3
    target = sw.Target.from_score(Interrupted(draws[700, 0]))
    with pytest.warns(sw.SteinwiseWarning, match="rests on the first 660 of 1280 draws"):
        result = sw.check(draws, target, method=sw.methods.Transported(directions=False))
    assert result.rejected
    assert result.draws.n_batches == 33
    assert result.draws.effective_draws == 660
    assert result.findings.pit is not None
    assert len(result.findings.pit) == 660
    assert np.isfinite(result.findings.pit).all()
    # the same as the check of those draws, in those batches
    again = sw.check(
        draws[:660],
        sw.Target.from_score(lambda x: -x),
        method=sw.methods.Transported(directions=False),
        batch_length=20,
    )
    for one, other in zip(result.findings.coordinates, again.findings.coordinates, strict=True):
        assert one.effect is not None
        assert other.effect is not None
        np.testing.assert_allclose(one.effect, other.effect, atol=1e-3)


def test_an_interruption_before_a_verdict_is_possible_is_one() -> None:
    draws = normal(1280, 2)
    target = sw.Target.from_score(Interrupted(draws[100, 0]))
    with pytest.raises(KeyboardInterrupt):
        sw.check(draws, target)


def test_an_interruption_while_directions_are_followed_leaves_the_coordinates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Catches a verdict that is lost although all coordinates had theirs."""
    covariance = 0.9 + 0.1 * np.eye(3)
    draws = np.random.default_rng(3).multivariate_normal(np.zeros(3), covariance, 300)
    whole_pass = SlabPass.over

    def over(self: SlabPass, *args, **options):
        if self.lines.group == "directions":
            monkeypatch.setattr(SlabPass, "__call__", _interrupt)
        return whole_pass(self, *args, **options)

    monkeypatch.setattr(SlabPass, "over", over)
    with pytest.warns(sw.SteinwiseWarning, match="3 of 4 coordinates and directions were looked"):
        result = sw.check(draws, sw.Gaussian(np.zeros(3), covariance), independent=True)
    assert {c.name for c in result.coordinates} == {"x[0]", "x[1]", "x[2]"}


def _interrupt(*_args, **_options):
    raise KeyboardInterrupt
