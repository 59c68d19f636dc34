"""Verdicts in words: what is wrong with a coordinate, and with whom."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import steinwise as sw
from steinwise.methods.complete_conditionals.effects import NormalScoreSums
from steinwise.methods.complete_conditionals.features import Features
from steinwise.methods.transported import Transported
from steinwise.orbits.places import Places


def normal(seed: int, n: int = 500, d: int = 4) -> np.ndarray:
    return np.random.default_rng([6, seed]).normal(size=(n, d))


def verdicts(draws: np.ndarray) -> list[str]:
    d = draws.shape[1]
    method = Transported(directions=False)
    result = sw.check(draws, sw.Gaussian(np.zeros(d), np.eye(d)), method=method)
    assert result.rejected
    return [c.verdict for c in result.findings.coordinates]


def test_words_for_one_coordinate() -> None:
    """Catches a fault that is named as another kind, and right coordinates that are accused."""
    draws = normal(0)
    draws[:, 0] *= 0.6
    draws[:, 1] += 0.4
    draws[:, 2] = np.random.default_rng(7).laplace(0, 1 / np.sqrt(2), size=500)
    narrow, shifted, heavy, right = verdicts(draws)
    sd = float(narrow.removeprefix("draws are too narrow (sd ").split(",")[0])
    assert sd == pytest.approx(0.6, abs=0.05)
    amount = float(shifted.removeprefix("draws are shifted by ").split()[0])
    assert amount == pytest.approx(0.4, abs=0.1)
    assert heavy.endswith("given the others, draws have heavier tails than the target")
    assert right == "no misfit found"


def test_words_for_dependence_name_the_partner() -> None:
    """Catches the wrong partner, and dependence told as a fault of one coordinate."""
    draws = normal(1)
    draws[:, 3] = 0.4 * draws[:, 1] + np.sqrt(1 - 0.4**2) * draws[:, 3]
    found = verdicts(draws)
    assert found[1] == "its dependence on x[3] is wrong"
    assert found[3] == "its dependence on x[1] is wrong"
    assert found[0] == found[2] == "no misfit found"


@pytest.mark.parametrize(("drawn", "expected"), [(0.0, 0.3), (0.3, 0.0)])
def test_words_for_dependence_hold_whether_draws_or_target_lack_it(
    drawn: float, expected: float
) -> None:
    """Catches "depends on b in a way that the target does not", of draws that do not depend."""

    def covariance(correlation: float) -> np.ndarray:
        return np.array([[1.0, correlation], [correlation, 1.0]])

    draws = np.random.default_rng(5).multivariate_normal(np.zeros(2), covariance(drawn), size=1000)
    result = sw.check(draws, sw.Gaussian(np.zeros(2), covariance(expected)), names=["a", "b"])
    assert result["a"].verdict == "its dependence on b is wrong"
    assert result["b"].verdict == "its dependence on a is wrong"


def test_words_for_dependence_on_size_name_the_partner() -> None:
    """A scale that goes with another's size: uncorrelated, and seen by squares only."""
    draws = normal(2, n=1000)
    draws[:, 2] *= np.where(np.abs(draws[:, 0]) > 0.6745, 1.3, np.sqrt(2 - 1.3**2))
    found = verdicts(draws)
    assert found[2] == "its dependence on the magnitude of x[0] is wrong"
    assert found[1] == found[3] == "no misfit found"


def test_words_for_an_interaction_name_both() -> None:
    """The sign of one goes with the product of two others; all pairs are independent."""
    accused = 0
    for seed in (3, 30, 31, 32):
        draws = normal(seed)
        draws[:, 0] = np.abs(draws[:, 0]) * np.sign(draws[:, 2] * draws[:, 3])
        found = verdicts(draws)
        assert found[0] == "its dependence on x[2] and x[3] together is wrong"
        accused += found[1] != "no misfit found"
    assert accused <= 1  # each time at the level 0.05


def test_no_partner_is_named_that_does_not_stand_out() -> None:
    """Of many products only some are looked at: the largest of these need not be the cause."""
    d = 60
    draws = normal(33, n=2000, d=d)
    one, other = next(
        (i, j)
        for i, j in itertools.combinations(range(1, d), 2)
        if [i, j] not in Features.draw(d, 0).pairs.tolist()
    )
    draws[:, 0] = np.abs(draws[:, 0]) * np.sign(draws[:, one] * draws[:, other])
    lines = {"directions": False, "coordinates": (0,), "every_line": True}
    method = Transported(contexts=["interaction"], **lines)
    result = sw.check(draws, sw.Gaussian(np.zeros(d), np.eye(d)), method=method, alpha=0.5)
    (found,) = result.coordinates
    assert found.kind in ("", "interaction")
    assert found.partners in ((), (f"x[{one}]", f"x[{other}]"))


def test_kind_and_partners_are_fields_too() -> None:
    draws = normal(1)
    draws[:, 3] = 0.4 * draws[:, 1] + np.sqrt(1 - 0.4**2) * draws[:, 3]
    draws[:, 0] += 1.0
    result = sw.check(draws, sw.Gaussian(np.zeros(4), np.eye(4)))
    found = {c.name: (c.kind, c.partners) for c in result.coordinates}
    assert found["x[0]"] == ("shift", ())
    assert found["x[1]"] == ("dependence", ("x[3]",))
    assert found["x[2]"] == ("", ())
    plain = {c["name"]: c for c in result.to_dict()["coordinates"]}
    assert plain["x[1]"]["partners"] == ["x[3]"]


def test_sizes_beyond_what_is_counted_are_called_at_least() -> None:
    """Catches a shift by 30 that is reported as one by 5, where errors of means are not known."""
    draws = normal(43)
    draws[:, 0] += 30.0
    draws[:, 1] *= 10.0
    noisy = sw.Target.at_draws(-draws, noisy=True)
    assert all(c.marginal is None for c in sw.check(draws, noisy, method="scores").coordinates)
    result = sw.check(draws, sw.Gaussian(np.zeros(4), np.eye(4)))
    shifted, wide, *_ = (replace(c, marginal=None).verdict for c in result.findings.coordinates)
    assert shifted.startswith(
        "given the others, draws are shifted by at least +5 of the target's conditional sd; "
    )
    assert wide.startswith("given the others, draws are too wide (at least 4.")


def test_sizes_by_themselves_have_no_bound() -> None:
    draws = normal(43)
    draws[:, 0] += 30.0
    draws[:, 1] *= 10.0
    shifted, wide, *_ = verdicts(draws)
    assert shifted.startswith("draws are shifted by +30 sd (mean 30.")
    assert wide.startswith("draws are too wide (sd 10, about 1.0 expected)")


def test_settings_that_underflow_are_left_out_and_said() -> None:
    """Catches a statistic of 0 that looks like a fit."""
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    method = Transported(["shape"], ["alone"])
    with pytest.warns(sw.SteinwiseWarning, match=r"x\[0\] .*'alone'\), and 1 more .* underflow"):
        sw.check(normal(44, d=2) + 60.0, target, method=method)


def test_a_few_draws_far_out_are_counted_and_named() -> None:
    """Catches outliers that signs cannot tell from chance: two of them have p = 1/2 at best."""
    draws = normal(40)
    draws[:2, 1] = [9.0, -30.0]
    result = sw.check(draws, sw.Gaussian(np.zeros(4), np.eye(4)), method=Transported(["tails"]))
    assert result.pvalue < 1e-9
    verdict = [c.verdict for c in result.findings.coordinates]
    assert verdict[1] == "2 draws lie where the target's conditional has next to no mass"
    assert verdict[0] == verdict[2] == verdict[3] == "no misfit found"
    assert f"{result.pvalue:.1g} (the tail probability of one draw" in str(result)


def test_settings_that_overflow_are_left_out_and_said() -> None:
    """Catches NaN in the statistic, and a setting that vanishes without a word."""
    draws = normal(41, n=200)
    draws[0, 2] = 1e30
    target = sw.Gaussian(np.zeros(4), np.eye(4))
    with pytest.warns(sw.SteinwiseWarning, match=r"x\[2\] \('shape', 'alone'\), and 3 more"):
        result = sw.check(draws, target, method=Transported(directions=False), dtype="float32")
    assert any("overflow" in note for note in result.notes)
    assert np.isfinite(result.statistic)
    assert result["x[2]"].verdict.startswith("1 draw lies where")


def test_float32_sums_change_the_numbers_little() -> None:
    """Catches a part that loses digits, such as places far from 0 told apart in float32."""
    draws = 1e6 + normal(42)
    draws[:, 1] += 0.15
    target = sw.Gaussian(np.full(4, 1e6), np.eye(4))
    full, half = (sw.check(draws, target, dtype=dtype) for dtype in ("float64", "float32"))
    found, expected = ([c.value for c in result.findings.coordinates] for result in (half, full))
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert half.pvalue == pytest.approx(full.pvalue, abs=0.003)
    with pytest.raises(sw.InputError, match="dtype is 'float16': expected 'float64' or 'float32'"):
        sw.check(draws, target, dtype="float16")


def test_draws_that_are_all_held_out_change_nothing() -> None:
    """Catches the least of no numbers, where a slab has only draws that are not tested."""
    sums = NormalScoreSums.none(2)
    assert sums.with_places(Places.of_normal_scores(np.empty((0, 2))), 1e-3) is sums
    some = Places.of_normal_scores(np.full((2, 2), 0.4))
    assert (sums.with_places(some, 1e-3).draws == 2).all()
