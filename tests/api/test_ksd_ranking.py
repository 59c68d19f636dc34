"""sw.compare by KSD: the ranking, its errors, and what it refuses."""

import json

import numpy as np
import pytest

import steinwise as sw
from steinwise.results.wording import COMPARISON_VERDICTS as VERDICTS

D, BANDWIDTH = 2, 1.5
TARGET = sw.Gaussian(np.zeros(D), np.eye(D))
FIXED = sw.methods.KSD(sw.kernels.RBF(BANDWIDTH))


def _normal(seed: int, n: int = 200) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, D))


def _chain(seed: int, rho: float, shape: tuple[int, ...] = (2, 1000, D)) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(size=shape) * np.sqrt(1 - rho**2)
    out = noise / np.sqrt(1 - rho**2)
    for t in range(1, shape[1]):
        out[:, t] = rho * out[:, t - 1] + noise[:, t]
    return out


def test_the_ranking_and_the_verdicts():
    z = _normal(0, 500)
    found = sw.compare({"far": z + 0.6, "wide": 1.1 * z, "exact": z}, TARGET, method="ksd")
    assert [s.name for s in found.ranking] == ["exact", "wide", "far"]
    assert [s.standing for s in found.ranking] == ["best", "indistinguishable", "worse"]
    assert [s.verdict for s in found.ranking] == [VERDICTS[s.standing] for s in found.ranking]
    assert found.ranking[0].difference == found.ranking[0].difference_error == 0
    best, _, far = found.ranking
    assert far.difference == pytest.approx(far.value - best.value)
    assert found.difference("far", "wide").value == -found.difference("wide", "far").value


def test_sets_of_other_shapes_are_taken_as_independent():
    sets = {"short": _normal(0, 200) + 0.3, "long": _normal(1, 500) + 0.5}
    found = sw.compare(sets, TARGET, method=FIXED).difference("long", "short")
    each = {s.name: s.standard_error for s in sw.compare(sets, TARGET, method=FIXED).ranking}
    assert not found.paired
    assert each["short"] is not None
    assert each["long"] is not None
    assert found.standard_error == pytest.approx(np.hypot(each["short"], each["long"]))


def test_one_kernel_for_all_sets():
    """A bandwidth per set would compare numbers of different discrepancies."""
    near, far = _normal(0, 300), 3 * _normal(1, 300)
    by_median = sw.compare({"near": near, "far": far}, TARGET, method="ksd")
    alone = [sw.ksd(draws, TARGET, kernel=sw.kernels.IMQ("median")).value for draws in (near, far)]
    values = {s.name: s.value for s in by_median.ranking}
    assert values["far"] != pytest.approx(alone[1], rel=0.01)
    pooled = sw.kernels.IMQ("median").resolve(np.concatenate([near, far]), 0, per_coordinate=False)
    assert values["far"] == pytest.approx(sw.ksd(far, TARGET, kernel=pooled).value, rel=0.01)


def test_the_v_statistic_counts_slow_mixing_and_the_u_statistic_does_not():
    """A step size: both chains are right, one takes 20 times as long to get about."""
    sets = {"fast": _chain(3, 0.0), "slow": _chain(4, 0.9)}
    u = sw.compare(sets, TARGET, method=FIXED)
    assert u.ranking[1].standing == "indistinguishable"
    v = {s.name: s.value for s in sw.compare(sets, TARGET, method=FIXED, estimator="v").ranking}
    assert v["slow"] > 4 * v["fast"] > 0
    slow = sw.ksd(sets["slow"], TARGET, kernel=FIXED.kernel, estimator="v", independent=True)
    assert v["slow"] == pytest.approx(slow.value)


def test_a_chain_too_slow_for_an_error_is_still_ranked():
    sets = {"fine": _chain(0, 0.2), "stuck": _chain(1, 0.999), "far": _chain(2, 0.2) + 1.0}
    found = {s.name: s for s in sw.compare(sets, TARGET, method=FIXED).ranking}
    assert found["stuck"].standard_error is found["stuck"].difference_error is None
    assert found["fine"].standard_error is not None
    assert "too few draws" in {s.standing for s in found.values()}


def test_text_dict_and_table():
    sets = {"exact": _normal(0), "shifted": _normal(1) + 0.7}
    found = sw.compare(sets, TARGET, method="ksd")
    text = str(found)
    lines = text.splitlines()
    assert lines[0] == "steinwise comparison"
    header = next(line for line in lines if line.startswith("  draws"))
    row = next(line for line in lines if line.startswith("  shifted"))
    assert header.index("verdict") == row.index(VERDICTS["worse"])
    titles = header.split("  ")
    assert len({title.strip() for title in titles if title}) == sum(bool(title) for title in titles)
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["version"] == sw.__version__
    frame = found.to_dataframe()
    assert list(frame.index) == ["exact", "shifted"]
    assert frame.loc["shifted", "verdict"] == VERDICTS["worse"]


def test_an_unknown_set_is_named():
    found = sw.compare({"a": _normal(0), "b": _normal(1)}, TARGET, method="ksd")
    with pytest.raises(sw.InputError, match="there is no 'c'"):
        found.difference("a", "c")


def test_notes_on_a_set_come_as_warnings_with_its_name():
    """Catches a warm-up that only those hear of who print the result."""
    drifting = _chain(5, 0.5)
    drifting += 20 * 0.5 ** np.arange(1000)[:, None]
    with pytest.warns(sw.SteinwiseWarning, match="^drifting: "):
        found = sw.compare({"settled": _chain(6, 0.5), "drifting": drifting}, TARGET, method=FIXED)
    assert found.notes[0].startswith("drifting: ")


@pytest.mark.parametrize("method", [sw.methods.KSD(linear=True), sw.methods.KSD(bootstrap="draws")])
def test_a_ksd_whose_values_cannot_be_compared_is_refused(method) -> None:
    """Catches sets ranked by an estimator that leaves most pairs out, or a null of single draws."""
    x = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(sw.InputError, match="do not compare two"):
        sw.compare({"a": x, "b": x + 1}, sw.Gaussian([0, 0], np.eye(2)), method=method)
