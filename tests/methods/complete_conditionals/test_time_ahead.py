"""An estimate of the time, shown before a long run begins."""

import numpy as np
import pytest

import steinwise as sw
from steinwise.methods.complete_conditionals import time_ahead

DRAWS = np.random.default_rng(0).normal(size=(2000, 2))
TARGET = sw.Target(lambda x: -0.5 * x @ x)


@pytest.fixture
def slow_clock(monkeypatch) -> None:
    """Every look at some draws takes a second."""
    ticks = iter(range(1000))
    monkeypatch.setattr(time_ahead.time, "perf_counter", lambda: float(next(ticks)))


@pytest.mark.usefixtures("slow_clock")
def test_a_long_run_says_so_before_it_begins(capsys) -> None:
    """Catches an estimate that names no way out, or one that changes the answer."""
    plain = sw.check(DRAWS, TARGET, effort="full", progress=False)
    assert not capsys.readouterr().err
    shown = sw.check(DRAWS, TARGET, effort="full", progress=True)
    said = " ".join(capsys.readouterr().err.split())
    assert "the lines through 2000 draws will take about 2 minutes." in said  # 16 in a second
    assert 'effort="standard" follows those through 1000, in about 60 seconds' in said
    assert 'effort="quick" follows none.' in said
    assert shown.pvalue == plain.pvalue


@pytest.mark.usefixtures("slow_clock")
def test_of_a_standard_run_only_the_quick_one_is_shorter(capsys) -> None:
    sw.check(DRAWS, TARGET, progress=True)
    said = " ".join(capsys.readouterr().err.split())
    assert 'the lines through 1000 draws will take about 60 seconds. effort="quick"' in said


def test_a_short_run_says_nothing(capsys) -> None:
    sw.check(DRAWS, TARGET, progress=True)
    assert "will take" not in capsys.readouterr().err


def test_an_interruption_during_the_estimate_leaves_the_scores(monkeypatch) -> None:
    """As one during the lines would: what was found so far is the answer."""

    def interrupted(*_given: object) -> None:
        raise KeyboardInterrupt

    name = "steinwise.methods.complete_conditionals.statistic.seconds_ahead"
    monkeypatch.setattr(name, interrupted)
    with pytest.warns(sw.SteinwiseWarning, match="interrupted"):
        result = sw.check(DRAWS, TARGET, progress=True)
    assert result.findings.evaluations is None
