"""KSD in all its forms, and KSDAgg, against independent figures and loops."""

from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from benchmarks.rates import interval
from benchmarks.simulate import autoregressive
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import cut_by_length
from steinwise.calibration.signs import bootstrap, multinomial, rademacher
from steinwise.draws.samples import Samples
from steinwise.methods.ksd import KSD
from steinwise.methods.ksdagg import KSDAgg
from steinwise.methods.ksdagg import imq_tiles
from steinwise.methods.statistics import Mean

X = np.random.default_rng(0).laplace(0, 1 / np.sqrt(2), (200, 5))
SAMPLES = Samples.of(X, independent=True)
TARGET = sw.Gaussian(np.zeros(5), np.eye(5))
# from independent implementations, on X
BANDWIDTHS = [0.2, 0.25984783985369697, 0.3376044993831627, 0.43862899944801803]
BANDWIDTHS += [0.5698839900187797, 0.7404156188679285, 0.9619769957838471, 1.249838221716908]
BANDWIDTHS += [1.6238388103986228, 2.1097550357633956]
U_STATISTICS = [0.011497658835374592, 0.013850348034017319, 0.01649344897484652]
U_STATISTICS += [0.019393189679627908, 0.02227518206281359, 0.024590867322473942]
U_STATISTICS += [0.02567160464173359, 0.024992553744126247, 0.022436735548833533]
U_STATISTICS += [0.018477774824143374]


def stein_matrix(kernel: sw.kernels.AbstractKernel) -> np.ndarray:
    with jax.enable_x64(True):
        return np.array(kernel.stein_gram(X, X, -X, -X))


# -- KSDAgg ----------------------------------------------------------------------------------------


def test_bandwidths_and_their_statistics_are_those_of_others() -> None:
    """Catches another collection of bandwidths, and an IMQ with another exponent."""
    np.testing.assert_allclose(KSDAgg().resolve(X, 0), BANDWIDTHS, rtol=1e-9)
    found = KSDAgg().statistic(SAMPLES, TARGET, RunOptions())
    batches = cut_by_length(1, 200, 1, independent=True)
    values = [
        bootstrap(one, rademacher(0, 9, 200)).statistic[0, 0] for one in found.batch_sums(batches)
    ]
    np.testing.assert_allclose(values, U_STATISTICS, rtol=1e-9)


def test_shared_products_give_the_same_kernels() -> None:
    """Catches a bandwidth that reaches one part of the Stein kernel and not another."""
    with jax.enable_x64(True):
        rows = jnp.asarray(X - X.mean(axis=0)), jnp.asarray(-X)
        found = np.asarray(imq_tiles(jnp.array([0.3, 2.0]), rows, rows))
    for tile, bandwidth in zip(found, (0.3, 2.0), strict=True):
        np.testing.assert_allclose(tile, stein_matrix(sw.kernels.IMQ(bandwidth)), rtol=1e-9)


def test_aggregation_keeps_the_level_and_finds_what_one_bandwidth_misses() -> None:
    """Catches the least of ten p-values, and a bandwidth that never has a say."""
    repetitions, wrong, found = 200, 0, {"ksdagg": 0, "ksd": 0}
    target = sw.Gaussian(np.zeros(3), np.eye(3))
    for seed in range(repetitions):
        draws = np.random.default_rng([1, seed]).normal(size=(60, 3))
        wrong += sw.check(draws, target, method="ksdagg", n_bootstrap=199, seed=seed).rejected
        if seed < 20:
            draws = np.random.default_rng([2, seed]).laplace(0, 0.5**0.5, size=(300, 5))
            for name in found:
                found[name] += sw.check(draws, TARGET, method=name, n_bootstrap=199).rejected
    low, high = interval(0.05, repetitions)
    assert low <= wrong / repetitions <= high
    assert found["ksdagg"] >= found["ksd"] + 5


@pytest.mark.parametrize(
    "bandwidths",
    [
        1,
        0,
        (),
        (1.0, -2.0),
        2.5,
        True,
        "ten",
        ("1", "2"),
        (1.0, np.nan),
        (1.0, np.inf),
        [[1], [1, 2]],
    ],
)
def test_bandwidths_that_make_no_sense_are_answered(bandwidths: object) -> None:
    with pytest.raises(sw.InputError, match=r"bandwidths is .*expected how many, at least 2"):
        KSDAgg(bandwidths)  # type: ignore[arg-type]


def test_bandwidths_may_be_numbers_of_any_kind() -> None:
    """Catches a count of NumPy's that is taken for a sequence, and the truth of an array."""
    assert KSDAgg(np.int64(5)).resolve(X, 0) == pytest.approx(KSDAgg(5).resolve(X, 0))  # type: ignore[arg-type]
    for given in (np.array([1.0, 2.0]), [1, 2], (1.0, 2.0)):
        np.testing.assert_array_equal(KSDAgg(given).resolve(X, 0), [1.0, 2.0])  # type: ignore[arg-type]


# -- KSD -------------------------------------------------------------------------------------------


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
    assert result.statistic == pytest.approx(matrix.sum() / (200 * 199))
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


@pytest.mark.parametrize("independent", [True, False])
def test_few_statistics_and_many_have_the_same_bootstraps(
    independent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches two ways through the same sum that part company."""
    batches = cut_by_length(2, 40, 4, independent=independent)
    values = np.random.default_rng(6).normal(size=(2, 3, batches.count, batches.count))
    sums, signs = BatchSums(values, batches), rademacher(0, 50, batches.count)
    one = bootstrap(sums, signs)
    monkeypatch.setattr("steinwise.calibration.signs.FEW_ROWS", 0)
    other = bootstrap(sums, signs)
    np.testing.assert_allclose(one.null, other.null, atol=1e-12)
    np.testing.assert_allclose(one.statistic, other.statistic, atol=1e-12)


def test_the_linear_estimator_pairs_draws_of_the_two_halves() -> None:
    """Catches neighbours of a chain paired with each other, and a lost factor."""
    kernel = sw.kernels.RBF(1.3)
    chains = X[:, :3].reshape(2, 100, 3)
    samples = Samples.of(chains)
    target = sw.Gaussian(np.zeros(3), np.eye(3))
    found = KSD(kernel, linear=True).statistic(samples, target, RunOptions())
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
