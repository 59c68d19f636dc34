"""The demo: what a newcomer runs first."""

import runpy
import sys

from steinwise import demo


def test_the_demo_prints_a_verdict_and_writes_its_picture(tmp_path, capsys):
    """The correlated pair is flagged, the coordinates that stand alone are not."""
    demo.main(str(tmp_path / "pictures"))
    printed = capsys.readouterr().out
    assert "Misfit: the draws do not fit the density at level 0.05." in printed
    verdicts = {
        line.split()[0]: not line.rstrip().endswith("no misfit found")
        for line in printed.splitlines()
        if line.split() and line.split()[0] in demo.NAMES
    }
    assert verdicts == {"alpha": True, "beta": True, "gamma": False, "log_tau": False}
    picture = tmp_path / "pictures" / "demo.png"
    assert picture.stat().st_size > 1000
    assert str(picture) in printed
    assert "</html>" in (tmp_path / "pictures" / "demo.html").read_text()
    assert str(tmp_path / "pictures" / "demo.html") in printed


def test_the_demo_runs_as_a_module(tmp_path, capsys, monkeypatch):
    """python -m steinwise.demo FOLDER, as the Makefile calls it."""
    monkeypatch.setattr(sys, "argv", ["demo", str(tmp_path)])
    monkeypatch.delitem(sys.modules, "steinwise.demo")
    runpy.run_module("steinwise.demo", run_name="__main__")
    assert (tmp_path / "demo.png").exists()
