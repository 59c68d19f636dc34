"""The demo: what a newcomer runs first."""

import re
import runpy
import sys

import jax
import numpy as np

from steinwise import demo


def test_the_demo_prints_a_verdict_and_writes_its_picture(tmp_path, capsys):
    """A factorised fit of a hierarchical model has no dependence of its effects on mu, and is too
    narrow: NUTS gives log(sigma) an sd of 0.35, and the draws have 0.21.
    """
    demo.main(str(tmp_path / "pictures"))
    printed = capsys.readouterr().out
    assert "Misfit: the draws do not fit the density at level 0.05." in printed
    assert "its dependence on mu is wrong" in printed  # the model depends, and the draws do not
    found = re.search(r"log\(sigma\).*\n? *sd too small: 0\.21\d* instead of (0\.3\d*)", printed)
    assert found is not None
    picture = tmp_path / "pictures" / "demo.png"
    assert picture.stat().st_size > 1000
    assert str(picture) in printed
    page = (tmp_path / "pictures" / "demo.html").read_text()
    assert "steinwise.demo.log_density" in page
    assert str(tmp_path / "pictures" / "demo.html") in printed


def test_the_density_is_that_of_the_model():
    """By hand, at mu = 0, sigma = 1, b = 0: the gradient along mu, log(sigma) and b[0]."""
    slope = np.asarray(jax.grad(demo.log_density)(np.zeros(14)))
    np.testing.assert_allclose(slope[0], -2.5, rtol=1e-6)
    np.testing.assert_allclose(slope[1], -1 + 1 - 12, rtol=1e-6)
    np.testing.assert_allclose(slope[2], 0 - 47 / 2, rtol=1e-6)


def test_the_demo_runs_as_a_module(tmp_path, capsys, monkeypatch):
    """python -m steinwise.demo FOLDER, as the Makefile calls it."""
    monkeypatch.setattr(sys, "argv", ["demo", str(tmp_path)])
    monkeypatch.delitem(sys.modules, "steinwise.demo")
    runpy.run_module("steinwise.demo", run_name="__main__")
    assert (tmp_path / "demo.png").exists()
