"""sw.compare: the order of sets, what is said of each, and what is refused."""

import json
import re
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas
import pytest

import steinwise as sw
from steinwise.results.wording import LABELS, SET_STANDINGS

D = 2
TARGET = sw.Gaussian(np.zeros(D), np.eye(D))


def _normal(seed: int, n: int = 200, d: int = D) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def _names(found: sw.SetComparison) -> list[str]:
    return [ranked.name for ranked in found.ranking]


def _standings(found: sw.SetComparison) -> dict[str, str]:
    return {ranked.name: ranked.standing for ranked in found.ranking}


def test_right_draws_come_first_and_the_others_by_how_far_they_are_off():
    """One set is twice as far off as the other; both are far beyond chance."""
    sets = {"far": _normal(0, 500) + 0.8, "near": _normal(1, 500) + 0.4, "exact": _normal(2, 500)}
    found = sw.compare(sets, TARGET)
    assert _names(found) == ["exact", "near", "far"]
    assert list(_standings(found).values()) == ["first", "worse", "worse"]
    assert found.candidates == ("exact",)
    exact, near, far = (ranked.evidence for ranked in found.ranking)
    assert exact.largest_error.low == 0.0
    for found, truth in ((near, 0.4), (far, 0.8)):
        assert found.largest_error.high is not None
        assert found.largest_error.low < truth < found.largest_error.high


def test_each_set_has_the_check_that_it_would_get_alone():
    """Catches a comparison that speaks another language than `sw.check`."""
    sets = {"exact": _normal(0), "shifted": _normal(1) + np.array([0.7, 0.0])}
    found = sw.compare(sets, TARGET)
    evidence = {one.name: one.evidence for one in found.ranking}
    alone = sw.check(sets["shifted"], TARGET)
    assert found["shifted"].to_dict() == alone.to_dict()
    assert evidence["shifted"].pvalue == alone.pvalue
    assert evidence["shifted"].flagged == len(alone.flagged)
    assert evidence["shifted"].mean_error == alone["x[0]"].marginal.mean_error
    assert evidence["shifted"].mean_error_of == "x[0]"
    assert evidence["shifted"].largest_error == alone.largest_error(0.05 / 2)
    assert not evidence["exact"].rejected


def test_checks_order_sets_that_ksd_orders_wrongly():
    """One wrong coordinate of fifty, seen by the check, against correct draws with less luck."""
    target = sw.Gaussian(np.zeros(50), np.eye(50))
    right, wrong = (np.random.default_rng(seed).normal(size=(300, 50)) for seed in (0, 100))
    wrong[:, 7] *= 1.5
    sets = {"wrong": wrong, "right": right}
    assert sw.compare(sets, target, method="ksd").ranking[0].name == "wrong"
    found = sw.compare(sets, target)
    assert _names(found) == ["right", "wrong"]
    assert found.ranking[1].evidence.sd_ratio_of == "x[7]"


def test_two_right_sets_are_a_tie():
    found = sw.compare({"one": _normal(0, 500), "two": _normal(1, 300)}, TARGET)
    assert sorted(_standings(found).values()) == ["first", "indistinguishable"]
    assert set(found.candidates) == {"one", "two"}
    assert "None is worse than another" in str(found)


def test_few_draws_do_not_win_because_nothing_is_found_in_them():
    """10,000 draws with a small error are rejected, 40 with a large one are not."""
    many, few = _normal(0, 10_000) * 1.04, _normal(3, 40) + np.array([0.2, 0.0])
    found = sw.compare({"few": few, "many": many}, TARGET, effort="quick")
    by_name = {one.name: one.evidence for one in found.ranking}
    assert by_name["many"].rejected
    assert not by_name["few"].rejected
    assert _names(found) == ["many", "few"]
    assert found.ranking[0].verdict.startswith("best of these, but does not fit; x[")
    assert found.ranking[1].verdict == "no misfit found, indistinguishable from the best"


def test_draws_with_right_means_and_sds_do_not_win_with_a_wrong_dependence():
    """Catches an order by means and sds alone: many draws pin them down, few right ones do not."""
    covariance = np.array([[1.0, 0.8], [0.8, 1.0]])
    sets = {
        "alone": _normal(1, 4000),
        "right": _normal(0, 150) @ np.linalg.cholesky(covariance).T,
    }
    found = sw.compare(sets, sw.Gaussian([0, 0], covariance))
    right, alone = (one.evidence for one in found.ranking)
    assert _names(found) == ["right", "alone"]
    assert (alone.largest_error.high or np.inf) < (right.largest_error.high or 0.0)
    assert alone.conditional_error > 0.5
    assert found.ranking[1].standing == "indistinguishable"


def test_sets_whose_errors_cannot_be_told():
    """Neal's funnel is not nearly normal, so that scores do not explain its sds."""

    def funnel(x):
        return -(x[0] ** 2) / 18 - x[0] / 2 - x[1] ** 2 * jnp.exp(-x[0]) / 2

    z = _normal(0, 500)
    right = np.stack([3 * z[:, 0], np.exp(1.5 * z[:, 0]) * z[:, 1]], axis=1)
    flat = np.stack([3 * z[:, 0], z[:, 1]], axis=1)
    found = sw.compare({"flat": flat, "right": right}, funnel)
    first, second = found.ranking
    assert (first.name, first.standing) == ("right", "first")
    assert first.evidence.largest_error.high is None
    assert second.standing == "unknown"
    assert second.verdict.startswith("does not fit; how far off is not known")
    assert set(found.candidates) == {"right", "flat"}
    found.plot().canvas.draw()
    json.dumps(found.to_dict())


def test_the_largest_known_error_is_not_taken_for_the_largest():
    """Catches "the largest of all coordinates" of those that are known, and dots for unknown ones.

    The errors of x[0], which has two modes, are not known from scores.
    """

    def two_modes(x):
        return jnp.logaddexp(-((x[0] - 4) ** 2) / 2, -((x[0] + 4) ** 2) / 2) - x[1] ** 2 / 2

    side = np.random.default_rng(9).choice([-4.0, 4.0], size=500)[:, None] * [1, 0]
    sets = {"fits": _normal(0, 500) + side, "off": _normal(1, 500) + side + [0, 0.8]}
    found = sw.compare({**sets, "wide": _normal(2, 500) * [1.4, 1] + side}, two_modes)
    assert _names(found) == ["fits", "wide", "off"]
    said = " ".join(str(found).split())
    number = r"[+]?[01]\.\d\d"
    off = (
        rf"off 0\.001 1 {number} or worse {number} or worse {number} or more does not fit; how far"
    )
    assert re.search(r" or worse \? no misfit found", said)
    assert re.search(off, said)
    assert "The sets could not be compared by means and sds: some of their errors are not" in said
    assert "None is worse" not in said
    assert 'has "or worse" or "or more" after it; a ? stands where nothing is known' in said
    figure = found.plot()
    (ax,) = figure.axes
    assert not [line for line in ax.lines if line.get_marker() == "o"]
    assert [one.get_text() for one in ax.texts if one.get_text()] == ["?", "?"]
    explained = [one.get_text() for one in figure.legends[0].get_texts()]
    assert explained == [LABELS["at least"], LABELS["unknown"]]
    assert not sw.compare(sets, TARGET).plot().legends


def test_draws_that_miss_a_mode_are_not_said_to_be_near():
    """Means and sds within a mode are right, and say nothing of the other one."""

    def two(x):
        return jnp.logaddexp(-0.5 * jnp.sum((x - 4) ** 2), -0.5 * jnp.sum((x + 4) ** 2))

    side = np.where(np.random.default_rng(9).random(600) < 0.5, 4.0, -4.0)[:, None]
    sets = {"one mode": _normal(0, 2000) + 4, "both": _normal(1, 600) + side}
    found = sw.compare(sets, two)
    assert _names(found) == ["both", "one mode"]
    stuck = found.ranking[1]
    assert stuck.evidence.largest_error.high is None
    assert "with a wrong share of the draws" in stuck.verdict
    # half an sd off within its mode: how far off among both is not known
    error = sw.check(_normal(2, 2000) + 4.5, two).largest_error()
    assert (error.size, error.low, error.high, error.estimates) == (None, 0.0, None, None)


def test_sets_too_small_for_a_check_come_last():
    sets = {"few": _normal(0)[:12], "wrong": _normal(1) + 3.0}
    with pytest.warns(sw.SteinwiseWarning, match=r"^few: 12 draws make 12 batches"):
        found = sw.compare(sets, TARGET)
    assert _names(found) == ["wrong", "few"]
    assert found.ranking[1].evidence is None
    assert found.ranking[1].verdict == SET_STANDINGS["no check"][0]
    with pytest.raises(sw.InputError, match=r"there is no check of 'few'"):
        found["few"]
    with pytest.raises(sw.TooFewDraws, match=r"^few: 12 draws"):
        sw.compare({"few": _normal(0)[:12], "too": _normal(1)[:12]}, TARGET)
    assert "few" in str(found)
    found.plot().canvas.draw()
    assert found.to_dataframe().loc["few", "verdict"] == found.ranking[1].verdict


def test_bounded_coordinates_are_compared_too():
    """Catches a need for scores: a check of bounded coordinates has none, and no mean errors."""
    rng = np.random.default_rng(0)
    target = sw.Target(lambda x: -x[0], support=sw.support.positive)
    sets = {"slow": rng.exponential(1.6, (400, 1)), "right": rng.exponential(1.0, (400, 1))}
    found = sw.compare(sets, target)
    assert _names(found) == ["right", "slow"]
    assert [one.evidence.mean_error for one in found.ranking] == [None, None]


def test_text_dict_and_table():
    sets = {"exact": _normal(0), "shifted": _normal(1) + 0.7}
    found = sw.compare(sets, TARGET)
    lines = str(found).splitlines()
    assert lines[0] == "steinwise comparison"
    header = next(line for line in lines if line.startswith("  draws"))
    titles = [title.strip() for title in header.split("  ") if title]
    assert titles == [
        *("draws", "p-value", "flagged", "mean error", "sd ratio", "largest error", "verdict")
    ]
    assert len(set(titles)) == len(titles)
    assert all(len(line) <= 79 for line in lines)
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["version"] == sw.__version__
    frame = found.to_dataframe()
    assert list(frame.index) == ["exact", "shifted"]
    assert frame.loc["shifted", "pvalue"] == found["shifted"].pvalue
    assert frame.loc["shifted", "largest_error_low"] > 0
    assert frame.columns.is_unique


@pytest.mark.parametrize(
    ("draws", "options", "message"),
    [
        ({"one": _normal(0)}, {}, "at least two sets"),
        (_normal(0), {}, "at least two sets"),
        ({"a": _normal(0), "b": _normal(1)[:, :1]}, {}, "different numbers of coordinates"),
        (
            {"a": _normal(0), "b": np.full((50, 2), np.nan)},
            {},
            "b: 100 of 100 entries of the draws are NaN",
        ),
        ({"a": _normal(0), "b": _normal(1)}, {"method": "kccsd"}, "do not compare two"),
        ({"a": _normal(0), "b": _normal(1)}, {"estimator": "w"}, "expected 'u' or 'v'"),
        ({"a": _normal(0), "b": _normal(1)}, {"estimator": "v"}, "Pass method='ksd' with it"),
        ({"a": _normal(0), "b": _normal(1)}, {"effort": "some"}, "effort is 'some'"),
        (
            {"a": _normal(0), "b": _normal(1)},
            {"method": "ksd", "effort": "quick"},
            "a ranking by KSD has none",
        ),
        ({"a": _normal(0), "b": _normal(1)}, {"alpha": 2}, "between 0 and 1"),
    ],
)
def test_what_is_refused(draws, options, message):
    with pytest.raises(sw.InputError, match=message):
        sw.compare(draws, TARGET, **options)


def test_notes_on_a_set_come_with_its_name_and_those_on_all_once():
    """Catches a warm-up that only those hear of who print the result."""
    rng = np.random.default_rng(5)
    settled, drifting = rng.normal(size=(2, 2, 1000, D))
    drifting += 20 * 0.5 ** np.arange(1000)[:, None]
    with pytest.warns(sw.SteinwiseWarning, match="^drifting: "):
        found = sw.compare({"settled": settled, "drifting": drifting}, TARGET, effort="quick")
    assert all(note.startswith("drifting: ") for note in found.notes)

    def flat(x):
        return -0.5 * x[0] ** 2 + 0.0 * x[1]

    with pytest.warns(sw.SteinwiseWarning):
        found = sw.compare({"a": _normal(0), "b": _normal(1)}, flat, effort="quick")
    assert len(set(found.notes)) == len(found.notes)
    assert any(not note.startswith(("a: ", "b: ")) for note in found.notes)


def test_sets_that_would_be_mixed_up_are_refused() -> None:
    """Catches a set that is dropped, and coordinates that are compared with others."""
    rows = np.random.default_rng(0).normal(size=(50, 2))
    target = sw.Gaussian([0, 0], np.eye(2))
    with pytest.raises(sw.InputError, match=r"draws has keys that look the same: \[1, '1'\]"):
        sw.compare({1: rows, "1": rows + 1}, target)  # type: ignore[dict-item]
    with pytest.raises(sw.InputError, match=r"models has keys that look the same: \[1, '1'\]"):
        sw.compare_models(rows, {1: target, "1": target})  # type: ignore[dict-item]
    frame = pandas.DataFrame(rows, columns=["mu", "tau"])
    with pytest.raises(sw.InputError, match="tau is coordinate 1 of one and coordinate 0 of other"):
        sw.compare({"one": frame, "other": frame[["tau", "mu"]]}, target)
    renamed = sw.Samples.of(rows + 1, names=["a", "b"])
    assert sw.compare({"one": frame, "other": renamed}, target).ranking[0].name == "one"


def test_sets_may_bring_their_density():
    """Catches sets that sw.check takes and sw.compare does not: the pairs that adapters return."""
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    right, wrong = (np.random.default_rng(0).normal(m, 1.0, size=(300, 2)) for m in (0.0, 1.0))
    pairs = {name: (sw.Samples.of(x), target) for name, x in (("r", right), ("w", wrong))}
    assert str(sw.compare(pairs)) == str(sw.compare({"r": right, "w": wrong}, target))
    alike = [{"r": right, "w": pairs["w"]}, {"r": pairs["r"], "w": wrong}]
    for mixed in alike:  # with the density, and with that of the pair
        assert str(sw.compare(mixed, target)) == str(sw.compare(mixed)) == str(sw.compare(pairs))
    with pytest.raises(sw.InputError, match=r"^r: target is of type NoneType"):
        sw.compare({"r": right, "w": wrong})
    by_name = {"r": {"mu": right[:, 0]}, "w": wrong}
    with pytest.raises(sw.InputError, match=r"^r: draws is a dict of mu"):
        sw.compare(by_name, target)


def test_pairs_keep_what_their_adapters_know():
    """Catches an option for one set that is silently applied to all, and sets on two spaces."""
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    rows = np.random.default_rng(1).normal(size=(300, 2))
    chains = np.random.default_rng(0).normal(size=(2, 150, 2))
    pairs = {"NUTS": (sw.Samples.of(chains), target), "ADVI": (sw.Samples.of(rows), target)}
    found = sw.compare(pairs, effort="quick")
    assert not found["NUTS"].draws.independent
    assert found["ADVI"].draws.independent
    with pytest.raises(sw.InputError, match=r"^NUTS: independent is True, for all sets"):
        sw.compare(pairs, independent=True)
    positive = sw.Target(lambda x: -x.sum(), support=sw.support.positive)
    mixed = {"a": pairs["ADVI"], "b": (sw.Samples.of(np.exp(rows)), positive)}
    with pytest.raises(sw.InputError, match=r"^b: x\[0\] is positive .* real .* one space"):
        sw.compare(mixed)


@pytest.mark.parametrize(
    ("draws", "said"),
    [
        ({"a": np.zeros((50, 2))}, "draws is a dict of one set, a: expected .* sw.check"),
        ({}, "draws is an empty dict: expected"),
        (None, "draws is of type NoneType: expected a dict"),
    ],
)
def test_a_comparison_needs_two_sets(draws, said: str) -> None:
    """Catches an error that calls a dict what it expects, a dict."""
    with pytest.raises(sw.InputError, match=said):
        sw.compare(draws, sw.Gaussian(np.zeros(2), np.eye(2)))


def test_swapped_arguments_are_named():
    sets = {"a": _normal(0), "b": _normal(1)}
    densities: list[Any] = [TARGET, lambda x: -jnp.sum(x**2) / 2]
    for density in densities:
        with pytest.raises(sw.InputError, match="swapped"):
            sw.compare(density, sets)


def test_a_ranking_prints_as_a_table_and_its_rows_have_the_numbers():
    """Catches a tuple of dataclasses, and numbers that only `.evidence` has."""
    found = sw.compare({"far": _normal(0) + 0.8, "exact": _normal(2)}, TARGET)
    assert repr(found.ranking).splitlines()[0].startswith("draws  p-value")
    far = found.ranking[-1]
    assert far.evidence is not None
    for name in ("pvalue", "flagged", "mean_error", "sd_ratio", "largest_error"):
        assert getattr(far, name) == getattr(far.evidence, name)
    by_ksd = sw.compare({"a": _normal(0), "b": _normal(1)}, TARGET, method="ksd")
    assert repr(by_ksd.ranking).splitlines()[0].startswith("name")
    answers = sw.summary(_normal(0), TARGET)
    assert repr(answers.quantities).splitlines()[1].startswith("x[0]")
