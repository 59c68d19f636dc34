"""Results: text, dict, JSON, table and picture."""

import json
import sys

import jax
import numpy as np
import pytest

import steinwise as sw
from steinwise.results import record

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
    assert plain["schema_version"] == record.SCHEMA_VERSION == 2
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
    assert "(the least possible)" in str(result)


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
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ModuleNotFoundError, match=r"steinwise\[plots\]"):
        result.plot()
