"""The statistic of the default check: straight from its formula, and the same at any time."""

import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import cut_by_length
from steinwise.calibration.signs import bootstrap, rademacher
from steinwise.draws.normal_scores import NormalScores
from steinwise.draws.samples import Samples
from steinwise.methods.complete_conditionals import line_blocks, slab_pass
from steinwise.methods.complete_conditionals.effects import NormalScoreSums
from steinwise.methods.complete_conditionals.features import CONTEXTS
from steinwise.methods.complete_conditionals.settings import BASES
from steinwise.methods.complete_conditionals.statistic import LineStatistic
from steinwise.methods.transported import Transported
from steinwise.target import AbstractTarget
from tests.methods.complete_conditionals.formulas import kappa, place_product

STANDARD = sw.Gaussian(np.zeros(3), np.eye(3))


def statistic(draws: np.ndarray, target: AbstractTarget, method: Transported) -> LineStatistic:
    samples, run = Samples.of(draws, independent=True), RunOptions()
    return next(method.prepare(samples, target, run)).statistic(target, run)


@pytest.mark.parametrize("per_batch", [1, 2])
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("base", BASES)
def test_the_statistic_is_the_sum_over_pairs(base: str, context: str, per_batch: int) -> None:
    """Catches a wrong kernel, weight or context, and pairs of one batch that are kept in."""
    x = np.random.default_rng(0).normal(0.2, 1.1, size=(24, 3))
    found = statistic(x, STANDARD, Transported([base], [context], directions=False))
    batches = cut_by_length(1, 24, per_batch, independent=True)
    sums = next(iter(found.batch_sums(batches)))
    z = NormalScores.among(x)(x)
    expected, pairs = np.zeros(3), 0
    for i in range(24):
        for other in range(24):
            if i // per_batch == other // per_batch:
                continue
            pairs += 1
            for j in range(3):
                rest = np.arange(3) != j
                weight = kappa(context, z[i, rest], z[other, rest])
                expected[j] += weight * place_product(base, x[i, j], x[other, j])
    one = bootstrap(sums, rademacher(0, 19, batches.count))
    np.testing.assert_allclose(one.statistic[0], expected / pairs, rtol=1e-9, atol=1e-12)


def test_testing_twice_gives_the_same() -> None:
    """Catches what the first pass over the draws left behind."""
    draws = np.random.default_rng(0).normal(size=(300, 3))
    found = statistic(draws, STANDARD, Transported(directions=False))
    batches = cut_by_length(1, 300, 15, independent=True)
    first, second = (list(found.batch_sums(batches)) for _ in range(2))
    assert all(np.array_equal(a.values, b.values) for a, b in zip(first, second, strict=True))
    one, other = (found.test(batches, 99, 0) for _ in range(2))
    assert len(one.found) == len(other.found) == 1
    np.testing.assert_array_equal(one.found[0].kept, other.found[0].kept)
    first_sums, second_sums = (e.found[0].summary for e in (one, other))
    assert isinstance(first_sums, NormalScoreSums)
    assert isinstance(second_sums, NormalScoreSums)
    sums = zip(first_sums, second_sums, strict=True)
    assert all(np.array_equal(a, b) for a, b in sums)
    assert one.notes() == other.notes() == ()
    np.testing.assert_array_equal(
        one.calibration.adjusted_pvalues, other.calibration.adjusted_pvalues
    )


def same(one: sw.CheckResult, other: sw.CheckResult, rtol: float = 1e-9) -> None:
    assert one.pvalue == other.pvalue
    verdicts = [[c.verdict for c in r.findings.coordinates] for r in (one, other)]
    assert verdicts[0] == verdicts[1]
    for key in ("value", "pvalue", "adjusted_pvalue"):
        values = [[getattr(c, key) for c in r.findings.coordinates] for r in (one, other)]
        np.testing.assert_allclose(*values, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(one.statistic, other.statistic, rtol=rtol)


def test_memory_and_blocks_do_not_change_the_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches sums that depend on the blocks of lines or the runs of batches they come in."""
    rng = np.random.default_rng(3)
    covariance = 0.6 + 0.4 * np.eye(6)
    draws = rng.multivariate_normal(np.zeros(6), covariance, 150)
    draws[:, 1] += 0.1
    target = sw.Gaussian(np.zeros(6), covariance)
    whole = sw.check(draws, target, n_bootstrap=99)
    same(sw.check(draws, target, n_bootstrap=99, memory="1MiB"), whole)
    monkeypatch.setattr(slab_pass, "LINES_AT_ONCE", 70)
    same(sw.check(draws, target, n_bootstrap=99), whole)
    monkeypatch.setattr(slab_pass, "LINES_TOGETHER", 2)
    monkeypatch.setattr(line_blocks, "LINES_PER_BLOCK", 4)
    same(sw.check(draws, target, n_bootstrap=99), whole)
