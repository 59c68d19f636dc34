"""Batch sums against loops over draws, whatever the size of the chunks."""

import jax
import numpy as np
import pytest

import steinwise as sw
from benchmarks import statistic_kinds, targets
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import Batches, cut_by_length
from steinwise.draws.samples import Samples
from steinwise.draws.storage import add_rows
from steinwise.methods.ksd import KSD, FittedKSD
from steinwise.methods.statistics import AbstractStatistic, FeatureProduct, Gram, Mean

CUTS = {
    "one chain of batches of 1": (1, 30, 1),
    "unequal batches": (1, 61, 7),
    "three chains": (3, 23, 5),
}


@pytest.fixture(params=list(CUTS.values()), ids=list(CUTS))
def batches(request: pytest.FixtureRequest) -> Batches:
    return cut_by_length(*request.param, independent=False)


def sums(statistic: AbstractStatistic, batches: Batches) -> np.ndarray:
    """(setting, coordinate, ...), all coordinates together."""
    found = list(statistic.batch_sums(batches))
    assert all(one.batches is batches for one in found)
    return np.concatenate([one.values for one in found], axis=1)


def owners(batches: Batches) -> np.ndarray:
    """(batch, draw): 1 where the draw belongs to the batch."""
    batch = np.repeat(np.arange(batches.count), batches.lengths)
    return (batch[None, :] == np.arange(batches.count)[:, None]).astype(float)


def test_mean(batches: Batches) -> None:
    """Catches a transposed result and sums that leave out the last rows."""
    contributions = np.random.default_rng(0).normal(size=(batches.bounds[-1], 4))
    found = sums(Mean(contributions), batches)
    assert found.shape == (1, 4, batches.count)
    np.testing.assert_allclose(found[0], (owners(batches) @ contributions).T, rtol=1e-12)


def test_mean_watches_the_sum_and_every_column() -> None:
    """Catches a batch length that is set without the sum over coordinates, which is tested."""
    contributions = np.random.default_rng(1).normal(size=(50, 3))
    watched = Mean(contributions).monitored_columns(0, contributions)
    np.testing.assert_allclose(watched[:, 0], contributions.sum(axis=1))
    np.testing.assert_allclose(watched[:, 1:], contributions)


def features(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    return rng.normal(size=(n, 2, 3, 4)), rng.normal(size=(n, 2, 3, 4))


@pytest.mark.parametrize("rows", [1, 5, 7, 10**6])
def test_feature_product(batches: Batches, rows: int) -> None:
    """Catches left and right swapped, and chunks that end inside a batch."""
    n = int(batches.bounds[-1])
    left, right = features(n)
    statistic = FeatureProduct(n, lambda part: (left[part], right[part]), rows)
    pairs = np.einsum("iskf,lskf->skil", left, right)
    member = owners(batches)
    expected = np.einsum("gi,skil,hl->skgh", member, pairs, member)
    np.testing.assert_allclose(sums(statistic, batches), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        statistic.monitored_columns(0, np.empty((n, 1))),
        np.concatenate([left.reshape(n, -1), right.reshape(n, -1)], axis=1),
    )


@pytest.mark.parametrize("rows", [1, 2, 4, 9])
def test_add_rows_in_pieces(batches: Batches, rows: int) -> None:
    """Catches a piece that lies inside one batch, or begins exactly at a border."""
    n = int(batches.bounds[-1])
    values = np.random.default_rng(3).normal(size=(n, 2))
    total = np.zeros((batches.count, 2))
    for start in range(0, n, rows):
        add_rows(total, values[start : start + rows], start, batches.bounds)
    np.testing.assert_allclose(total, batches.sums(values), rtol=1e-9)


def dot_and_shift(shift: float, rows: tuple, others: tuple) -> jax.Array:
    (x, a), (y, b) = rows, others
    return (x @ y.T + a[:, None] * b[None, :] + shift)[None]


@pytest.mark.parametrize("memory", [64, 64 * 30**2, 2**30])
def test_gram(batches: Batches, memory: int) -> None:
    """Catches padding that counts, lost tiles, and tiles that land in the wrong place."""
    n = int(batches.bounds[-1])
    rng = np.random.default_rng(4)
    x, a = rng.normal(size=(n, 3)), rng.normal(size=n)
    statistic = Gram(dot_and_shift, 0.25, (x, a), x, memory)
    pairs = x @ x.T + np.outer(a, a) + 0.25
    np.fill_diagonal(pairs, 0.0)
    expected = owners(batches) @ pairs @ owners(batches).T
    found = sums(statistic, batches)
    assert found.shape == (1, 1, batches.count, batches.count)
    np.testing.assert_allclose(found[0, 0], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        statistic.diagonal()[0], (x**2).sum(axis=1) + a**2 + 0.25, rtol=1e-12
    )


def stein_rbf(x: np.ndarray, score: np.ndarray, width: float) -> np.ndarray:
    """The Stein kernel of an RBF, written out."""
    d = x.shape[1]
    away = x[:, None] - x[None]
    squared = (away**2).sum(axis=-1)
    mixed = (score[:, None] * away).sum(axis=-1) - (score[None] * away).sum(axis=-1)
    inner = score @ score.T + mixed / width**2 + d / width**2 - squared / width**4
    return inner * np.exp(-squared / (2 * width**2))


def test_ksd_is_a_gram_of_stein_kernels() -> None:
    """Catches a wrong sign or power of the bandwidth, and float32 inside the tiles."""
    x = np.random.default_rng(5).normal(size=(61, 3))
    samples, target = Samples.of(x, independent=True), targets.correlated(3)
    statistic = FittedKSD(KSD(sw.kernels.RBF(1.3)), samples).statistic(target, RunOptions())
    batches = cut_by_length(1, 61, 7, independent=True)
    pairs = stein_rbf(x, target.score(x), 1.3)
    np.fill_diagonal(pairs, 0.0)
    expected = owners(batches) @ pairs @ owners(batches).T
    np.testing.assert_allclose(sums(statistic, batches)[0, 0], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["mean (KCC-SD)", "features", "Gram (KSD)"])
def test_results_do_not_depend_on_the_budget(name: str) -> None:
    """Catches numbers that change with memory=: other atoms, other tiles, other rounding."""
    problem = statistic_kinds.gaussian_problem(targets.correlated(3))
    draws = np.random.default_rng(6).normal(size=(3000, 3))
    method = problem.methods[name]
    one, other = (
        sw.check(draws, problem.target, method=method, memory=memory, n_bootstrap=100)
        for memory in ("1MiB", "1GiB")
    )
    assert one.statistic == pytest.approx(other.statistic, rel=1e-9, abs=1e-9)
    assert one.pvalue == other.pvalue


@pytest.mark.parametrize("rows", [1, 37, 1000])
def test_features_do_not_depend_on_the_chunk(rows: int) -> None:
    """Catches features that see the chunk they are in."""
    problem = statistic_kinds.gaussian_problem(targets.correlated(3))
    draws = np.random.default_rng(7).normal(size=(500, 3))
    found, reference = (
        sw.check(draws, problem.target, method=statistic_kinds.SteinFeatures(size), n_bootstrap=100)
        for size in (rows, 4096)
    )
    assert found.statistic == pytest.approx(reference.statistic, rel=1e-9, abs=1e-12)
