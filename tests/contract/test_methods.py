"""What every method owes its user, whatever it computes."""

import json
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.conditionals import Sampler
from steinwise.draws.samples import Samples
from steinwise.methods import NAMES, by_name
from steinwise.methods.base import AbstractFitted, AbstractMethod
from steinwise.methods.kccsd import KCCSD
from steinwise.methods.lambda_psd import LambdaPSD
from steinwise.methods.nystrom import NystromKSD
from steinwise.results.wording import note_text
from tests.contract.methods import (
    INDEPENDENT_ONLY,
    METHODS,
    N,
    batches_of_one_draw,
    draws,
    method,
    normal,
    prepared,
    value,
)


def check(name: str, x: np.ndarray, **options) -> sw.CheckResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.SteinwiseWarning)
        options = {"n_bootstrap": 99, "independent": x.ndim == 2, "progress": False} | options
        d = x.shape[-1]
        return sw.check(x, normal(d), method=method(name, d), **options)


each = pytest.mark.parametrize("name", METHODS)


@each
def test_every_method_describes_itself_in_a_line(name: str) -> None:
    """Catches a method whose heading in the report is empty, or runs over the page."""
    assert 3 <= len(method(name, 2).describe()) <= 100


def test_every_public_method_is_under_contract() -> None:
    """Catches a method that was added without its entry here."""
    assert {type(method(name, 2)) for name in METHODS} >= {by_name(name) for name in NAMES}


@pytest.mark.parametrize("name", [name for name in METHODS if name != "kccsd"])
def test_wrong_draws_are_found(name: str) -> None:
    """Catches a method that never rejects.

    KCC-SD is fed with the target's own conditionals here, and then sees nothing, as it must.
    """
    assert check(name, draws(0, n=300) + 1.0).rejected


@pytest.mark.parametrize(
    "name", [name for name in METHODS if name != "kccsd" and name not in INDEPENDENT_ONLY]
)
def test_wrong_chains_are_found(name: str) -> None:
    """Catches a misfit that passes for autocorrelation, and is refused as a chain too slow."""
    assert check(name, (draws(7, n=800, d=2) + 2.0).reshape(4, 200, 2)).rejected


def quantiles(key: np.ndarray, x: np.ndarray, n_atoms: int) -> np.ndarray:
    """Of the complete conditionals, the same for the same row wherever it stands."""
    law = normal(x.shape[1])
    curvature = np.diag(law.precision)
    centre, steps = x + law.score(x) / curvature, ndtri((np.arange(n_atoms) + 0.5) / n_atoms)
    return centre[..., None] + steps / np.sqrt(curvature)[:, None]


# Where the numbers of rows decide: a stand-in's random atoms, and which draws are landmarks. Here
# is the same method without that choice.
WITHOUT_CHOICE = {
    "kccsd": KCCSD(Sampler(quantiles, n_atoms=5)),
    "nystrom": NystromKSD(landmarks=N),
    "nystrom, imq": NystromKSD(sw.kernels.IMQ(), landmarks=N),
}


def another_order(name: str, n: int) -> np.ndarray:
    """Of all draws, but for three methods."""
    rng = np.random.default_rng(1)
    if name in ("transported", "scores"):  # the first fifth gives their directions
        parts = np.split(np.arange(n), [n // 5])
        return np.concatenate([rng.permutation(part) for part in parts])
    if name == "ksd, linear":  # a mean over pairs of a draw of one half and one of the other
        half = rng.permutation(n // 2)
        return np.concatenate([half, n // 2 + half])
    return rng.permutation(n)


@each
def test_the_order_of_independent_draws_does_not_matter(name: str) -> None:
    """Catches pairs of neighbours that are treated apart, and draws that are left out.

    The order of those that are tested: the draws that a method learns from are the first ones, or
    chosen by their numbers. With more draws than batches the order would matter too, since pairs
    inside a batch are left out; `statistic` sees to it that every draw is a batch.
    """
    for fitted in prepared(WITHOUT_CHOICE.get(name, method(name, 3)), draws(1)):
        mixed = fitted.samples.reordered(another_order(name, fitted.samples.n))
        assert not np.array_equal(mixed.values, fitted.samples.values)
        assert value(fitted) == pytest.approx(value(on(mixed, fitted)), rel=1e-7, abs=1e-12)


def on(samples: Samples, fitted: AbstractFitted) -> AbstractFitted:
    """The same with other draws; prepared anew where none were held out to learn from."""
    if samples.n < N:
        return replace(fitted, samples=samples)
    return next(fitted.method.prepare(samples, normal(samples.dim), RunOptions()))


@each
def test_what_is_learned_is_no_option(name: str) -> None:
    """Catches a method that changes as it learns, so that it cannot be used again."""
    one = method(name, 3)
    for fitted in prepared(one, draws(11)):
        assert fitted.method is one
        assert not isinstance(fitted, AbstractMethod)


@each
def test_a_statistic_can_be_tested_twice(name: str) -> None:
    """Catches a pass over the draws that leaves something behind for the next one."""
    fitted = prepared(method(name, 3), draws(10))[0]
    statistic = fitted.statistic(normal(3), RunOptions())
    batches = batches_of_one_draw(fitted, statistic)
    one, other = (fitted.test(statistic, batches, 99, 0) for _ in range(2))
    assert one.calibration.statistic == other.calibration.statistic
    assert one.calibration.pvalue == other.calibration.pvalue
    for numbers in ("null", "values", "coordinate_pvalues", "adjusted_pvalues"):
        first, second = (getattr(evidence.calibration, numbers) for evidence in (one, other))
        np.testing.assert_array_equal(first, second)
    assert one.calibration.deciding == other.calibration.deciding
    assert one.batches.count == other.batches.count == batches.count


@each
def test_memory_does_not_change_the_numbers(name: str) -> None:
    """Catches results that depend on the chunks they are computed in."""
    x = draws(2, n=300)
    small, large = (check(name, x, memory=memory) for memory in ("1MiB", "1GiB"))
    assert small.statistic == pytest.approx(large.statistic, rel=1e-9, abs=1e-12)
    assert small.pvalue == large.pvalue


@each
def test_float32_is_close_to_float64_or_has_no_effect_and_says_so(name: str) -> None:
    """Catches a sum that loses its digits, and a precision that is ignored in silence."""
    x = draws(3, n=300)
    half, full = (check(name, x, dtype=dtype) for dtype in ("float32", "float64"))
    assert half.statistic == pytest.approx(full.statistic, rel=1e-4)
    assert half.pvalue == pytest.approx(full.pvalue, abs=0.05)
    precision_notes = [note_text(note) for note in method(name, 3).precision_notes("float32")]
    assert bool(precision_notes) == isinstance(method(name, 3), (KCCSD, LambdaPSD, NystromKSD))
    assert list(half.notes) == precision_notes + list(full.notes)
    numbers = [(one.statistic, one.threshold, one.discrepancy) for one in (half, full)]
    assert (numbers[0] == numbers[1]) == bool(precision_notes)


@pytest.mark.parametrize("name", ["kccsd", "nystrom"])
def test_a_precision_without_effect_comes_as_a_warning(name: str) -> None:
    """Catches a note that only those see who print the result."""
    x, target = draws(3, n=300), normal(3)
    with pytest.warns(sw.SteinwiseWarning, match="dtype='float32' has no effect on the method"):
        sw.check(x, target, method=method(name, 3), dtype="float32", independent=True)


@pytest.mark.parametrize("name", ["transported", "ksd", "sksd", "fssd", "ksdagg", "graphical"])
def test_float32_keeps_its_digits_far_from_the_origin(name: str) -> None:
    """Catches draws that are rounded to even numbers before they are compared."""
    far = 2.0**24
    x, target = draws(3, n=300) + far, sw.Gaussian(np.full(3, far), normal(3).covariance)
    half, full = (
        sw.check(x, target, method=name, n_bootstrap=99, dtype=dtype, independent=True)
        for dtype in ("float32", "float64")
    )
    assert half.statistic == pytest.approx(full.statistic, rel=1e-4)
    assert half.pvalue == pytest.approx(full.pvalue, abs=0.05)


@each
def test_a_repeated_draw_and_one_coordinate_are_no_trouble(name: str) -> None:
    """Catches a distance of 0, a median of none, and an axis that is squeezed away."""
    x = draws(4)
    x[1] = x[0]
    for result in (check(name, x), check(name, draws(5, d=1))):
        assert np.isfinite(result.statistic)
        assert 0.01 < result.pvalue <= 1  # the draws are right: at least p-values come by chance


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
    result = check(name, chains, names=["mu", "tau"], independent=name in INDEPENDENT_ONLY)
    assert 0 < result.pvalue <= 1
    assert np.isfinite(result.statistic)
    assert result.draws.n_chains == 4
    named = {c.name for c in result.coordinates}
    assert not named or named >= {"mu", "tau"}
    assert all(0 < c.pvalue <= c.adjusted_pvalue <= 1 for c in result.coordinates)
    assert result.description in str(result)
    assert json.loads(result.to_json())["method"] == result.method
    assert pickle.loads(pickle.dumps(result)).to_json() == result.to_json()  # as workers send it
    assert result.draws.n_draws * 4 + result.draws.held_out == 800
    assert len(result.null) == 99


@pytest.mark.parametrize("name", sorted(INDEPENDENT_ONLY))
def test_a_null_for_independent_draws_refuses_chains(name: str) -> None:
    """Catches right chains that are rejected, because their draws count as independent."""
    with pytest.raises(sw.InputError, match=r"these are chains.*independent=True"):
        check(name, draws(8, n=200, d=2).reshape(4, 50, 2))
