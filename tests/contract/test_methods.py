"""What every method owes its user, whatever it computes."""

import json
import warnings
from collections.abc import Callable

import numpy as np
import pytest

import steinwise as sw
from benchmarks.examples import gaussian_conditionals
from steinwise.conditionals import KDE, Histogram, Linear, MixtureDensity
from steinwise.methods import (
    BY_NAME,
    FSSD,
    KCCSD,
    KSD,
    RFSD,
    AbstractMethod,
    GraphicalKSD,
    KSDAgg,
    NystromKSD,
    SlicedKSD,
    Transported,
)

N = 60  # a batch each, so that the order of the draws cannot matter


def normal(d: int) -> sw.Gaussian:
    return sw.Gaussian(np.zeros(d), 0.5 * np.eye(d) + 0.5)


def draws(seed: int, n: int = N, d: int = 3) -> np.ndarray:
    rng = np.random.default_rng([99, seed])
    return rng.multivariate_normal(np.zeros(d), normal(d).covariance, n)


METHODS: dict[str, AbstractMethod | Callable[[int], AbstractMethod]] = {
    "transported": Transported(),
    "transported, no directions": Transported(directions=False),
    "kccsd": lambda d: KCCSD(gaussian_conditionals(normal(d))),
    "kccsd, histogram": KCCSD(Histogram(bins=6, epochs=50)),
    "kccsd, kde": KCCSD(KDE()),
    "kccsd, linear": KCCSD(Linear()),
    "kccsd, linear, 3 splits": KCCSD(Linear(), splits=3),
    "kccsd, mixture density": KCCSD(MixtureDensity(epochs=50)),
    "kccsd, waves": KCCSD(Linear(), sw.kernels.RandomFourier(waves=10), variant="unit-ball"),
    "ksd": KSD(),
    "ksd, imq": KSD(sw.kernels.IMQ()),
    "ksd, a sign per draw": KSD(bootstrap="draws"),
    "ksd, multinomial": KSD(bootstrap="multinomial"),
    "ksd, linear": KSD(linear=True),
    "ksdagg": KSDAgg(),
    "nystrom": NystromKSD(),
    "nystrom, imq": NystromKSD(sw.kernels.IMQ(), landmarks=20),
    "fssd": FSSD(),
    "fssd, signs": FSSD(null="signs"),
    "fssd, fixed": lambda d: FSSD(locations=np.ones((2, d)), optimise=False, null="signs"),
    "graphical": GraphicalKSD(),
    "graphical, given": lambda d: GraphicalKSD(np.ones((d, d)), sw.kernels.IMQ()),
    "rfsd, imq": RFSD("imq"),
    "rfsd, sech": RFSD("sech"),
    "sksd, axes": SlicedKSD(),
    "sksd, learned": SlicedKSD("learned"),
    "sksd, active": SlicedKSD("active"),
}


def method(name: str, d: int) -> AbstractMethod:
    found = METHODS[name]
    return found if isinstance(found, AbstractMethod) else found(d)


ORDERED = {"transported", "kccsd", "ksd, linear", "fssd", "fssd, signs"}  # by their very nature
ORDERED |= {
    "nystrom",
    "nystrom, imq",
    "sksd, learned",
    "sksd, active",
    *(name for name in METHODS if "kccsd" in name),
}


def check(name: str, x: np.ndarray, **options) -> sw.CheckResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.SteinwiseWarning)
        options = {"n_bootstrap": 99, "independent": x.ndim == 2, "progress": False} | options
        d = x.shape[-1]
        return sw.check(x, normal(d), method=method(name, d), **options)


each = pytest.mark.parametrize("name", METHODS)


def test_every_public_method_is_under_contract() -> None:
    """Catches a method that was added without its entry here."""
    assert {type(method(name, 2)) for name in METHODS} >= set(BY_NAME.values())


@each
def test_right_draws_have_evenly_spread_pvalues(name: str) -> None:
    """Catches a statistic whose mean is not zero under the null, or a null that does not fit."""
    repetitions = 40
    pvalues = [check(name, draws(seed), seed=seed).pvalue for seed in range(repetitions)]
    assert abs(np.mean(pvalues) - 0.5) < 4 / np.sqrt(12 * repetitions)
    assert np.mean(np.array(pvalues) <= 0.05) <= 0.2  # 5 standard errors


@pytest.mark.parametrize("name", [name for name in METHODS if name != "kccsd"])
def test_wrong_draws_are_found(name: str) -> None:
    """Catches a method that never rejects.

    KCC-SD is fed with the target's own conditionals here, and then sees nothing, as it must.
    """
    assert check(name, draws(0, n=400) + 1.0).rejected


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ORDERED])
def test_the_order_of_independent_draws_does_not_matter(name: str) -> None:
    """Catches pairs of neighbours that are treated apart, and draws that are left out."""
    x = draws(1)
    one, other = (check(name, rows).statistic for rows in (x, x[::-1].copy()))
    assert one == pytest.approx(other, rel=1e-7, abs=1e-12)


@each
def test_memory_does_not_change_the_numbers(name: str) -> None:
    """Catches results that depend on the chunks they are computed in."""
    x = draws(2, n=300)
    small, large = (check(name, x, memory=memory) for memory in ("1MiB", "1GiB"))
    assert small.statistic == pytest.approx(large.statistic, rel=1e-9, abs=1e-12)
    assert small.pvalue == large.pvalue


@each
def test_float32_comes_close_to_float64(name: str) -> None:
    """Catches a sum that loses its digits."""
    x = draws(3, n=300)
    half, full = (check(name, x, dtype=dtype) for dtype in ("float32", "float64"))
    assert half.statistic == pytest.approx(full.statistic, rel=1e-2, abs=1e-3)
    assert half.pvalue == pytest.approx(full.pvalue, abs=0.05)


@each
def test_a_repeated_draw_and_one_coordinate_are_no_trouble(name: str) -> None:
    """Catches a distance of 0, a median of none, and an axis that is squeezed away."""
    x = draws(4)
    x[1] = x[0]
    assert 0 < check(name, x).pvalue <= 1
    assert 0 < check(name, draws(5, d=1)).pvalue <= 1


@each
def test_the_same_seed_gives_the_same_numbers(name: str) -> None:
    """Catches a random number from anywhere but the seed."""
    x = draws(6)
    one, other = (check(name, x, seed=7).to_dict() for _ in range(2))
    assert one == other


@each
def test_chains_get_a_verdict_and_the_result_has_its_fields(name: str) -> None:
    """Catches a result that cannot be printed, saved, or told coordinate by coordinate."""
    chains = draws(7, n=800, d=2).reshape(4, 200, 2)
    result = check(name, chains, names=["mu", "tau"])
    assert 0 < result.pvalue <= 1
    assert np.isfinite(result.statistic)
    assert result.draws.n_chains == 4
    named = {c.name for c in result.coordinates}
    assert not named or named >= {"mu", "tau"}
    assert all(0 < c.pvalue <= c.adjusted_pvalue <= 1 for c in result.coordinates)
    assert result.description in str(result)
    assert json.loads(result.to_json())["method"] == result.method
    assert result.draws.n_draws * 4 + result.draws.held_out == 800
    assert len(result.null) == 99
