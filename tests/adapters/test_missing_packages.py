"""A package that is not there: the error names the extra that brings it."""

import sys

import numpy as np
import pytest

import steinwise as sw

DRAWS = np.random.default_rng(0).normal(size=(50, 2))


@pytest.mark.parametrize(
    ("package", "call", "extra"),
    [
        ("numpyro.infer", lambda: sw.from_numpyro(None), "numpyro"),
        ("pymc", lambda: sw.from_pymc(None, None), "pymc"),
        ("torch", lambda: sw.from_torch(DRAWS, len), "torch"),
        ("xarray", lambda: sw.from_arviz("run.nc", "unconstrained", target=None), "io"),
        (
            "xarray",
            lambda: sw.check(DRAWS, sw.Gaussian([0, 0], np.eye(2)), method="ksd").to_dataset(),
            "io",
        ),
    ],
)
def test_the_extra_is_named(monkeypatch, package, call, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf'pip install "steinwise\[{extra}\]"'):
        call()
