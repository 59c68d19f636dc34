"""Many bootstraps: in chunks, with the numbers of one piece, and within the memory."""

import subprocess
import sys

import numpy as np
import pytest

import steinwise as sw
from steinwise.calibration import families, signs
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import even_batches
from steinwise.calibration.families import calibrate, require_room
from steinwise.calibration.signs import BootstrapWeights, multinomial, rademacher

X = np.random.default_rng(0).normal(size=(60, 2)) * [1.0, 1.2]
TARGET = sw.Gaussian([0, 0], np.eye(2))


@pytest.mark.parametrize("weights", [rademacher, multinomial], ids=["signs", "counts"])
@pytest.mark.parametrize("count", [7, 250])
def test_chunks_are_the_rows_of_one_piece(
    weights: BootstrapWeights, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches random words that are thrown away at the end of a chunk."""
    monkeypatch.setattr(signs, "BOOTSTRAPS_AT_ONCE", 8)
    whole = weights(3, 21, count)
    np.testing.assert_array_equal(np.concatenate(list(weights.chunks(3, 21, count))), whole)


@pytest.mark.parametrize("two_sided", [False, True])
def test_chunks_do_not_change_a_calibration(
    two_sided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches a chunk that is lost, counted twice, or filled up with rows that count."""
    batches = even_batches(1, 12, 12, independent=True)
    values = np.random.default_rng(1).normal(size=(2, 3, 12))
    blocks = [BatchSums(values, batches, "sums"), BatchSums(values, batches, "max", "", 0.0, 1.0)]
    if two_sided:
        blocks[1] = BatchSums(values, batches, "max", "", 0.0, 1.0, two_sided=True)
    whole = calibrate(blocks, 50, 0)
    for module in (signs, families):
        monkeypatch.setattr(module, "BOOTSTRAPS_AT_ONCE", 16)
    parts = calibrate(blocks, 50, 0)
    assert len(parts.null) == 50
    np.testing.assert_allclose(parts.null, whole.null, rtol=1e-12)
    assert parts.pvalue == whole.pvalue
    np.testing.assert_array_equal(parts.adjusted_pvalues, whole.adjusted_pvalues)


@pytest.mark.parametrize("name", ["transported", "fssd", "rfsd", "ksd"])
def test_chunks_do_not_change_a_check(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from steinwise.methods import chi_square_null

    whole = sw.check(X, TARGET, method=name, n_bootstrap=150)
    for module in (signs, families, chi_square_null):
        monkeypatch.setattr(module, "BOOTSTRAPS_AT_ONCE", 40)
    parts = sw.check(X, TARGET, method=name, n_bootstrap=150)
    assert parts.pvalue == pytest.approx(whole.pvalue, abs=1e-12)
    np.testing.assert_allclose(parts.null, whole.null, rtol=1e-9)


def test_more_bootstraps_than_fit_are_refused() -> None:
    """Catches a memory error, or a machine that swaps, in place of a sentence."""
    require_room(1000, 10**6, 2**20)  # the default is never refused
    with pytest.raises(sw.InputError, match=r"n_bootstrap is 1000000: .* Take at most \d+"):
        require_room(10**6, 10, 10**8)
    with pytest.raises(sw.InputError, match="n_bootstrap is 1000000"):
        sw.check(X, TARGET, n_bootstrap=10**6, memory="100MB")
    with pytest.raises(sw.InputError, match="n_bootstrap is 1000000000"):
        sw.check(X, TARGET, method="ksd", n_bootstrap=10**30)
    with pytest.raises(sw.InputError, match="n_bootstrap is 10000000"):
        sw.assert_fits(X, TARGET, alpha=1e-6)


def test_many_bootstraps_keep_to_the_memory() -> None:
    """Catches signs of all bootstraps at once: 1e5 of them for 250 batches are 200 MB."""
    code = """
import resource, numpy as np, steinwise as sw
x = np.random.default_rng(0).normal(size=(250, 2))
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
target = sw.Gaussian([0, 0], np.eye(2))
sw.check(x, target, method="ksd")
before = peak()
sw.check(x, target, method="ksd", n_bootstrap=100_000, memory="100MB")
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 100
