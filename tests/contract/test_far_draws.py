"""One far draw: no method may lose the digits of the others to it, or be blinded by it."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise import functional
from steinwise.kernels import IMQ, RBF
from steinwise.kernels.base import over_pairs
from steinwise.methods.graphical import GraphicalKSD
from tests.contract.methods import METHODS, method

FAR = np.random.default_rng(0).normal(size=(200, 2))
FAR[3, 1] = 1e6
TARGET = sw.Gaussian([0, 0], np.eye(2))


def pair_mean(kernel: sw.kernels.AbstractKernel) -> float:
    """The mean over pairs of different draws, pair by pair and summed exactly."""
    with jax.enable_x64(True):
        x = jnp.asarray(FAR)
        gram = np.array(over_pairs(kernel.stein)(x, x, -x, -x))
    np.fill_diagonal(gram, 0.0)
    return float(gram.sum() / (200 * 199))


@pytest.mark.parametrize("kernel", [RBF("median"), RBF(1.0)], ids=["median", "one"])
def test_the_u_statistic_of_ksd_keeps_its_digits(kernel: sw.kernels.AbstractKernel) -> None:
    """Catches a diagonal of 1e12 that is added and taken out again."""
    exact = pair_mean(kernel.resolve(FAR, 0, per_coordinate=False))
    assert abs(exact) < 0.1
    found = sw.ksd(FAR, TARGET, kernel=kernel)
    assert found.value == pytest.approx(exact, rel=1e-6)
    assert sw.check(FAR, TARGET, method=sw.methods.KSD(kernel)).discrepancy == pytest.approx(
        exact, rel=1e-6
    )


def test_influence_on_ksd_keeps_its_digits() -> None:
    """Catches the same in the means over the pairs of each draw."""
    found = sw.ksd(FAR, TARGET).influential(200)
    assert max(abs(one.value) for one in found) < 1.0


def test_values_on_slices_keep_their_digits() -> None:
    near = np.delete(FAR, 3, axis=0)
    found, without = sw.sksd(FAR, TARGET), sw.sksd(near, TARGET)
    assert found.per_coordinate is not None
    assert without.per_coordinate is not None
    np.testing.assert_allclose(found.per_coordinate, without.per_coordinate, atol=0.02)


def test_pure_functions_keep_their_digits() -> None:
    """Catches traces that are taken out of sums, in every function of a Gram matrix."""
    kernel = RBF("median").resolve(FAR, 0, per_coordinate=False)
    with jax.enable_x64(True):
        x = jnp.asarray(FAR)
        whole = functional.ksd(kernel, x, -x)
        of_slice = functional.slice_ksd(RBF(1.0), x[:, 1], -x[:, 1], 1.0)
        sliced = functional.sliced_ksds(RBF(1.0), x, -x, jnp.eye(2))
    assert float(whole) == pytest.approx(pair_mean(kernel), rel=1e-6)
    np.testing.assert_allclose([of_slice, *sliced], 0.0, atol=0.05)


def test_graphical_ksd_keeps_its_digits() -> None:
    result = sw.check(FAR, TARGET, method=GraphicalKSD())
    assert result.discrepancy == pytest.approx(0.0, abs=0.05)


def cubic_features(x: np.ndarray) -> np.ndarray:
    """Features of 1e12 at the far draw: IMQ falls more slowly than x^3 grows."""
    with jax.enable_x64(True):
        rows = jnp.asarray(x)
        return np.asarray(functional.fssd_features(IMQ(), rows, -(rows**3), jnp.zeros((1, 2))))


def test_fssd_keeps_its_digits() -> None:
    """Catches |sum|^2 less the sum of squares; the exact mean is over pairs, as fractions."""
    from fractions import Fraction

    features = cubic_features(FAR[:20]).reshape(20, -1)
    rows = [[Fraction(float(v)) for v in row] for row in features]
    exact = sum(
        a * b
        for i in range(20)
        for j in range(20)
        if i != j
        for a, b in zip(rows[i], rows[j], strict=True)
    ) / Fraction(20 * 19)
    with jax.enable_x64(True):
        found = float(functional.fssd(jnp.asarray(features)))
    assert found == pytest.approx(float(exact), rel=1e-9)
    value = sw.fssd(
        FAR[:20], sw.Target(lambda x: -jnp.sum(x**4) / 4), locations=np.zeros((1, 2)), kernel=IMQ()
    ).value
    assert value == pytest.approx(float(exact), rel=1e-6)


WIDE = 2 * np.random.default_rng(1).normal(size=(200, 2))


# without power against these draws even where none is far; and a kernel that does not fall with the
# distance, or powers that grow with it, so that one far draw rightly is the whole sum
NOT_EXPECTED = {"ksd, linear", "fssd, fixed", "kccsd, waves", "kccsd"}
NOT_EXPECTED |= {name for name in METHODS if "psd" in name}


@pytest.mark.parametrize("row", [3, 150], ids=["learned from", "tested"])
@pytest.mark.parametrize(
    "name",
    [name for name in METHODS if "null of the target" not in name and name not in NOT_EXPECTED],
)
def test_one_far_draw_blinds_no_method(name: str, row: int) -> None:
    """Catches scales, centres and locations that one draw decides, and overflows."""
    chosen = method(name, 2)
    for distance in (1e6, 1e99):
        x = WIDE.copy()
        x[row, 1] = distance
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sw.SteinwiseWarning)
            assert sw.check(x, TARGET, method=chosen).pvalue < 0.05


@pytest.mark.parametrize(
    ("name", "far"),
    [
        ("ksdagg", {3: [1e6, -1e6], 100: [-1e8, 1e5]}),
        ("kccsd, waves", {150: [0.0, 1e99]}),
        ("lambda_psd", {150: [0.0, 1e6]}),
    ],
)
def test_a_statistic_of_one_term_is_said(name: str, far: dict[int, list[float]]) -> None:
    """Catches p = 0.5 from far draws that are the whole statistic, without a word."""
    x = WIDE.copy()
    for row, place in far.items():
        x[row] = place
    with pytest.warns(sw.SteinwiseWarning):
        result = sw.check(x, TARGET, method=method(name, 2))
    assert not result.rejected
    assert any("makes up nearly all of the statistic" in note for note in result.notes)


def test_an_unknown_estimator_is_refused_by_pure_functions() -> None:
    """Catches "w" taken as "u"."""
    x = jnp.zeros((3, 1))
    with pytest.raises(sw.InputError, match="estimator is 'w'"):
        functional.ksd(RBF(1.0), x, x, "w")
    with pytest.raises(sw.InputError, match="variant is 'ball'"):
        functional.kccsd_contributions(
            RBF(1.0), x, x, x[..., None], x[..., None], x[..., None], variant="ball"
        )
