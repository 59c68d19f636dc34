"""Sliced KSD: the numbers against reference figures and quadrature, and slices that are found."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from benchmarks import targets
from steinwise import functional
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import cut_by_length
from steinwise.draws.samples import Samples
from steinwise.functional import slice_ksd, slice_stein_gram, sliced_ksds
from steinwise.kernels import IMQ, RBF, AbstractKernel
from steinwise.kernels.median import median_distance
from steinwise.methods.sksd import SLICES, FittedSlicedKSD, SlicedKSD
from steinwise.methods.sksd_directions import (
    _smoothed_slopes,
    active_directions,
    learned_directions,
    slice_ksd_gradient,
)

EQUICORRELATED = np.full((3, 3), 0.6) + 0.4 * np.eye(3)
# of `laplace_draws`, from an independent implementation
AXES_U, AXES_V = 0.46460924214592475, 0.5292478037851616


def laplace_draws() -> np.ndarray:
    return np.random.default_rng(0).laplace(0, 1 / np.sqrt(2), (200, 5))


def gaussian_draws(covariance: np.ndarray, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.multivariate_normal(np.zeros(len(covariance)), covariance, size=n)


def slanted(d: int) -> np.ndarray:
    """Unit vectors as rows that point nowhere in particular."""
    rows = np.random.default_rng(9).normal(size=(d, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def rbf_slice(u: np.ndarray, b: np.ndarray, alignment: float, width: float) -> np.ndarray:
    """h for all pairs with an RBF, written out."""
    away = (u[:, None] - u[None, :]) / width**2
    k = np.exp(-((u[:, None] - u[None, :]) ** 2) / (2 * width**2))
    dx, dy, dxdy = -away * k, away * k, (1 / width**2 - away**2) * k
    first = b[None, :] * dx + b[:, None] * dy
    return b[:, None] * b[None, :] * k + alignment * first + alignment**2 * dxdy


def imq_slice(u: np.ndarray, b: np.ndarray, alignment: float, width: float) -> np.ndarray:
    """The same with k = (1 + (x - y)^2 / width^2)^(-1/2)."""
    away = u[:, None] - u[None, :]
    s = 1 + away**2 / width**2
    dx = -away / width**2 * s**-1.5
    dxdy = s**-1.5 / width**2 - 3 * away**2 / width**4 * s**-2.5
    first = (b[None, :] - b[:, None]) * dx
    return b[:, None] * b[None, :] * s**-0.5 + alignment * first + alignment**2 * dxdy


# -- numbers -------------------------------------------------------------------------------------


def test_axes_give_the_reference_figures() -> None:
    """Catches a wrong width, a pair counted twice, and a diagonal that is in or out by mistake."""
    x, target = laplace_draws(), targets.standard(5)
    assert sw.check(x, target, method=SlicedKSD()).discrepancy == pytest.approx(AXES_U, abs=1e-9)
    statistic = FittedSlicedKSD(SlicedKSD(), Samples.of(x), np.eye(5)).statistic(
        target, RunOptions()
    )
    batches = cut_by_length(1, 200, 7, independent=True)
    different = sum(one.values.sum() for one in statistic.batch_sums(batches))
    assert different / (200 * 199) == pytest.approx(AXES_U, abs=1e-9)
    everything = different + statistic.diagonal().sum()
    assert everything / 200**2 == pytest.approx(AXES_V, abs=1e-9)


@pytest.mark.parametrize("estimator", ["u", "v"])
def test_the_pure_function_gives_the_reference_figures(estimator: str) -> None:
    """Catches estimators that are swapped, and a sum over the wrong axis."""
    draws = laplace_draws()
    kernel = RBF(median_distance(draws, 0, per_coordinate=True))
    with jax.enable_x64(True):
        x = jnp.asarray(draws)
        values = jax.jit(sliced_ksds, static_argnums=4)(kernel, x, -x, jnp.eye(5), estimator)
    assert values.shape == (5,)
    expected = {"u": AXES_U, "v": AXES_V}[estimator]
    assert np.asarray(values).sum() == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("kernel", "by_hand"), [(RBF, rbf_slice), (IMQ, imq_slice)], ids=["rbf", "imq"]
)
@pytest.mark.parametrize("cut", [(1, 30, 1), (1, 61, 7), (3, 23, 5)], ids=str)
def test_batch_sums_of_slanted_slices(kernel, by_hand, cut) -> None:
    """Catches g for r in a term, widths or coordinates in another order, and padding that counts.

    Every coordinate has a width of its own, and the target's score mixes the coordinates.
    """
    batches = cut_by_length(*cut, independent=False)
    x = np.random.default_rng(1).normal(size=(cut[0] * cut[1], 3))
    target, directions, widths = targets.correlated(3), slanted(3), np.array([0.7, 1.0, 1.9])
    method = SlicedKSD("learned", kernel(widths), directions=5 * directions)
    samples, run = Samples.of(x, independent=True), RunOptions()
    statistic = next(method.prepare(samples, target, run)).statistic(target, run)
    (found,) = statistic.batch_sums(batches)
    assert found.values.shape == (1, 3, batches.count, batches.count)
    score = target.score(x)
    member = np.repeat(np.eye(batches.count), batches.lengths, axis=1)
    for j in range(3):
        pairs = by_hand(x @ directions[j], score[:, j], directions[j, j], widths[j])
        np.testing.assert_allclose(statistic.diagonal()[:, j], np.diag(pairs), atol=1e-12)
        np.fill_diagonal(pairs, 0.0)
        np.testing.assert_allclose(found.values[0, j], member @ pairs @ member.T, atol=1e-10)


def test_expectation_under_another_gaussian() -> None:
    """Catches a term that is missing or has a wrong factor, whatever the loops above say.

    For draws from N(0, S) and the target N(0, I) the conditional mean of the score difference
    given x_g is beta x_g, so that the slice has the mean beta^2 E[x_g y_g k(x_g, y_g)], without any
    derivative of the kernel. The mean over draws is a sum over the nodes of a quadrature.
    """
    covariance, width, g = np.array([[1.0, 0.5], [0.5, 0.8]]), 1.3, np.array([0.6, -0.8])
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    grid = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
    mass = np.outer(weights, weights).ravel() / weights.sum() ** 2
    x = grid @ np.linalg.cholesky(covariance).T
    variance = g @ covariance @ g
    products = variance**2 / (width**2 + 2 * variance) * width / np.sqrt(width**2 + 2 * variance)
    for j in range(2):
        with jax.enable_x64(True):
            u, score = jnp.asarray(x @ g), jnp.asarray(-x[:, j])
            gram = jax.jit(slice_stein_gram)(RBF(width), u, u, score, score, g[j])
        beta = (g - covariance @ g)[j] / variance
        assert mass @ np.asarray(gram) @ mass == pytest.approx(beta**2 * products, abs=1e-9)


def test_one_dimension_is_ksd() -> None:
    """Catches any other scale than that of KSD."""
    draws = np.random.default_rng(2).normal(0.4, 1.2, size=(80, 1))
    with jax.enable_x64(True):
        x = jnp.asarray(draws)
        found = jax.jit(slice_ksd)(IMQ(0.8), x[:, 0], -x[:, 0], 1.0)
        expected = functional.ksd(IMQ(0.8), x, -x)
    assert float(found) == pytest.approx(float(expected), rel=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pure_functions_keep_the_callers_precision(dtype) -> None:
    """Catches a 64-bit bandwidth or alignment that widens 32-bit draws."""
    draws = np.random.default_rng(3).normal(size=(20, 2)).astype(dtype)
    with jax.enable_x64(True):
        x = jnp.asarray(draws)
        values = jax.jit(sliced_ksds)(RBF(np.array([1.0, 2.0])), x, -x, jnp.eye(2, dtype=dtype))
        u, score = x.T
        gram = jax.jit(slice_stein_gram)(RBF(1.0), u, u, score, score, np.float64(0.3))
    assert values.dtype == gram.dtype == dtype


def test_single_precision_of_the_bulk() -> None:
    """Catches a dtype that is ignored, and tiles whose cancellations ruin it."""
    x, target = laplace_draws(), targets.standard(5)
    single = sw.check(x, target, method=SlicedKSD(), dtype="float32").discrepancy
    assert single != pytest.approx(AXES_U, rel=1e-12)
    assert single == pytest.approx(AXES_U, rel=1e-4)


def test_results_do_not_depend_on_the_budget() -> None:
    """Catches coordinates that are lost or summed twice where they come in several blocks."""
    x, target = np.random.default_rng(4).normal(size=(300, 4)), targets.correlated(4)
    one, other = (
        sw.check(x, target, method=SlicedKSD(), memory=memory, n_bootstrap=100)
        for memory in ("1MiB", "1GiB")
    )
    assert one.discrepancy == pytest.approx(other.discrepancy, rel=1e-9)
    assert one.pvalue == other.pvalue
    assert [c.adjusted_pvalue for c in one.coordinates] == [
        c.adjusted_pvalue for c in other.coordinates
    ]


# -- slices that are found -----------------------------------------------------------------------


class Growing(AbstractKernel):
    """A kernel that is not a function of x - y, whose Stein kernel varies along the diagonal."""

    def evaluate(self, x, y):
        return (1 + jnp.dot(x, y)) ** 2 * jnp.exp(-jnp.sum((x - y) ** 2))


@pytest.mark.parametrize("kernel", [RBF(0.9), IMQ(1.2), Growing()], ids=["rbf", "imq", "growing"])
def test_gradient_of_a_slice(kernel: AbstractKernel) -> None:
    """Catches pairs that count once instead of twice, and a diagonal that is left in."""
    columns = np.random.default_rng(5).normal(size=(2, 25))
    with jax.enable_x64(True):
        slice_ = kernel, *jnp.asarray(columns), jnp.asarray(0.4)
        found = jax.jit(slice_ksd_gradient)(*slice_)
        expected = jax.jit(jax.grad(slice_ksd, (1, 3)))(*slice_)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_learned_slices_reach_the_maximum_over_angles() -> None:
    """Catches descent, too few or too long steps, and a width that stays behind."""
    x = gaussian_draws(np.array([[1.0, 0.8], [0.8, 1.0]]), 150)
    angles = np.linspace(0, np.pi, 91)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def value(j: int, g: np.ndarray) -> float:
        u = x @ g
        width = float(median_distance(u[:, None], 0, per_coordinate=False))
        pairs = rbf_slice(u, -x[:, j], g[j], width)
        return (pairs.sum() - np.trace(pairs)) / (150 * 149)

    found = learned_directions(RBF("median"), x, -x, 0)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0)
    for j in range(2):
        best = max(value(j, g) for g in circle)
        assert value(j, np.eye(2)[j]) < 0.1 * best  # there is something to learn
        assert value(j, found[j]) > 0.99 * best


def test_slopes_of_the_smoothed_score_difference() -> None:
    """Catches a sign or a power of the width in the closed form; against automatic derivatives."""
    x, width = np.random.default_rng(6).normal(size=(12, 3)), 1.4
    score = np.random.default_rng(7).normal(size=(12, 3))
    gram = np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=-1) / (2 * width**2))

    def smoothed(y, j):
        k = jax.vmap(RBF(width).parts, in_axes=(0, None))(jnp.asarray(x), y)
        return jnp.sum(score[:, j] * k.value + k.dx[:, j])

    with jax.enable_x64(True):
        slopes = jax.jit(jax.vmap(jax.grad(smoothed), in_axes=(0, None)), static_argnums=1)
        for j in range(3):
            found = _smoothed_slopes(j, x, score[:, j], gram, width) / width**2
            np.testing.assert_allclose(found, slopes(x, j), rtol=1e-9, atol=1e-12)


def test_active_slices_of_a_gaussian() -> None:
    """Catches the last eigenvector for the first, and columns for rows.

    The score difference is (P - I) x with P the precision of the draws, smoothing puts
    (P + I / width^2)^-1 before x, and f_j varies mostly along row j of the product.
    """
    x = gaussian_draws(EQUICORRELATED, 500)
    precision = np.linalg.inv(EQUICORRELATED)
    width = median_distance(x, 0, per_coordinate=False)
    expected = (precision - np.eye(3)) @ np.linalg.inv(precision + np.eye(3) / width**2)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = active_directions(x, -x, 0)
    assert (np.abs((found * expected).sum(axis=1)) > 0.97).all()
    assert (np.abs(expected[:, [1, 2, 0]] - expected).max(axis=1) > 0.5).all()


@pytest.mark.parametrize(
    "find",
    [partial(learned_directions, RBF("median")), active_directions],
    ids=["learned", "active"],
)
def test_slices_follow_the_units_of_the_draws(find) -> None:
    """Catches directions left in units of the spread, and an ascent that large units stop."""
    x, units = gaussian_draws(EQUICORRELATED, 60), np.array([1e-3, 1.0, 1e6])
    expected = find(x, -x, 0) / units
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = find(x * units, -x / units, 0)
    np.testing.assert_allclose(np.abs((found * expected).sum(axis=1)), 1.0, atol=1e-6)


@pytest.mark.parametrize("slices", ["learned", "active"])
def test_slices_are_found_on_the_start_of_every_chain(slices) -> None:
    """Catches slices that have seen the tested draws: the level would be lost."""
    values = np.random.default_rng(8).normal(size=(3, 50, 2))
    samples, target = Samples.of(values), targets.standard(2)

    def prepared(samples: Samples) -> FittedSlicedKSD:
        return next(SlicedKSD(slices, train=0.4).prepare(samples, target, RunOptions()))

    fitted = prepared(samples)
    np.testing.assert_array_equal(fitted.samples.values, values[:, 20:])
    after = replace(samples, values=np.concatenate([values[:, :20], 9 + values[:, 20:]], axis=1))
    np.testing.assert_array_equal(fitted.directions, prepared(after).directions)
    before = replace(samples, values=np.concatenate([2 * values[:1], values[1:]]))
    assert np.abs(prepared(before).directions - fitted.directions).max() > 1e-3
    given = SlicedKSD(slices, directions=fitted.directions)
    again = next(given.prepare(samples, target, RunOptions()))
    assert again.samples is samples  # nothing is held out to find what is known
    np.testing.assert_allclose(again.directions, fitted.directions, rtol=1e-12)


# -- verdicts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("slices", SLICES)
def test_power_against_a_wrong_dependence(slices) -> None:
    """Catches axes that are said to see more than marginals, and slices that see no more."""
    x = gaussian_draws(0.5 * np.eye(6) + 0.5, 300)
    found = sw.check(x, targets.standard(6), method=SlicedKSD(slices), n_bootstrap=200)
    assert found.rejected == (slices != "axes")
    assert found.draws.held_out == (0 if slices == "axes" else 60)


def test_every_coordinate_gets_a_verdict() -> None:
    """Catches verdicts that land on the wrong name."""
    x = np.random.default_rng(11).normal(size=(300, 4))
    x[:, 2] *= 1.6
    found = sw.check(x, targets.standard(4), method=SlicedKSD(), names=list("abcd"))
    assert [c.name for c in found.coordinates if c.adjusted_pvalue <= 0.05] == ["c"]
    assert found.discrepancy == pytest.approx(sum(c.value for c in found.coordinates))


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"slices": "random"}, "slices is 'random': expected 'axes', 'learned' or 'active'"),
        ({"kernel": "rbf"}, "kernel is 'rbf'"),
        ({"train": 1.0}, "train is 1.0: expected a number between 0 and 1"),
        ({"train": "some"}, "train is 'some'"),
        ({"directions": np.eye(2)}, "drop directions="),
        ({"directions": [[1, 0], [0, np.nan]]}, "1 of the 2 rows of directions.*first is row 1"),
        ({"directions": "learned"}, "directions is 'learned': expected an array"),
    ],
    ids=["slices", "kernel", "train", "text", "directions", "NaN", "no directions"],
)
def test_bad_options(options, expected) -> None:
    """Catches options that fail later, inside a traced function."""
    with pytest.raises(sw.InputError, match=expected):
        SlicedKSD(**options)


@pytest.mark.parametrize(
    ("directions", "expected"),
    [(np.eye(2), r"expected \(3, 3\)"), (np.diag([1.0, 0, 1]), "zero")],
    ids=["shape", "zero"],
)
def test_bad_directions(directions, expected) -> None:
    """Catches rows that become NaN, or that silently stand for other coordinates."""
    samples = Samples.of(np.random.default_rng(12).normal(size=(60, 3)))
    method = SlicedKSD("learned", directions=directions)
    with pytest.raises(sw.InputError, match=expected):
        next(method.prepare(samples, targets.standard(3), RunOptions()))


def test_too_few_draws_to_learn_from() -> None:
    """Catches slices found on a handful of draws without a word."""
    x = np.random.default_rng(13).normal(size=(40, 2))
    with pytest.raises(sw.TooFewDraws, match="holds out 8 of 40 draws"):
        sw.check(x, targets.standard(2), method=SlicedKSD("active"))


def test_given_directions_are_used_as_unit_vectors() -> None:
    """Catches directions that are learned all the same, or that count by their length."""
    x = np.random.default_rng(14).normal(size=(100, 3))
    given, longer, axes = (
        sw.check(x, targets.standard(3), method=SlicedKSD("learned", directions=rows))
        for rows in (slanted(3), 5.0 * slanted(3), np.eye(3))
    )
    assert given.draws.held_out == 0
    assert longer.discrepancy == pytest.approx(given.discrepancy)
    assert axes.discrepancy == pytest.approx(
        sw.check(x, targets.standard(3), method="sksd").discrepancy
    )
    assert axes.discrepancy != pytest.approx(given.discrepancy)
