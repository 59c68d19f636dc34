"""Kernels: derivatives, Stein kernels, bandwidths, conditions, and a user's own."""

import dataclasses
import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.distance import pdist

import steinwise as sw
from steinwise import functional
from steinwise.kernels import (
    IMQ,
    RBF,
    AbstractKernel,
    AbstractRadial,
    HyperbolicSecant,
    Matern52,
)
from steinwise.kernels.base import Parts, over_pairs
from steinwise.kernels.median import median_distance, median_gap

VECTOR = np.array([0.7, 1.3, 2.1])


def _kernels(bandwidth) -> dict[str, AbstractKernel]:
    return {
        "rbf": RBF(bandwidth),
        "imq": IMQ(bandwidth),
        "imq, other exponent": IMQ(bandwidth, exponent=0.3),
        "matern": Matern52(bandwidth),
        "secant": HyperbolicSecant(bandwidth),
        "sum": RBF(bandwidth) + 0.5 * IMQ(2.0),
        "product": RBF(bandwidth) * Matern52(1.7),
        "three": (RBF(bandwidth) + HyperbolicSecant(1.1)) * IMQ(2.0),
    }


CASES = {
    f"{name}, R^{m}, {label}": (kernel, m)
    for label, m, bandwidth in (
        ("scalar", 1, 0.8),
        ("scalar", 3, 1.4),
        ("vector", 3, VECTOR),
    )
    for name, kernel in _kernels(bandwidth).items()
}


@pytest.fixture(autouse=True)
def _wide():
    with jax.enable_x64(True):
        yield


def _points(m: int, n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, m))


class Evaluated(NamedTuple):
    """One kernel at pairs of points, by its closed forms and by an independent way."""

    m: int
    closed: Parts
    automatic: Parts
    gram: np.ndarray
    pairwise: np.ndarray


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES.keys())
def evaluate(request) -> Callable[..., Evaluated]:
    """A function of points x, y (10, m) and scores there; compiled once per kernel."""
    kernel, m = request.param

    @jax.jit
    def everything(x, y, score_x, score_y):
        return Evaluated(
            m,
            jax.vmap(kernel.parts)(x, y),
            jax.vmap(lambda *pair: AbstractKernel.parts(kernel, *pair))(x, y),
            kernel.stein_gram(x, y, score_x, score_y),
            _pairwise(kernel, x, y, score_x, score_y),
        )

    def at(offset: float = 0.0, step: float | None = None) -> Evaluated:
        x, y, score_x, score_y = (_points(m, 10, seed) + offset for seed in range(4))
        return everything(x, y if step is None else x + step, score_x - offset, score_y - offset)

    return at


def _pairwise(kernel, x, y, score_x, score_y):
    """The Stein kernel of all pairs, written over pairs."""
    rows = jax.vmap(kernel.stein, in_axes=(None, 0, None, 0))
    return jax.vmap(rows, in_axes=(0, None, 0, None))(x, y, score_x, score_y)


# -- derivatives ---------------------------------------------------------------------------------


def test_closed_form_derivatives_are_those_of_the_kernel(evaluate):
    """A wrong sign or factor in any closed form, or in the product rule."""
    found = evaluate()
    for name, one, other in zip(Parts._fields, found.closed, found.automatic, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12, err_msg=name)


def test_derivatives_at_equal_points_are_finite_and_right(evaluate):
    """0/0 on the diagonal of a Gram matrix (the Matern's root), or a wrong limit."""
    at, near = evaluate(step=0.0).closed, evaluate(step=1e-7).closed
    np.testing.assert_allclose(at.value, near.value, rtol=1e-12)
    np.testing.assert_allclose(at.dx, 0, atol=1e-12)
    np.testing.assert_allclose(at.dy, 0, atol=1e-12)
    np.testing.assert_allclose(at.dxdy, near.dxdy, rtol=1e-5)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RBF(2.0), np.exp(-13 / 8)),
        (IMQ(2.0), (1 + 13 / 4) ** -0.5),
        (IMQ(2.0, exponent=0.7), (1 + 13 / 4) ** -0.7),
        (
            Matern52(2.0),
            (1 + np.sqrt(5 * 13 / 4) + 5 * 13 / 12) * np.exp(-np.sqrt(5 * 13 / 4)),
        ),
        (
            HyperbolicSecant(2.0),
            1 / np.cosh(np.sqrt(np.pi / 2)) / np.cosh(1.5 * np.sqrt(np.pi / 2)),
        ),
        (RBF(np.array([1.0, 3.0])), np.exp(-0.5 * (4 + 1))),
    ],
    ids=["rbf", "imq", "imq 0.7", "matern", "secant", "rbf vector"],
)
def test_values_are_the_documented_formulas(kernel, expected):
    """Another convention for the bandwidth: 2 b^2 against b^2, squared against not."""
    value = kernel(np.array([[0.0, 0.0]]), np.array([[2.0, 3.0]]))
    np.testing.assert_allclose(value, [[expected]], rtol=1e-13)


# -- Stein kernels -------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e4], ids=["at 0", "far away"])
def test_stein_gram_is_the_stein_kernel_of_all_pairs(evaluate, offset):
    """A slip in the matrix-product form; far away, digits lost to |x|^2 + |y|^2 - 2 <x, y>."""
    found = evaluate(offset)
    tolerance = 1e-9 if offset else 1e-11
    np.testing.assert_allclose(found.gram, found.pairwise, rtol=1e-9, atol=tolerance)


@pytest.mark.parametrize(
    "kernel", [RBF(1.2), IMQ(1.5), Matern52(1.3), HyperbolicSecant(1.4)], ids=repr
)
def test_stein_kernel_has_mean_zero_under_the_target(kernel):
    """Stein's identity: a term with a wrong sign leaves a mean that is not 0, for any x."""
    y = np.linspace(-10, 10, 4001)[:, None]
    density = np.exp(-0.5 * y[:, 0] ** 2) / np.sqrt(2 * np.pi)
    x, score_x = np.array([[0.8]]), np.array([[-1.7]])
    stein = jax.jit(lambda *arrays: kernel.stein_gram(*arrays))(x, y, score_x, -y)[0]
    assert abs(np.trapezoid(stein * density, y[:, 0])) < 1e-9


# -- bandwidths ----------------------------------------------------------------------------------


def _reference_draws() -> np.ndarray:
    return np.random.default_rng(0).laplace(0, 1 / np.sqrt(2), (200, 5))


def test_median_distance_is_the_reference_figure():
    """A median over all ordered pairs, zeros included, or of squared distances."""
    found = median_distance(_reference_draws(), 0, per_coordinate=False)
    np.testing.assert_allclose(found, 2.7438457483802026, rtol=1e-13)


def test_median_distance_per_coordinate():
    """One number for all coordinates, or the axes swapped."""
    x = _reference_draws() * np.arange(1, 6)
    direct = []
    for j in range(5):
        pairs = [abs(x[i, j] - x[k, j]) for i in range(200) for k in range(i)]
        direct.append(np.median(pairs))
    np.testing.assert_allclose(median_distance(x, 0, per_coordinate=True), direct, rtol=1e-13)


@pytest.mark.parametrize("n", [2, 3, 4, 37, 200, 1000])
def test_the_median_gap_is_the_median_of_all_gaps(n):
    """Ties, gaps of many sizes, numbers far from 0, an even and an odd number of pairs."""
    rng = np.random.default_rng(n)
    for x in (
        rng.normal(size=n),
        rng.standard_cauchy(n),
        rng.integers(0, 4, n).astype(float),
        1e8 + rng.normal(size=n),
        np.append(np.zeros(n - 1), 1.0),
    ):
        direct = np.median(np.abs(x[:, None] - x)[np.triu_indices(n, 1)])
        assert median_gap(x) == pytest.approx(direct, rel=1e-13, abs=1e-15)


def test_median_of_many_rows_depends_on_the_seed_alone():
    """An unseeded subsample would give other numbers on every call."""
    x = np.random.default_rng(0).normal(size=(3000, 2))
    first, again, other = (median_distance(x, s, per_coordinate=False) for s in (1, 1, 2))
    assert first == again != other
    np.testing.assert_allclose(first, np.median(pdist(x)), rtol=0.05)


def test_resolve_reaches_inside_sums_and_products():
    """A composite kernel whose parts keep the word "median"."""
    x = _reference_draws()
    kernel = (RBF("median") + 0.5 * IMQ("median")) * Matern52(2.0)
    resolved = kernel.resolve(x, 0, per_coordinate=False)
    m = float(median_distance(x, 0, per_coordinate=False))
    expected = (RBF(m) + 0.5 * IMQ(m)) * Matern52(2.0)
    np.testing.assert_allclose(resolved(x[:3], x[:4]), expected(x[:3], x[:4]), rtol=1e-13)


def test_a_kernel_may_be_combined_with_itself():
    """A tree edit that finds the same leaf twice."""
    kernel, x = RBF(1.0), _points(2, 30)
    target = sw.Gaussian([0, 0], np.eye(2))
    twice = sw.ksd(x, target, kernel=kernel + kernel).value
    np.testing.assert_allclose(twice, 2 * sw.ksd(x, target, kernel=kernel).value, rtol=1e-12)


# -- conditions ----------------------------------------------------------------------------------


def test_rbf_ksd_vanishes_on_draws_that_run_away_and_imq_ksd_does_not():
    """The reason to prefer the IMQ: lattice draws in R^4 whose spacing grows like sqrt(log n).

    They leave every compact set, so they converge to nothing, least of all to N(0, I).
    """

    def v_statistic(kernel, side):
        steps = np.arange(side) - (side - 1) / 2
        lattice = np.stack(np.meshgrid(*[steps] * 4), axis=-1).reshape(-1, 4)
        x = 2 * np.sqrt(np.log(side**4)) * lattice
        ksd = jax.jit(lambda x: functional.ksd(kernel, x, -x, "v"))
        return float(ksd(x))

    rbf = [v_statistic(RBF(1.0), side) for side in (2, 3, 5)]
    imq = [v_statistic(IMQ(1.0), side) for side in (2, 3, 5)]
    assert rbf[0] > 1.3 * rbf[1] > 1.3**2 * rbf[2] > 0
    assert imq[0] < imq[1] < imq[2]


# -- a kernel of one's own -----------------------------------------------------------------------


class RationalQuadratic(AbstractRadial):
    """A radial kernel: only its profile."""

    def profile(self, s):
        return 1 / (1 + s / 4) ** 2


class Tilted(AbstractKernel):
    """A kernel that is not radial: one function of a pair."""

    slope: float

    def evaluate(self, x, y):
        return jnp.exp(-jnp.sum((x - y) ** 2)) * (1 + self.slope * jnp.dot(x, y)) ** 2


@pytest.mark.parametrize("own", [RationalQuadratic(1.5), Tilted(0.3)], ids=["radial", "tilted"])
def test_a_users_own_kernel_works_everywhere(own):
    """The author writes one function; a base class that asks for more breaks the promise."""
    x = _points(2, 40)
    target = sw.Gaussian([0, 0], np.eye(2))
    for kernel in (own, 2.0 * own + RBF(1.0)):
        assert kernel(x[:2], x[:3]).shape == (2, 3)
        pairs = jax.jit(functools.partial(_pairwise, kernel))(x, x, -x, -x)
        found = sw.ksd(x, target, kernel=kernel, estimator="v")
        np.testing.assert_allclose(found.value, pairs.mean(), rtol=1e-10)
        sampler = sw.conditionals.Sampler(_normals)
        univariate = sw.kccsd(x, target, conditional=sampler, kernel=kernel)
        assert np.isfinite(univariate.value)


def _normals(key, x, n_atoms):
    return np.random.default_rng(key).normal(size=(*x.shape, n_atoms))


def test_automatic_profile_derivatives_of_a_users_radial_kernel():
    """The default of the base class: wrong by a factor, it would spoil every new radial kernel."""
    s = np.array([0.0, 0.5, 3.0])
    k, k1, k2 = RationalQuadratic(1.5).profile_derivatives(s)
    np.testing.assert_allclose(k, (1 + s / 4) ** -2.0, rtol=1e-13)
    np.testing.assert_allclose(k1, -0.5 * (1 + s / 4) ** -3.0, rtol=1e-13)
    np.testing.assert_allclose(k2, 0.375 * (1 + s / 4) ** -4.0, rtol=1e-13)


# -- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, [1.0, -1.0], np.ones((2, 2))])
def test_a_bandwidth_must_be_positive_and_finite(bad):
    """A zero or negative bandwidth gives NaN or nonsense much later."""
    with pytest.raises(sw.InputError, match=r"(?s)bandwidth is .*expected positive finite"):
        RBF(bad)


def test_an_unknown_word_as_bandwidth():
    with pytest.raises(sw.InputError, match=r"bandwidth is 'medain'.*median heuristic"):
        RBF("medain")
    with pytest.raises(sw.InputError, match="exponent is"):
        IMQ(1.0, exponent=-0.5)


@pytest.mark.parametrize("bad", ["1.0", None, [[1.0], [1.0, 2.0]], [], {}, object()])
def test_a_bandwidth_that_is_no_number(bad):
    """NumPy's own error, or a text that is read as a number."""
    with pytest.raises(sw.InputError, match=r"bandwidth is .*expected positive finite"):
        RBF(bad)


@pytest.mark.parametrize(
    "measure",
    [
        lambda x, t, kernel: sw.check(x, t, method=sw.methods.KSD(kernel)),
        lambda x, t, kernel: sw.check(x, t, method=sw.methods.NystromKSD(kernel)),
        lambda x, t, kernel: sw.check(x, t, method=sw.methods.FSSD(kernel)),
        lambda x, t, kernel: sw.check(x, t, method=sw.methods.SlicedKSD(kernel=kernel)),
        lambda x, t, kernel: sw.ksd(x, t, kernel=kernel + 0.5 * IMQ()),
        lambda x, t, kernel: sw.compare({"a": x, "b": x + 1}, t, method=sw.methods.KSD(kernel)),
    ],
    ids=["ksd", "nystrom", "fssd", "sksd", "sum", "compare"],
)
def test_a_vector_for_another_dimension(measure):
    """Broadcasting, which fails far inside JAX or, with one number, passes."""
    draws, target = np.random.default_rng(0).normal(size=(100, 2)), sw.Gaussian([0, 0], np.eye(2))
    for d in (1, 3):
        with pytest.raises(sw.InputError, match=f"vector of {d} parameters for 2 coordinates"):
            measure(draws, target, RBF(np.ones(d)))


def test_the_plain_exponent_is_a_number_as_any_other():
    """The special case of 1/2 must not be seen from outside: replaced, passed on, computed with."""
    kernel = IMQ(2.0)
    assert kernel.exponent == 0.5
    assert "exponent=0.5" in repr(kernel)
    wider = dataclasses.replace(kernel, bandwidth=np.array(3.0))
    assert IMQ(3.0, exponent=kernel.exponent) == wider
    x = np.random.default_rng(0).normal(size=(5, 2))
    with jax.enable_x64(True):
        by_power = IMQ(2.0, exponent=jnp.asarray(0.5))
        np.testing.assert_allclose(kernel(x, x), by_power(x, x), rtol=1e-14)


@pytest.mark.parametrize("kernel", [IMQ(), RBF(), Matern52()], ids=repr)
@pytest.mark.parametrize("far", [1e9, 1e12])
def test_a_far_point_does_not_spoil_the_others(kernel, far):
    """A mean that follows it, and takes the digits of all distances with it."""
    x = np.random.default_rng(0).normal(0.7, 1.0, size=(20, 2))
    x[4] = far
    with jax.enable_x64(True):
        found = kernel.stein_gram(x, x, -x, -x)
        expected = over_pairs(kernel.stein)(x, x, -x, -x)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_one_exponent_for_a_kernel_of_several_coordinates():
    draws, target = np.random.default_rng(0).normal(size=(100, 2)), sw.Gaussian([0, 0], np.eye(2))
    kernel = IMQ(1.0, exponent=[0.5, 0.7])
    with pytest.raises(sw.InputError, match="exponent of IMQ is a vector of 2"):
        sw.ksd(draws, target, kernel=kernel)
    assert np.isfinite(sw.sksd(draws, target, kernel=kernel).value)


@pytest.mark.parametrize("bad", ["rbf", 3, None, RBF, [RBF(), RBF()]])
@pytest.mark.parametrize(
    "method",
    [
        sw.methods.KSD,
        sw.methods.NystromKSD,
        sw.methods.FSSD,
        lambda kernel: sw.methods.GraphicalKSD(kernel=kernel),
        lambda kernel: sw.methods.SlicedKSD(kernel=kernel),
    ],
    ids=["ksd", "nystrom", "fssd", "graphical", "sksd"],
)
def test_a_method_takes_a_kernel_and_not_its_name(method, bad):
    """An attribute error when the draws have been read and scored."""
    with pytest.raises(sw.InputError, match=r"(?s)kernel is .*expected one kernel such as"):
        method(bad)


def test_an_unresolved_median_says_what_to_do():
    """Else the word reaches the arithmetic."""
    with pytest.raises(sw.InputError, match=r"kernel\.resolve"):
        RBF("median")(np.zeros((2, 2)), np.ones((2, 2)))


def test_a_median_of_zero_says_why():
    """Repeated draws (a Metropolis chain that rarely moves) would divide by zero."""
    x = np.zeros((50, 2))
    x[:3] = np.arange(6).reshape(3, 2)
    with pytest.raises(sw.InputError, match="more than half of the pairs"):
        median_distance(x, 0, per_coordinate=False)
    with pytest.raises(sw.InputError, match="of coordinate 0"):
        median_distance(x, 0, per_coordinate=True)


def test_a_gram_matrix_of_vectors_says_how_to_pass_them():
    with pytest.raises(sw.InputError, match=r"x\[:, None\]"):
        RBF()(np.zeros(3), np.zeros(3))
    with pytest.raises(sw.InputError, match=r"\(2, 3\) and \(2, 2\)"):
        RBF()(np.zeros((2, 3)), np.zeros((2, 2)))


def test_any_kind_of_positive_number_is_a_factor():
    doubled = RBF() * np.float32(2)
    np.testing.assert_allclose(doubled([[0.0]], [[1.0]]), 2 * RBF()([[0.0]], [[1.0]]))


def test_the_secant_can_be_differentiated_far_out():
    """1 / cosh overflows where the kernel is 0 to every digit."""
    far = jnp.array([[0.0], [100.0]])
    slope = jax.grad(lambda x: sw.functional.ksd(HyperbolicSecant(), x, -x))(far)
    assert np.isfinite(slope).all()


@pytest.mark.parametrize("other", ["a", -1.0, 0, None, True])
def test_a_kernel_combines_with_kernels_and_positive_numbers(other):
    """A negative factor would not be a kernel."""
    with pytest.raises(sw.InputError, match="positive number"):
        RBF() * other
