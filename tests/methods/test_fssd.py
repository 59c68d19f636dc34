"""FSSD: reference figures, closed forms and loops, and what is learned."""

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from benchmarks.targets import correlated, standard
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import Batches, cut_by_length
from steinwise.draws.samples import Samples
from steinwise.functional import fssd, fssd_features, fssd_power, fssd_variance
from steinwise.kernels import IMQ, RBF, AbstractKernel, AbstractRadial, Matern52
from steinwise.methods.chi_square_null import limit_distribution
from steinwise.methods.fssd import FSSD, FittedFSSD
from steinwise.methods.fssd_search import draws_of_fitted_gaussian, most_powerful
from steinwise.methods.statistics import FeatureProduct
from steinwise.target import AbstractTarget

LAPLACE = np.random.default_rng(0).laplace(0, 1 / np.sqrt(2), (200, 5))
LOCATIONS = np.random.default_rng(1).standard_normal((5, 5))
MEDIAN = 2.7438457483802026  # of |x_i - x_l|, i < l


def in_64_bit(function: Callable, features: np.ndarray, *rest: float) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(function(jnp.asarray(features), *rest))


def features_of(kernel: AbstractKernel, x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Features of a standard normal target."""
    with jax.enable_x64(True):
        return np.asarray(jax.jit(fssd_features)(kernel, x, -x, v))


def prepared(method: FSSD, draws: np.ndarray, target: AbstractTarget, seed: int = 0) -> FittedFSSD:
    return next(method.prepare(Samples.of(draws), target, RunOptions(seed)))


def singles(n: int) -> Batches:
    return cut_by_length(1, n, 1, independent=True)


def of_rows(rows: np.ndarray, rows_per_chunk: int = 64) -> FeatureProduct:
    shaped = rows[:, None, None, :]
    return FeatureProduct(len(rows), lambda part: (shaped[part], shaped[part]), rows_per_chunk)


# -- numbers -------------------------------------------------------------------------------------


def test_reference_figures() -> None:
    """Catches any other scale, sign, width or centring than the paper's (independent code)."""
    tau = features_of(RBF(MEDIAN), LAPLACE, LOCATIONS)
    assert 200 * in_64_bit(fssd, tau) == pytest.approx(0.15817136241899915, rel=1e-9)
    assert in_64_bit(fssd_variance, tau) == pytest.approx(0.0007901869713852684, rel=1e-9)
    assert in_64_bit(fssd_power, tau) == pytest.approx(0.007613482866256089, rel=1e-9)


def test_reference_figures_through_the_method() -> None:
    """Catches a median on other rows, n for n - 1 in the covariance, and held-out draws."""
    method = FSSD(locations=LOCATIONS, optimise=False)
    found = sw.check(LAPLACE, standard(5), method=method)
    assert found.discrepancy == pytest.approx(0.15817136241899915 / 200, rel=1e-9)
    assert found.draws.held_out == 0
    statistic = prepared(method, LAPLACE, standard(5)).statistic(standard(5), RunOptions())
    np.testing.assert_allclose(
        limit_distribution(statistic, singles(200), 25).eigenvalues[:3],
        [0.08811371383241509, 0.07526611597257309, 0.06348107298430967],
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    "kernel", [RBF(1.3), RBF([0.5, 1.0, 2.0]), IMQ(1.5, exponent=0.7), Matern52(1.2)], ids=repr
)
def test_features_are_the_steins_operator_on_the_kernel(kernel: AbstractKernel) -> None:
    """Catches dk/dv for dk/dx, and coordinates and locations swapped; by differences."""
    rng = np.random.default_rng(2)
    x, score, v = rng.normal(size=(7, 3)), rng.normal(size=(7, 3)), rng.normal(size=(4, 3))
    step = 1e-5
    with jax.enable_x64(True):
        found = fssd_features(kernel, *map(jnp.asarray, (x, score, v)))
        value = np.asarray(kernel(x, v))
        slopes = [(kernel(x + e, v) - kernel(x - e, v)) / (2 * step) for e in step * np.eye(3)]
    expected = score[:, :, None] * value[:, None, :] + np.stack(slopes, axis=1)
    np.testing.assert_allclose(found, expected / np.sqrt(12), rtol=1e-7, atol=1e-9)


def test_criterion_against_loops() -> None:
    """Catches the pair of a draw with itself, and a variance without its second term."""
    tau = np.random.default_rng(3).normal(0.5, 1.0, size=(9, 2, 3))
    rows = tau.reshape(9, 6)
    pairs = [rows[i] @ rows[k] for i in range(9) for k in range(9) if i != k]
    assert in_64_bit(fssd, tau) == pytest.approx(np.mean(pairs))
    assert in_64_bit(fssd_variance, tau) == pytest.approx(4 * np.var(rows @ rows.mean(axis=0)))
    expected = np.mean(pairs) / np.sqrt(4 * np.var(rows @ rows.mean(axis=0)) + 0.3)
    assert in_64_bit(fssd_power, tau, 0.3) == pytest.approx(expected)


def test_pure_functions_keep_the_callers_precision() -> None:
    """Catches a float64 bandwidth that widens float32, and code that cannot be differentiated."""
    with jax.enable_x64(True):
        x, v = jnp.asarray(LAPLACE, "float32"), jnp.asarray(LOCATIONS, "float32")
        slope = jax.jit(jax.grad(lambda v, kernel: fssd_power(fssd_features(kernel, x, -x, v))))(
            v, IMQ(np.float64(MEDIAN))
        )
    assert slope.dtype == jnp.float32
    assert 0 < np.abs(slope).max() < 1


@pytest.mark.parametrize("null", ["covariance", "signs"])
def test_neither_memory_nor_precision_changes_the_verdict(
    null: Literal["covariance", "signs"],
) -> None:
    """Catches padding that counts, and float32 that loses the draws' digits far from 0."""
    draws = np.random.default_rng(4).normal(1e4, 1.0, size=(3001, 4))
    target = sw.Gaussian(np.full(4, 1e4 + 0.02), np.eye(4))
    method = FSSD(RBF(2.0), 1e4 + LOCATIONS[:, :4], optimise=False, null=null)
    options = {"method": method, "n_bootstrap": 200}
    large, small, single = (
        sw.check(draws, target, memory=memory, dtype=dtype, **options)
        for memory, dtype in (("1GiB", "float64"), ("1MiB", "float64"), ("1GiB", "float32"))
    )
    assert small.discrepancy == pytest.approx(large.discrepancy, rel=1e-9)
    assert small.pvalue == large.pvalue
    assert single.discrepancy == pytest.approx(large.discrepancy, rel=1e-3)
    assert single.pvalue == pytest.approx(large.pvalue, abs=0.02)


# -- the null ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [150, 12], ids=["more draws than features", "fewer"])
def test_law_of_independent_draws(n: int) -> None:
    """Catches batches of several draws, lost chunks, and a wrong route for few draws."""
    rows = np.random.default_rng(5).normal(0.3, 1.0, size=(n, 20))
    found = limit_distribution(of_rows(rows), cut_by_length(1, n, 3, independent=True), 20)
    expected = np.linalg.eigvalsh(np.cov(rows.T))[::-1]
    kept = min(n - 1, 20)
    np.testing.assert_allclose(found.eigenvalues[:kept], expected[:kept], rtol=1e-9)
    np.testing.assert_allclose(found.eigenvalues[kept:], 0.0, atol=1e-12)
    products = rows @ rows.T
    assert found.pairs == n * (n - 1)
    assert found.value == pytest.approx((products.sum() - np.trace(products)) / found.pairs)


def test_law_of_a_chain() -> None:
    """Catches single draws in place of batches, neighbours kept, and unequal lengths forgotten."""
    batches = cut_by_length(2, 61, 7, independent=False)
    rows = np.random.default_rng(6).normal(0.3, 1.0, size=(122, 3))
    found = limit_distribution(of_rows(rows), batches, 3)
    edges = list(zip(batches.bounds[:-1], batches.bounds[1:], strict=True))
    sums = [rows[a:b].sum(axis=0) for a, b in edges]
    residuals = [rows[a:b].sum(axis=0) - (b - a) * rows.mean(axis=0) for a, b in edges]
    count = len(edges)
    spread = sum(np.outer(r, r) for r in residuals) / 122 * count / (count - 1)
    np.testing.assert_allclose(
        found.eigenvalues[:3], np.linalg.eigvalsh(spread)[::-1], rtol=1e-9, atol=1e-12
    )
    total = pairs = 0.0
    for g in range(count):
        for h in range(count):
            same_chain = (g < count // 2) == (h < count // 2)
            if g != h and not (same_chain and abs(g - h) == 1):
                total += sums[g] @ sums[h]
                pairs += np.diff(edges[g])[0] * np.diff(edges[h])[0]
    assert found.pairs == pairs
    assert found.value == pytest.approx(total / pairs)


def test_null_has_the_moments_of_its_law() -> None:
    """Catches Z^2 that is not centred, eigenvalues that are rooted, and another scale of T."""
    fitted = prepared(FSSD(locations=LOCATIONS, optimise=False), LAPLACE, standard(5))
    statistic = fitted.statistic(standard(5), RunOptions())
    batches = singles(200)
    verdict = fitted.test(statistic, batches, 20_000, 0).calibration
    deviation = np.sqrt(2 * (limit_distribution(statistic, batches, 25).eigenvalues ** 2).sum())
    assert abs(verdict.null.mean()) < 4 * deviation / np.sqrt(20_000)
    assert verdict.null.std() == pytest.approx(deviation, rel=0.05)
    assert verdict.statistic == pytest.approx(np.sqrt(200 * 199) * verdict.discrepancy)
    assert verdict.pvalue == (1 + (verdict.null >= verdict.statistic).sum()) / 20_001


def test_coordinates_have_verdicts_by_signs_only() -> None:
    """Catches features whose coordinate axis is the location's, and labels without p-values."""
    draws = np.random.default_rng(7).normal(size=(240, 5))
    draws[:, 3] += 0.6
    method = FSSD(locations=LOCATIONS, optimise=False, null="signs")
    found = sw.check(draws, standard(5), method=method, names=list("abcde"))
    assert [c.name for c in found.coordinates if c.verdict == "misfit"] == ["d"]
    assert sum(c.value for c in found.coordinates) == pytest.approx(found.discrepancy)
    plain = sw.check(draws, standard(5), method=FSSD(locations=LOCATIONS, optimise=False))
    assert plain.coordinates == ()
    assert plain.discrepancy == pytest.approx(
        found.discrepancy, rel=1e-9
    )  # 240 batches of one draw
    assert plain.rejected


# -- what is learned ------------------------------------------------------------------------------


@pytest.mark.parametrize("optimise", [True, False])
def test_the_tested_draws_teach_nothing(optimise: bool) -> None:
    """Catches locations or a width that see the tested draws, which would destroy the level."""
    chains = np.random.default_rng(8).normal(size=(2, 100, 3))
    changed = chains.copy()
    changed[:, 20:] *= 3.0
    one, other = (
        prepared(FSSD(optimise=optimise), draws, correlated(3)) for draws in (chains, changed)
    )
    np.testing.assert_array_equal(one.samples.values, chains[:, 20:])
    np.testing.assert_array_equal(one.locations, other.locations)
    assert one.kernel == other.kernel
    assert np.shape(one.locations) == (5, 3)


def test_the_seed_places_the_locations() -> None:
    """Catches locations that are always the same, and randomness from elsewhere."""
    draws = np.random.default_rng(9).normal(size=(100, 3))
    first, again, other = (
        prepared(FSSD(optimise=False), draws, standard(3), seed).locations for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).min() > 0


def test_locations_follow_the_fitted_gaussian() -> None:
    """Catches a wrong scale, and independent coordinates."""
    root = np.array([[2.0, 0.0], [1.5, 0.5]])
    x = np.random.default_rng(10).normal(size=(300, 2)) @ root.T + [3.0, -1.0]
    drawn = draws_of_fitted_gaussian(x, 20_000, 0)
    np.testing.assert_allclose(drawn.mean(axis=0), x.mean(axis=0), atol=0.08)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(x.T), rtol=0.05)


@pytest.mark.parametrize("kernel", [RBF(3.0), IMQ(3.0)], ids=["rbf", "imq"])
def test_the_search_finds_power(kernel: AbstractRadial) -> None:
    """Catches a descent in place of an ascent, a gradient with a wrong sign, and lost units."""
    x = np.random.default_rng(11).normal(size=(400, 5)) * [1, 1, 1, 1, 1.6]
    start = np.random.default_rng(12).normal(size=(5, 5))
    learned, locations = most_powerful(kernel, start, x, -x)
    before, after = features_of(kernel, x, start), features_of(learned, x, locations)
    assert in_64_bit(fssd_power, after) > 2 * in_64_bit(fssd_power, before)
    fresh = np.random.default_rng(13).normal(size=(4000, 5)) * [1, 1, 1, 1, 1.6]
    before, after = features_of(kernel, fresh, start), features_of(learned, fresh, locations)
    assert in_64_bit(fssd_power, after) > 1.5 * in_64_bit(fssd_power, before)


def test_given_locations_are_where_the_search_starts() -> None:
    """Catches given locations that are thrown away, and ones that cannot move."""
    draws = np.random.default_rng(14).laplace(size=(300, 5))
    far = LOCATIONS + 50.0  # the kernel is 0 there, and flat
    fitted = prepared(FSSD(RBF(1.0), far), draws, standard(5))
    np.testing.assert_allclose(fitted.locations, far)
    assert fitted.samples.n == 240
    near = prepared(FSSD(locations=LOCATIONS), draws, standard(5))
    assert 0.01 < np.abs(near.locations - LOCATIONS).max() < 10


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_units_do_not_matter(unit: float) -> None:
    """Catches a search whose regularisation and tolerances know one scale only."""
    draws = np.random.default_rng(15).laplace(0, 1 / np.sqrt(2), size=(400, 3))
    one = sw.check(draws, standard(3), method=FSSD())
    target = sw.Gaussian(np.zeros(3), unit**2 * np.eye(3))
    other = sw.check(unit * draws, target, method=FSSD())
    assert other.discrepancy * unit**2 == pytest.approx(one.discrepancy, rel=1e-4)
    assert other.pvalue == pytest.approx(one.pvalue, abs=0.002)


# -- what users get wrong ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"locations": 0}, "locations is 0: expected how many"),
        ({"locations": True}, "locations is True"),
        ({"locations": [1.0, 2.0]}, r"an array \(J, d\)"),
        ({"locations": [[np.nan]]}, "NaN or infinite"),
        ({"locations": "five"}, "locations is 'five'"),
        ({"locations": [[1.0], [1.0, 2.0]]}, r"an array \(J, d\)"),
        ({"optimise": "no"}, "optimise is 'no': expected True or False"),
        ({"null": "wild"}, "null is 'wild'"),
        ({"train": 1.0}, r"train is 1\.0"),
        ({"train": "half"}, "train is 'half'"),
        ({"kernel": "rbf"}, "kernel is 'rbf'"),
        ({"kernel": RBF(1.0) + IMQ()}, "is a Sum.*optimise=False"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_options(options: dict, expected: str) -> None:
    """Catches options that would fail later, far from their cause."""
    with pytest.raises(sw.InputError, match=expected):
        FSSD(**options)


def test_locations_of_another_dimension_and_too_few_draws() -> None:
    """Catches broadcasting of locations, and learning from one draw."""
    draws = np.random.default_rng(17).normal(size=(60, 3))
    for optimise in (True, False):
        with pytest.raises(sw.InputError, match=r"expected \(J, 3\)"):
            sw.check(draws, standard(3), method=FSSD(locations=LOCATIONS, optimise=optimise))
    with pytest.raises(sw.TooFewDraws, match="1 to learn from and 59 to test"):
        sw.check(draws, standard(3), method=FSSD(train=0.02))


def test_a_kernel_without_one_width_keeps_its_own() -> None:
    """Catches code that needs a bandwidth where none is optimised."""
    method = FSSD(RBF("median") + IMQ(1.0), optimise=False)
    draws = np.random.default_rng(18).normal(size=(200, 3)) + 0.5
    assert sw.check(draws, standard(3), method=method).rejected


class Linear(AbstractKernel):
    def evaluate(self, x: jax.Array, y: jax.Array) -> jax.Array:
        return 1 + jnp.dot(x, y)


def test_a_kernel_of_more_than_differences_sees_the_draws_where_they_are() -> None:
    """Catches draws moved for the sake of digits, with a kernel whose value that changes."""
    far = LOCATIONS + 3
    found = sw.check(LAPLACE, standard(5), method=FSSD(Linear(), far, optimise=False))
    expected = in_64_bit(fssd, features_of(Linear(), LAPLACE, far))
    assert found.discrepancy == pytest.approx(expected, rel=1e-9)
