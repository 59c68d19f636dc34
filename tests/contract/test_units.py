"""Draws and density in other units: the same verdict, or a note that says why not."""

import warnings

import numpy as np
import pytest

import steinwise as sw
from steinwise.kernels import IMQ, RBF
from steinwise.methods import AbstractMethod
from steinwise.methods.fssd import FSSD
from steinwise.methods.rfsd import RFSD
from tests.contract.methods import METHODS, method

WIDE = 2 * np.random.default_rng(0).normal(size=(150, 2))
# bandwidths and locations in the units of the draws, or draws of the target
IN_GIVEN_UNITS = {"ksd, imq", "nystrom, imq", "graphical, given", "fssd, fixed"}
IN_GIVEN_UNITS |= {name for name in METHODS if "null of the target" in name}
# the stand-in is the target's own conditional, at unit scale
IN_GIVEN_UNITS |= {"kccsd"}
BY_COORDINATE = [
    "transported",
    "kccsd, linear",
    "kccsd, kde",
    "kccsd, histogram",
    "ksdagg",
    "sksd, axes",
    "sksd, active",
    "graphical",
    "psd",
    "lambda_psd",
]


def pvalue(chosen: AbstractMethod | str, units: np.ndarray) -> float:
    target = sw.Gaussian([0, 0], np.diag(units**2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.SteinwiseWarning)
        return sw.check(WIDE * units, target, method=chosen).pvalue


@pytest.mark.parametrize("name", [name for name in METHODS if name not in IN_GIVEN_UNITS])
def test_a_common_unit_changes_nothing(name: str) -> None:
    """Catches bandwidths, tolerances and penalties of order 1."""
    chosen = method(name, 2)
    expected = pvalue(chosen, np.ones(2))
    for unit in (1e-3, 1e3):
        assert pvalue(chosen, np.full(2, unit)) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("name", BY_COORDINATE)
def test_units_of_single_coordinates_change_nothing(name: str) -> None:
    """Catches sums over coordinates that the narrowest one decides."""
    chosen = method(name, 2)
    expected = pvalue(chosen, np.ones(2))
    assert pvalue(chosen, np.array([1e-3, 1e3])) == pytest.approx(expected, abs=0.01)


def test_published_settings_are_those_of_the_units() -> None:
    """Catches a paper's setting that is no longer to be had."""
    x, target = WIDE / 2, sw.Gaussian([0, 0], np.eye(2))
    conditional = sw.conditionals.Linear()
    as_published = sw.methods.KCCSD(conditional, standardise=False)
    value = sw.kccsd(x, target, conditional=conditional, kernel=RBF(1.0)).value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.SteinwiseWarning)
        assert sw.check(x, target, method=as_published).discrepancy == pytest.approx(value)
    standardised = sw.kccsd(x, target, conditional=conditional, standardise=True)
    in_other_units = sw.kccsd(
        1e3 * x, sw.Gaussian([0, 0], 1e6 * np.eye(2)), conditional=conditional, standardise=True
    )
    assert standardised.value == pytest.approx(in_other_units.value)


@pytest.mark.parametrize(
    "chosen",
    [
        sw.methods.KCCSD(sw.conditionals.Linear(), standardise=False),
        sw.methods.KCCSD(sw.conditionals.Linear(), [RBF(1.0), RBF(2.0)], standardise=False),
        sw.methods.KCCSD(sw.conditionals.Linear(), blocks=[[0, 1]], standardise=False),
        sw.methods.KSDAgg(standardise=False),
        sw.methods.KSD(RBF(1.0)),
        sw.methods.KSD(IMQ() + 2 * RBF(3.0)),
        sw.methods.NystromKSD(IMQ()),
        sw.methods.GraphicalKSD(kernel=IMQ()),
        sw.methods.SlicedKSD(kernel=RBF([1.0, 1.0])),
    ],
    ids=lambda chosen: chosen.describe(),
)
def test_a_bandwidth_far_from_the_draws_is_said(chosen: AbstractMethod) -> None:
    """Catches a blind test that passes for a verdict."""
    target = sw.Gaussian([0, 0], 1e-8 * np.eye(2))
    with pytest.warns(sw.SteinwiseWarning):
        result = sw.check(1e-4 * WIDE, target, method=chosen)
    assert any("times the typical distance of two draws" in note for note in result.notes)


def test_a_bandwidth_far_from_the_draws_is_said_of_values() -> None:
    target = sw.Gaussian([0, 0], 1e-8 * np.eye(2))
    for value in (sw.kccsd, sw.ksd, sw.sksd):
        options = {"conditional": sw.conditionals.Linear()} if value is sw.kccsd else {}
        with pytest.warns(sw.SteinwiseWarning, match="bandwidth is"):
            value(1e-4 * WIDE, target, kernel=RBF(1.0), **options)  # type: ignore[operator]


@pytest.mark.parametrize("name", ["ksd", "nystrom", "fssd", "rfsd"])
def test_coordinates_on_unlike_scales_are_said(name: str) -> None:
    """Catches a method that sees one coordinate and passes for a verdict on all."""
    units = np.array([1e-3, 1e3])
    with pytest.warns(sw.SteinwiseWarning, match=r"spreads of the coordinates go from 0.00\d+ to"):
        sw.check(WIDE * units, sw.Gaussian([0, 0], np.diag(units**2)), method=name)


@pytest.mark.parametrize(
    "blind",
    [
        FSSD(locations=np.full((2, 2), 1e9), optimise=False),
        FSSD(locations=np.full((2, 2), 1e9), optimise=False, null="signs"),
        sw.methods.KSD(RBF(1e-60)),
    ],
    ids=["fssd", "fssd, signs", "ksd"],
)
def test_a_statistic_that_is_always_zero_is_refused(blind: AbstractMethod) -> None:
    """Catches p = 1 from a method that saw nothing."""
    with pytest.raises(sw.InputError, match="sees nothing of these draws"):
        sw.check(WIDE, sw.Gaussian([0, 0], np.eye(2)), method=blind)


def test_random_features_see_any_draws() -> None:
    far = RFSD("sech", locations=np.full((2, 2), 1e3))
    assert 0 < sw.check(WIDE, sw.Gaussian([0, 0], np.eye(2)), method=far).pvalue <= 1
