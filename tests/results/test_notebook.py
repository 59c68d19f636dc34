"""What a notebook and IPython show: compact, escaped, and the same as the report says."""

import pickle
import sys
import warnings
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.draws.samples import ConstrainedScale
from steinwise.results.wording.verdicts import pvalue


@pytest.fixture(scope="module")
def result() -> sw.CheckResult:
    draws = np.random.default_rng(0).normal(size=(2, 200, 14)) + np.arange(14) / 14
    names = ["<b>bold</b>", *(f"x{j}" for j in range(13))]
    target = sw.Gaussian(np.zeros(14), np.eye(14))
    return sw.check(draws, target, names=names, n_bootstrap=199)


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):  # noqa: ARG002
        self.found.append(tag)


def test_a_notebook_shows_verdict_table_and_picture(result: sw.CheckResult) -> None:
    """Catches a name that becomes markup, a table of hundreds of rows, a script in a notebook."""
    shown = result._repr_html_()
    tags = Tags(shown).found
    assert "Misfit." in shown
    assert tags.count("tr") == 13  # the titles, and twelve rows as in the printed report
    assert "... and 2 more" in shown
    assert "svg" in tags
    assert "script" not in tags
    assert "b" not in tags


def test_pictures_show_themselves_in_a_notebook(result: sw.CheckResult, tmp_path: Path) -> None:
    """Catches plain figures, of which a notebook shows only the size without pyplot."""
    for figure in (result.plot(), result.plot_pit("x0"), result.plot_witness("x0")):
        assert isinstance(figure, Figure)
        assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
        figure.savefig(tmp_path / "figure.pdf")
        assert pickle.loads(pickle.dumps(figure)).axes


def test_ipython_shows_the_report(result: sw.CheckResult) -> None:
    lines: list[str] = []
    result._repr_pretty_(SimpleNamespace(text=lines.append), cycle=False)
    assert lines == [str(result)]


def test_a_prompt_and_a_notebook_show_what_is_printed(result: sw.CheckResult) -> None:
    """Catches a wall of dataclasses at a prompt, for every result with a report."""
    draws, target = np.random.default_rng(0).normal(size=(100, 2)), sw.Gaussian([0, 0], np.eye(2))
    answers = sw.summary(draws, target, names=["<a>", "b"], sweeps=1)
    shown = [answers, sw.refresh(draws, target, sweeps=1), sw.thin(draws, target, 5)]
    for one in (result, *shown):
        assert repr(one) == str(one)
    assert "&lt;a&gt;" in answers._repr_html_()
    assert {"table", "svg"} <= set(Tags(answers._repr_html_()).found)
    assert "<pre>steinwise refresh\n" in shown[1]._repr_html_()


def test_lists_of_findings_print_as_tables(result: sw.CheckResult) -> None:
    """Catches a wall of dataclasses, and a list that is no tuple any more."""
    first, *rows = str(result.coordinates).splitlines()
    assert first.split()[0] == "coordinate"
    assert max(map(len, [first, *rows])) < 80  # verdicts have lines of their own, as in the report
    assert sum(not row.startswith(" ") for row in rows) == len(result.coordinates) == 14
    assert repr(result.flagged) == str(result.flagged)
    assert isinstance(result.coordinates, tuple)
    assert "&lt;b&gt;" in result.coordinates._repr_html_()
    assert str(pickle.loads(pickle.dumps(result)).coordinates) == str(result.coordinates)


def test_one_way_to_write_a_pvalue(result: sw.CheckResult) -> None:
    """Catches 0.000 in a table, and more digits in a title than in the text."""
    p = pvalue(result.pvalue)
    assert f"  p-value    {p} (the least of " in str(result)
    assert f"with p = {p};" in result.to_html()
    assert result.plot().axes[0].get_title().endswith(f"p = {p}")
    tiny = pvalue(3e-9)
    assert tiny == "3e-09"
    draws, target = (
        np.random.default_rng(0).normal(0.2, 1.0, (200, 2)),
        sw.Gaussian([0, 0], np.eye(2)),
    )
    with pytest.raises(AssertionError) as failed:
        sw.assert_fits(draws, target, alpha=0.3, n_bootstrap=1000)
    compared = sw.compare({"one": draws, "two": draws + 1}, target, alpha=0.3)
    p, own = (
        pvalue(x) for x in (compared["one"].pvalue, compared["one"].flagged[0].adjusted_pvalue)
    )
    assert f"p = {p} at level 0.3" in str(failed.value)
    assert f"adjusted p = {own}" in str(failed.value)
    assert f"with p = {p};" in compared["one"]._repr_html_()
    assert f"\n  one    {p} " in str(compared)


def test_the_statistic_of_the_text_is_that_of_the_picture(result: sw.CheckResult) -> None:
    legend = [one.get_text() for one in result.plot().axes[0].get_legend().get_texts()]
    assert f"these draws, {result.statistic:.3g}" in legend
    assert f"  statistic  {result.statistic:.3g}; correct draws stay below" in str(result)


def test_chains_have_their_quality_on_every_row(result: sw.CheckResult) -> None:
    """ESS of independent draws is about their number, R-hat about 1; none of independent ones."""
    for coordinate in result.coordinates[:14]:
        assert coordinate.quality is not None
        assert 200 < coordinate.quality.ess < 800
        assert coordinate.quality.rhat < 1.05
    assert '<button type="button">R-hat</button>' in result.to_html()
    flat = sw.check(np.random.default_rng(0).normal(size=(100, 1)), sw.Gaussian([0], [[1]]))
    assert flat.coordinates[0].quality is None
    assert "R-hat" not in flat.to_html()


def test_rows_on_another_scale_are_marked() -> None:
    """Catches a row called tau whose mean error is that of log tau, or of a logit."""
    x = np.random.default_rng(0).normal(size=(200, 3))

    def on_the_models_scale(x):
        return np.stack([np.exp(x[:, 0]), 1 / (1 + np.exp(-x[:, 1])), 3 + np.exp(x[:, 2])], axis=1)

    scale = ConstrainedScale(("tau", "share", "late"), on_the_models_scale)
    samples = replace(sw.Samples.of(x, names=["tau", "share", "late"]), constrained=scale)
    result = sw.check(samples, sw.Gaussian(np.zeros(3), np.eye(3)), n_bootstrap=199)
    labels = [result[name].label for name in ("tau", "share", "late")]
    assert labels == ["log(tau)", "logit(share)", "unconstrained(late)"]
    for shown in (str(result), result.to_html(), result._repr_html_()):
        assert all(label in shown for label in labels)


def test_verdicts_name_coordinates_as_the_table_does() -> None:
    """Catches "dependence on tau" next to a row called log(tau), which is about the logarithm."""
    x = np.random.default_rng(0).normal(size=(400, 3))
    x[:, 1] = 0.9 * x[:, 0] + 0.3 * x[:, 1]
    scale = ConstrainedScale(("tau",), lambda x: np.exp(x[:, :1]))
    samples = replace(sw.Samples.of(x, names=["tau", "mu", "nu"]), constrained=scale)
    result = sw.check(samples, sw.Gaussian(np.zeros(3), np.eye(3)), n_bootstrap=199)
    assert result["mu"].partners == ("tau",)
    assert result["mu"].verdict.startswith("its dependence on log(tau) ")
    assert "log(tau)" in result["direction 1"].name
    assert " tau" not in str(result)
    assert result.plot_pair("mu", "tau").axes[0].get_xlabel() == "log(tau)"
    # what is printed can be asked for
    assert result["log(tau)"] == result["tau"]
    assert result.plot_pair("mu", "log(tau)").axes[0].get_xlabel() == "log(tau)"
    assert result.plot_pit("log(tau)").axes[0].get_xlabel().startswith("place of log(tau)")
    assert result.plot_witness("log(tau)").axes[0].get_xlabel() == "log(tau)"
    assert result.influential(1, "log(tau)")[0].coordinate == "tau"


def test_bars_are_shown_in_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel's output is no terminal; `progress=False` still hides them."""
    assert not RunOptions().shows_progress  # under pytest
    kernel = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    assert RunOptions().shows_progress
    assert not RunOptions(progress=False).shows_progress
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not RunOptions().shows_progress


def test_bars_in_a_notebook_without_widgets_are_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Catches tqdm's warning, which was the first thing that a new notebook showed."""
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    for name in ("IPython", "ipykernel.zmqshell"):
        monkeypatch.setitem(sys.modules, name, shell)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)  # as where it is not installed
    for name in ("tqdm.auto", "tqdm.autonotebook", "tqdm.notebook"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with warnings.catch_warnings(record=True) as warned:  # tqdm swallows one that is an error
        warnings.simplefilter("always")
        assert list(RunOptions().bar(iter("ab"), 2, "counting")) == ["a", "b"]
    assert not warned
    assert "counting: " in capsys.readouterr().err
