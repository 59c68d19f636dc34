"""Rejection rates of every method on draws that are right, and of some on draws that are wrong.

Each rate under the null must lie inside an exact binomial interval that a right test leaves once
in a thousand times; the seeds are fixed.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

import steinwise as sw
from benchmarks import simulate
from benchmarks.rates import interval, lower_bound
from benchmarks.targets import standard
from steinwise.methods import FSSD, RFSD, AbstractMethod, KSDAgg, NystromKSD, SlicedKSD
from tests.contract.methods import METHODS, draws, method, normal

Draw = Callable[[np.random.Generator], np.ndarray]


def independent(law: Draw) -> Callable[[np.random.Generator], sw.Samples]:
    """The same draws, said to be independent: then none is refused as a hidden chain."""
    return lambda rng: sw.Samples.of(law(rng), independent=True)


def rate(
    draw: Callable, checked: str | AbstractMethod, d: int, repetitions: int, stream: int
) -> float:
    """The share of rejections against N(0, I)."""
    results = [
        sw.check(
            draw(np.random.default_rng([stream, seed])),
            standard(d),
            method=checked,
            n_bootstrap=199,
            seed=seed,
        )
        for seed in range(repetitions)
    ]
    return float(np.mean([result.rejected for result in results]))


def assert_right_size(rejected: float, repetitions: int) -> None:
    low, high = interval(0.05, repetitions)
    assert low <= rejected <= high


@pytest.mark.filterwarnings("ignore::steinwise.SteinwiseWarning")  # few draws to learn from
@pytest.mark.parametrize("name", METHODS)
def test_right_draws_have_evenly_spread_pvalues(name: str) -> None:
    """Catches a statistic whose mean is not zero under the null, or a null that does not fit."""
    repetitions, d = 40, 3
    pvalues = np.array(
        [
            sw.check(
                draws(seed),
                normal(d),
                method=method(name, d),
                n_bootstrap=99,
                independent=True,
                seed=seed,
            ).pvalue
            for seed in range(repetitions)
        ]
    )
    assert abs(pvalues.mean() - 0.5) < 4 / np.sqrt(12 * repetitions)
    assert_right_size(float(np.mean(pvalues <= 0.05)), repetitions)


@pytest.mark.parametrize(
    "checked",
    [FSSD(), FSSD(optimise=False), FSSD(optimise=False, null="signs")],
    ids=lambda checked: checked.describe(),
)
def test_size_of_fssd(checked: FSSD) -> None:
    """Catches learning on the tested draws, and a null of the wrong scale."""
    draw = independent(lambda rng: rng.normal(size=(300, 4)))
    assert_right_size(rate(draw, checked, 4, 120, stream=16), 120)


def chains(rng: np.random.Generator) -> np.ndarray:
    return simulate.autoregressive(rng, np.full(3, 0.7), 4, 500)


@pytest.mark.filterwarnings("ignore:the start of a chain")  # a note, not the verdict
def test_size_of_fssd_on_chains() -> None:
    """Catches the covariance of single draws: two in three right chains are rejected by it."""
    checked = FSSD(locations=np.random.default_rng(1).normal(size=(5, 3)), optimise=False)
    assert_right_size(rate(chains, checked, 3, 80, stream=16), 80)


def test_power_of_learned_locations_of_fssd() -> None:
    """Catches a search that runs on to the noise: its power is about 0.1, not 0.5."""
    draw = independent(lambda rng: rng.laplace(0, 1 / np.sqrt(2), size=(1000, 10)))
    assert lower_bound(rate(draw, FSSD(), 10, 60, stream=16), 60) > 0.2


@pytest.mark.filterwarnings("ignore::steinwise.SteinwiseWarning")  # a note on a chain's start
@pytest.mark.parametrize("kind", ["independent", "chains"])
def test_size_of_nystrom_ksd_although_landmarks_are_tested_too(kind: str) -> None:
    """Catches a bias by landmarks that meet themselves: few of them, and a chain."""
    if kind == "independent":
        draw = independent(lambda rng: rng.normal(size=(60, 3)))
        rejected = rate(draw, NystromKSD(landmarks=10), 3, 200, stream=3)
    else:
        rejected = rate(
            lambda rng: simulate.autoregressive(rng, np.full(3, 0.5), 4, 150),
            NystromKSD(),
            3,
            200,
            stream=4,
        )
    assert_right_size(rejected, 200)


def test_size_of_ksdagg() -> None:
    """Catches the least of ten p-values."""
    draw = independent(lambda rng: rng.normal(size=(60, 3)))
    assert_right_size(rate(draw, KSDAgg(), 3, 200, stream=1), 200)


def test_ksdagg_finds_what_one_bandwidth_misses() -> None:
    """Catches a bandwidth that never has a say."""
    draw = independent(lambda rng: rng.laplace(0, 0.5**0.5, size=(300, 5)))
    aggregated, single = (rate(draw, name, 5, 20, stream=2) for name in ("ksdagg", "ksd"))
    assert aggregated >= single + 5 / 20


@pytest.mark.parametrize("slices", ["axes", "learned", "active"])
def test_size_of_sliced_ksd(slices: Literal["axes", "learned", "active"]) -> None:
    """Catches slices fitted to the tested draws, and signs that miss a part of the pairs."""
    draw = independent(lambda rng: rng.normal(size=(150, 5)))
    assert_right_size(rate(draw, SlicedKSD(slices), 5, 60, stream=10), 60)


@pytest.mark.parametrize("kind", ["imq", "sech"])
def test_size_of_rfsd(kind: Literal["imq", "sech"]) -> None:
    """Catches the published gamma as the default of signs, whose rate is 0.27 for L1-IMQ here."""
    draw = independent(lambda rng: rng.normal(size=(500, 5)))
    assert_right_size(rate(draw, RFSD(kind), 5, 100, stream=15), 100)
