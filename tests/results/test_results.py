"""Results: text, dict, JSON, table and picture."""

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import jax
import numpy as np
import pytest

import steinwise as sw
from steinwise.results import check_text, record

NAMES = ["alpha", "beta", "log_sigma"]


def _stand_in(key, x, n_atoms):
    return np.random.default_rng(key).normal(0.5, 1.0, size=(*x.shape, n_atoms))


def _check(**options) -> sw.CheckResult:
    draws = np.random.default_rng(0).normal(0.5, 1.0, size=(150, 3))
    method = sw.methods.KCCSD(sw.conditionals.Sampler(_stand_in))
    target = sw.Gaussian([0.5, 0.5, -1.0], np.eye(3))  # the last coordinate is wrong
    return sw.check(draws, target, method=method, names=NAMES, **options)


@pytest.fixture(scope="module")
def result() -> sw.CheckResult:
    return _check()


def test_to_dict_survives_json(result):
    """A NumPy scalar or array left in, which json refuses."""
    plain = result.to_dict()
    assert json.loads(result.to_json()) == plain
    assert json.loads(result.to_json(indent=None)) == plain
    assert plain["schema_version"] == record.SCHEMA_VERSION == 3
    assert plain["rejected"] is True
    assert plain["pvalue"] == result.pvalue
    assert plain["version"] == sw.__version__
    assert sorted(c["name"] for c in plain["coordinates"]) == sorted(NAMES)
    assert plain["draws"]["n_draws"] == 150


def test_options_that_are_numpy_scalars_survive_json():
    """alpha from an array, n_bootstrap from np.int64: both are accepted, so both are written."""
    found = _check(alpha=np.float32(0.05), n_bootstrap=np.int64(199), seed=np.int64(3))
    plain = json.loads(found.to_json())
    assert (plain["n_bootstrap"], plain["seed"]) == (199, 3)


def test_a_jax_key_is_written_as_its_words():
    """The key's own repr has line breaks and cannot be read back."""
    found = _check(seed=jax.random.key(7))
    assert json.loads(found.to_json())["seed"] == [0, 7]
    assert "seed [0, 7]" in str(found)
    assert "Array" not in str(found)


def test_numbers_that_json_does_not_have_are_strings():
    """An infinite R-hat as the bare word Infinity is not JSON."""
    ready = record._json_ready({"rhat": np.inf, "more": [float("nan"), 1.0]})
    assert json.loads(json.dumps(ready, allow_nan=False)) == {"rhat": "inf", "more": ["nan", 1.0]}


def test_to_dataframe_is_indexed_by_name(result):
    frame = result.to_dataframe()
    assert list(frame.index) == [c.name for c in result.coordinates]
    assert set(frame.index) == set(NAMES)
    assert frame.index.name == "name"
    columns = ["value", "pvalue", "adjusted_pvalue", "expected_mean", "expected_sd"]
    columns += ["mean_error", "mean_error_se", "sd_ratio", "sd_ratio_se"]
    columns += ["conditional_shift", "conditional_spread"]
    columns += ["verdict", "kind", "partners"]
    assert list(frame.columns) == columns
    assert frame.loc["log_sigma", "verdict"] == "misfit"
    assert frame.loc["log_sigma", "value"] == result["log_sigma"].value


def test_a_method_without_coordinates_gives_an_empty_table():
    """The columns must be there for code that concatenates."""
    draws = np.random.default_rng(0).normal(size=(60, 2))
    found = sw.check(draws, sw.Gaussian([0, 0], np.eye(2)), method="ksd")
    frame = found.to_dataframe()
    assert len(frame) == 0
    assert "adjusted_pvalue" in frame.columns
    assert len(found.plot().axes) == 1


def test_the_report_is_aligned_and_fits_the_page(result):
    """Ragged columns, or lines that wrap in a terminal."""
    lines = str(result).splitlines()
    assert max(map(len, lines)) <= 80
    facts = lines[1:6]
    starts = {len(line) - len(line.split(maxsplit=1)[1]) for line in facts}
    assert len(starts) == 1
    table = lines[lines.index(next(line for line in lines if "adjusted p" in line)) :]
    assert table[1].split()[0] == "log_sigma"  # the worst comes first
    column = table[0].index("value")
    assert all(line[column - 1] == " " != line[column] for line in table[1:4])
    assert "Misfit: the draws do not fit the density at level 0.05." in lines


def test_the_report_says_what_a_flag_means(result):
    """A flagged neighbour of a wrong coordinate is no proof that it is itself wrong."""
    assert "neighbours" in str(result)
    assert "(the least of 1000 bootstraps)" in str(result)


def test_a_pvalue_below_that_of_bootstraps_says_where_it_is_from() -> None:
    """Catches "1e-13, 1000 bootstraps", which no thousand bootstraps give."""
    draws = np.random.default_rng(0).normal(size=(200, 2))
    draws[5, 0] = 12.0
    found = sw.check(draws, sw.Gaussian([0, 0], np.eye(2)))
    assert found.pvalue < 1e-4
    assert "(the tail probability of one draw that lies far out), seed 0" in str(found)
    assert max(map(len, str(found).splitlines())) <= 80


def test_a_direction_does_not_push_verdicts_to_lines_of_their_own() -> None:
    """Catches "direction 1 (a + b - c, ...)" as the widest name of a table; it is said below."""
    names = [f"population_effect[{k}]" for k in range(3)]
    covariance = 0.1 * np.eye(3) + 0.9
    draws = np.random.default_rng(0).multivariate_normal(np.zeros(3), covariance, size=300)
    found = sw.check(draws, sw.Gaussian(np.zeros(3), covariance), names=names)
    lines = str(found).splitlines()
    (row,) = [line for line in lines if line.startswith("  direction 1 ")]
    assert row.endswith("no misfit found")
    said = " ".join(str(found).split())
    assert "By the largest weights, direction 1 is population_effect[" in said
    assert "direction 1 (population_effect[" in str(found.coordinates)  # where nothing is below


def test_one_chain_has_a_split_rhat() -> None:
    """Catches an R-hat of one chain that looks as if chains had been compared."""
    draws, target = (
        np.random.default_rng(0).normal(size=(4, 300, 2)),
        sw.Gaussian([0, 0], np.eye(2)),
    )
    assert ", largest R-hat " in str(sw.check(draws, target, effort="quick"))
    assert ", largest split R-hat " in str(sw.check(draws[:1], target, effort="quick"))


def test_the_numbers_of_the_table_are_properties() -> None:
    draws = np.random.default_rng(0).normal(size=(300, 2)) + np.array([0.5, 0.0])
    found = sw.check(draws, sw.Gaussian([0, 0], np.eye(2)), names=["a", "b"], effort="quick")
    own = found["a"]
    assert own.marginal is not None
    assert (own.mean_error, own.sd_ratio) == (own.marginal.mean_error, own.marginal.sd_ratio)
    unknown = replace(own, marginal=None)
    assert (unknown.mean_error, unknown.sd_ratio) == (None, None)


def test_a_clean_result_claims_no_proof():
    draws = np.random.default_rng(0).normal(size=(60, 2))
    text = str(sw.check(draws, sw.Gaussian([0, 0], np.eye(2)), method="ksd"))
    assert "No misfit found at level 0.05. This does not prove the draws right." in text


def test_many_coordinates_are_cut_short_and_counted():
    """A hundred rows in a terminal, or rows left out unsaid."""
    draws = np.random.default_rng(0).normal(0.5, 1.0, size=(60, 50))
    method = sw.methods.KCCSD(sw.conditionals.Sampler(_stand_in))
    target = sw.Gaussian(np.zeros(50), np.eye(50))
    found = sw.check(draws, target, method=method)
    assert "... and 38 more" in str(found)
    assert len(str(found).splitlines()) < 40
    assert len(found.to_dict()["coordinates"]) == 50


def test_a_discrepancy_prints_its_coordinates_from_the_largest_down():
    draws = np.random.default_rng(0).normal(0.5, 1.0, size=(150, 3))
    target = sw.Gaussian([0.5, 0.5, -1.0], np.eye(3))
    sampler = sw.conditionals.Sampler(_stand_in)
    lines = str(sw.kccsd(draws, target, conditional=sampler, names=NAMES)).splitlines()
    assert lines[0].startswith("KCC-SD (Sampler, RBF kernel, norm): ")
    assert " +- " in lines[0]
    assert lines[3].startswith("log_sigma")


def test_results_cannot_be_changed(result):
    with pytest.raises(AttributeError):
        result.pvalue = 0.0


def test_plot_has_null_and_coordinates_and_saves(result, tmp_path):
    """A picture without its labels, or one that needs a display."""
    figure = result.plot()
    null, coordinates = figure.axes
    assert "p = " in null.get_title()
    assert null.get_xlabel()
    assert coordinates.get_xlabel()
    assert [t.get_text() for t in coordinates.get_yticklabels()][-1] == "log_sigma"  # on top
    figure.savefig(tmp_path / "check.png")
    assert (tmp_path / "check.png").stat().st_size > 1000


def test_a_missing_extra_is_named(result, monkeypatch):
    """A bare "No module named" leaves the user to find the extra."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"steinwise\[io\]"):
        result.to_dataframe()
    monkeypatch.delitem(sys.modules, "steinwise.results.picture", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ModuleNotFoundError, match=r"steinwise\[plots\]"):
        result.plot()


def test_a_summary_is_not_offered_where_it_would_be_refused() -> None:
    """Catches advice that cannot be followed: summaries take no discrete coordinates."""
    rng = np.random.default_rng(0)
    draws = np.column_stack([rng.normal(size=100), rng.integers(0, 2, 100)]).astype(float)
    target = sw.Target(
        lambda x: -0.5 * x[0] ** 2 + 0.0 * x[1],
        support=[sw.support.real, sw.support.integers(0, 1)],
    )
    assert "sw.summary" not in str(sw.check(draws, target))
    heavy = rng.standard_cauchy(size=(100, 2))
    assert "sw.summary" in str(sw.check(heavy, lambda x: -jax.numpy.log1p(x**2).sum()))


def _normal(x):
    return -0.5 * (x**2).sum()


def _wide(seed: int) -> sw.CheckResult:
    draws = np.random.default_rng(seed).normal(size=(300, 3)) * [1.17, 1, 1]
    return sw.check(draws, _normal)


def test_a_rejection_without_a_flagged_row_is_explained():
    """A headline that says misfit over a table in which every row says no misfit found."""
    found = _wide(112)
    assert found.rejected
    assert not found.flagged
    assert "All rows together are rejected; no single one stands out" in str(found)
    assert "no coordinate stands out by itself" in found._repr_html_()


def test_a_flagged_row_without_a_rejection_is_explained():
    """A headline that says no misfit found over a row that names one."""
    found = _wide(116)
    assert not found.rejected
    assert len(found.flagged) == 1
    shown = " ".join(str(found).split())
    for view in (shown, found._repr_html_(), found.to_html()):
        assert "One row by itself is below the level; all rows together" in view


def test_a_result_is_neither_true_nor_false(result):
    """assert sw.check(...) that passes on a misfit."""
    with pytest.raises(TypeError, match=r"take result\.rejected.*sw\.assert_fits"):
        assert result


def test_findings_and_coordinates_are_short_at_a_prompt(result):
    """Arrays of all draws, and np.float64(...) in the fields of a dataclass."""
    assert len(repr(result.findings)) < 300
    assert "array" not in repr(result.findings)
    shown = repr(result.coordinates[0])
    assert shown.startswith(result.coordinates[0].label)
    assert result.coordinates[0].verdict in shown
    assert "np.float64" not in shown


def test_numbers_that_round_to_zero_have_no_sign():
    """-0.00 in a table."""
    column = check_text.SizeColumn("mean error", lambda c: c.value)
    for value, expected in ((-0.001, "0.00"), (0.004, "0.00"), (-0.006, "-0.01"), (0.2, "+0.20")):
        row = SimpleNamespace(value=value)
        assert column.text(row) == expected  # pyright: ignore[reportArgumentType]


def test_the_kind_is_that_of_the_verdict():
    """kind "spread" where the verdict blames the dependence on others."""
    draws = np.random.default_rng(0).normal(size=(1000, 2)) * 0.6
    found = sw.check(draws, sw.Gaussian([0, 0], [[1, 0.8], [0.8, 1]]))
    for c in found.flagged:
        assert ("dependence" in c.kind) == ("dependence" in c.verdict)
