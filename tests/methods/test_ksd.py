"""KSD in all its forms, against loops."""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from benchmarks.simulate import autoregressive
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.signs import multinomial, rademacher
from steinwise.draws.samples import Samples
from steinwise.methods.ksd import KSD, FittedKSD
from steinwise.methods.statistics import Mean

X = np.random.default_rng(0).laplace(0, 1 / np.sqrt(2), (200, 5))
TARGET = sw.Gaussian(np.zeros(5), np.eye(5))


def stein_matrix(kernel: sw.kernels.AbstractKernel) -> np.ndarray:
    with jax.enable_x64(True):
        x = jnp.asarray(X)
        return np.array(kernel.stein_gram(x, x, -x, -x))


@pytest.mark.parametrize(
    ("option", "weights"), [("draws", rademacher), ("multinomial", multinomial)]
)
def test_published_bootstraps(option: str, weights) -> None:
    """Catches signs shared by draws, counts that are not centred, and a diagonal kept in."""
    kernel = sw.kernels.IMQ(1.5)
    result = sw.check(X, TARGET, method=KSD(kernel, option), n_bootstrap=99, seed=3)  # type: ignore[arg-type]
    matrix = stein_matrix(kernel)
    np.fill_diagonal(matrix, 0.0)
    w = weights(3, 99, 200)
    null = np.einsum("li,ik,lk->l", w, matrix, w) / (200 * 199)
    assert result.discrepancy == pytest.approx(matrix.sum() / (200 * 199))
    scale = np.sqrt(2 * (matrix**2).sum()) / (200 * 199)
    np.testing.assert_allclose(result.null, null / scale, rtol=1e-9, atol=1e-12)
    assert result.draws.n_batches == 200


def test_counts_are_centred_and_sum_to_zero() -> None:
    counts = multinomial(0, 2000, 12)
    np.testing.assert_allclose(counts.sum(axis=1), 0.0)
    np.testing.assert_allclose(counts.mean(axis=0), 0.0, atol=0.1)
    assert counts.min() == -1.0


@pytest.mark.parametrize("option", ["draws", "multinomial"])
def test_published_bootstraps_refuse_chains(option: Literal["draws", "multinomial"]) -> None:
    """Catches right chains that are rejected because their draws count as independent."""
    rng, target = np.random.default_rng(4), sw.Gaussian(np.zeros(2), np.eye(2))
    chains, method = autoregressive(rng, np.full(2, 0.9), 4, 1000), KSD(bootstrap=option)
    for given, independent in ((chains, None), (chains[0], False)):
        with pytest.raises(sw.InputError, match=r"(?s)'batches'.*independent=True"):
            sw.check(given, target, method=method, independent=independent)
    assert not sw.check(chains, target, method=KSD()).rejected


def test_published_bootstraps_take_several_sets_that_are_independent() -> None:
    """Catches a report that has lost the shape of the draws."""
    sets = np.random.default_rng(4).normal(size=(2, 60, 2))
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    method = KSD(bootstrap="draws")
    found = sw.check(sets, target, method=method, n_bootstrap=99, independent=True).draws
    assert (found.n_chains, found.n_draws, found.n_batches) == (2, 60, 120)
    assert found.independent


def test_published_bootstraps_say_their_limit() -> None:
    with pytest.raises(sw.InputError, match="at most 5000, not 6000"):
        sw.check(
            np.zeros((6000, 1)) + np.random.default_rng(5).normal(size=(6000, 1)),
            sw.Gaussian([0.0], [[1.0]]),
            method=KSD(bootstrap="multinomial"),
        )


def test_the_linear_estimator_pairs_draws_of_the_two_halves() -> None:
    """Catches neighbours of a chain paired with each other, and a lost factor."""
    kernel = sw.kernels.RBF(1.3)
    chains = X[:, :3].reshape(2, 100, 3)
    samples = Samples.of(chains)
    target = sw.Gaussian(np.zeros(3), np.eye(3))
    found = FittedKSD(KSD(kernel, linear=True), samples).statistic(target, RunOptions())
    assert isinstance(found, Mean)
    with jax.enable_x64(True):
        pairs = [
            float(kernel.stein(c[i], c[50 + i], -c[i], -c[50 + i]))
            for c in chains
            for i in range(50)
        ]
    assert found.contributions.mean() == pytest.approx(np.mean(pairs))
    np.testing.assert_allclose(found.contributions.reshape(2, 100)[:, 50:], 0.0)
    shifted = np.random.default_rng(7).normal(0.5, 1.0, size=(2000, 1))
    one = sw.Gaussian([0.0], [[1.0]])
    assert sw.check(shifted, one, method=KSD(linear=True)).rejected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"bootstrap": "signs"}, "bootstrap is 'signs': expected"),
        ({"bootstrap": "draws", "linear": True}, "takes bootstrap='batches' only"),
        ({"linear": "no"}, "linear is 'no': expected True or False"),
    ],
)
def test_options_that_make_no_sense_are_answered(options: dict, expected: str) -> None:
    with pytest.raises(sw.InputError, match=expected):
        KSD(**options)


@pytest.mark.parametrize("recipe", ["draws", "multinomial"])
def test_a_bootstrap_by_draws_refuses_batches(recipe: Literal["draws", "multinomial"]) -> None:
    """Catches a sign per batch that is reported as a sign per draw."""
    with pytest.raises(sw.InputError, match="batch_length came with bootstrap="):
        sw.check(X, TARGET, method=KSD(bootstrap=recipe), batch_length=5)


@pytest.mark.parametrize("method", ["ksd", "ksdagg", "sksd"])
def test_sums_that_overflow_are_no_verdict(method: str) -> None:
    """Catches a statistic that is no number, which no bootstrap exceeds: rejected at 0.001."""
    x = X.copy()
    x[0] = 1e30
    with pytest.raises(sw.InputError, match=r"overflow in float32.*dtype='float64'"):
        sw.check(x, TARGET, method=method, dtype="float32")


def test_float32_tiles_are_close() -> None:
    """Catches a bandwidth in float64 that widens all, and a sum that loses digits."""
    for method in ("ksd", "ksdagg"):
        full, half = (
            sw.check(X, TARGET, method=method, dtype=dtype, n_bootstrap=199)
            for dtype in ("float64", "float32")
        )
        assert half.statistic == pytest.approx(full.statistic, rel=1e-3)
        assert half.pvalue == pytest.approx(full.pvalue, abs=0.02)
