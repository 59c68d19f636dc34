"""The demo: what a newcomer runs first."""

import runpy
import sys

import jax
import numpy as np

from steinwise import demo


def test_the_demo_prints_a_verdict_and_writes_its_picture(tmp_path, capsys):
    """A factorised fit of a hierarchical model has no dependence of its effects on mu."""
    demo.main(str(tmp_path / "pictures"))
    printed = capsys.readouterr().out
    assert "Misfit: the draws do not fit the density at level 0.05." in printed
    assert "theta[0]" in printed
    picture = tmp_path / "pictures" / "demo.png"
    assert picture.stat().st_size > 1000
    assert str(picture) in printed
    page = (tmp_path / "pictures" / "demo.html").read_text()
    assert "steinwise.demo.log_density" in page
    assert str(tmp_path / "pictures" / "demo.html") in printed


def test_the_density_is_that_of_the_model():
    """By hand, at mu = 0, tau = 1, theta = 0: the gradient along mu, log(tau) and theta[0]."""
    x = np.zeros(10)
    slope = np.asarray(jax.grad(demo.log_density)(x))
    np.testing.assert_allclose(slope[0], 0.0, atol=1e-6)
    np.testing.assert_allclose(slope[1], 1 - 2 / 26 - 8, rtol=1e-6)
    np.testing.assert_allclose(slope[2], 28 / 15**2, rtol=1e-6)


def test_the_demo_runs_as_a_module(tmp_path, capsys, monkeypatch):
    """python -m steinwise.demo FOLDER, as the Makefile calls it."""
    monkeypatch.setattr(sys, "argv", ["demo", str(tmp_path)])
    monkeypatch.delitem(sys.modules, "steinwise.demo")
    runpy.run_module("steinwise.demo", run_name="__main__")
    assert (tmp_path / "demo.png").exists()
