"""Scores that belong to draws: whatever is done to the draws is done to them."""

from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.memory import chunks
from steinwise.draws.samples import Samples

from_array: Any = da.from_array  # its annotation of `chunks` knows only "auto"
TARGET = sw.Gaussian(np.zeros(2), np.eye(2))
DRAWS = np.random.default_rng(3).normal(size=(3, 40, 2))
SCORES = 10 * DRAWS  # so that every row tells to which draw it belongs


class Chunked:
    """An array as zarr and HDF5 have it, which give no new axes and know no methods of NumPy."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.chunks = array, (1,) * array.ndim
        self.shape, self.dtype, self.ndim = array.shape, array.dtype, array.ndim

    def __getitem__(self, key) -> np.ndarray:
        keys = key if isinstance(key, tuple) else (key,)
        assert all(isinstance(one, int | slice) for one in keys)
        return self.array[key]


def stored(kind: str, array: np.ndarray, path: Path):
    if kind == "dask":
        return from_array(array, chunks=(2, 7, 1))
    if kind == "memory-mapped":
        np.save(path / "array.npy", array)
        return np.load(path / "array.npy", mmap_mode="r")
    return Chunked(array) if kind == "chunked" else array


KINDS = ["in memory", "memory-mapped", "chunked", "dask"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("of_draws", ["in memory", "dask"])
def test_scores_go_along_with_their_draws(kind: str, of_draws: str, tmp_path: Path) -> None:
    samples = Samples.of(stored(of_draws, DRAWS, tmp_path))
    samples = samples.with_scores(stored(kind, SCORES, tmp_path), TARGET)
    thinned = samples.thinned(3)
    spans = chunks(samples.n, 25)
    slabs = list(samples.map_scored_slabs(lambda start, x, scores: (start, x, scores), spans))
    assert sum(len(x) for _, (_, x, _) in slabs) == samples.n
    for span, (start, x, scores) in slabs:
        assert (span.start, span.stop) == (start, start + len(x))
        np.testing.assert_array_equal(scores, 10 * x)
    for one in (samples, thinned):
        np.testing.assert_array_equal(one.scores_by(TARGET.score), 10 * one.rows)
        index = np.array([0, 5, 17, 30])
        np.testing.assert_array_equal(one.scores_by(TARGET.score, index), 10 * one.take(index))


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_split_and_reordered_with_their_draws(kind: str, tmp_path: Path) -> None:
    samples = Samples.of(DRAWS).with_scores(stored(kind, SCORES, tmp_path), TARGET)
    parts = samples.split(0.3, 0.7)
    assert [part.n_draws for part in parts] == [12, 28]
    if kind == "in memory":
        parts = (*parts, samples.reordered(np.random.default_rng(0).permutation(40)))
    for part in parts:
        np.testing.assert_array_equal(part.scores_by(TARGET.score), 10 * part.rows)


def test_scores_that_are_not_known_are_evaluated() -> None:
    samples = Samples.of(DRAWS)
    np.testing.assert_array_equal(samples.scores_by(TARGET.score), -samples.rows)
    (span, found), *_ = samples.map_scored_slabs(lambda _start, _x, scores: scores)
    assert found is None
    assert span.start == 0


def test_scores_of_one_target_are_not_those_of_another() -> None:
    """Catches draws of a sampler, with its gradients, checked against another density."""
    samples = Samples.of(DRAWS).with_scores(SCORES, TARGET)
    assert samples.scored_by(TARGET) is samples
    other = samples.scored_by(sw.Gaussian(np.zeros(2), 2 * np.eye(2)))
    assert other.scores is None
    again = sw.Gaussian(np.zeros(2), np.eye(2))
    sets = {"scored": samples, "plain": DRAWS}
    equal = [sw.compare(sets, target, method="ksd").ranking for target in (again, TARGET)]
    assert [one[0].value == one[1].value for one in equal] == [True, False]


def test_rows_of_one_chain_may_lack_its_axis() -> None:
    rows = DRAWS.reshape(-1, 2)
    in_memory = 10 * rows
    for scores in (in_memory, Chunked(in_memory), from_array(in_memory), Samples.of(in_memory)):
        samples = Samples.of(rows).with_scores(scores, TARGET)
        np.testing.assert_array_equal(samples.scores_by(TARGET.score), 10 * rows)
        assert samples.scores.shape == (1, 120, 2)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (SCORES[:, :39], r"shape \(3, 39, 2\), and the draws \(3, 40, 2\).*before thinning"),
        (np.swapaxes(SCORES, 0, 1), r"pass np.swapaxes\(scores, 0, 1\)"),
        (SCORES.reshape(-1, 2), r"pass scores.reshape\(3, 40, 2\)"),
        (SCORES[..., :1], "leave out parameters"),
        (SCORES[0, :, 0], "leave out parameters"),
        (SCORES.astype(int), "dtype int64: expected an array of float32 or float64"),
        ({"mu": SCORES}, "of type dict and dtype object"),
        ([[1.0], [1.0, 2.0]], "cannot be converted"),
        (np.ma.masked_greater(SCORES, 20), "scores is a masked array"),
    ],
)
def test_scores_that_do_not_belong_to_the_draws(scores, expected: str) -> None:
    with pytest.raises(sw.InputError, match=expected):
        Samples.of(DRAWS).with_scores(scores, TARGET)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_that_are_not_finite_are_named_by_draw(kind: str, tmp_path: Path) -> None:
    scores = SCORES.copy()
    scores[1, 17, 1], scores[2, 3] = np.nan, np.inf
    with pytest.raises(sw.InputError, match=r"3 of 240 .* nan at draw 17 of chain 1.* log_tau"):
        Samples.of(DRAWS, names=["mu", "log_tau"]).with_scores(
            stored(kind, scores, tmp_path), TARGET
        )


def test_float32_scores_are_widened() -> None:
    samples = Samples.of(DRAWS).with_scores(SCORES.astype(np.float32), TARGET)
    assert samples.scores.dtype == np.float64
