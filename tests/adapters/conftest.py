"""The adapters against the real libraries, in an environment of their own: make test-adapters.

All libraries are loaded here, so that a missing one fails the run instead of hiding tests.
"""

import warnings

import pytest

with warnings.catch_warnings():  # what they warn of when imported is not ours
    warnings.simplefilter("ignore")
    import arviz  # noqa: F401
    import blackjax  # noqa: F401
    import emcee  # noqa: F401
    import h5netcdf  # noqa: F401
    import numpyro  # noqa: F401
    import pymc  # noqa: F401
    import stan  # noqa: F401
    import torch  # noqa: F401
    import xarray  # noqa: F401
    import zarr  # noqa: F401

THEIRS = "ignore:PyTensor could not link to a BLAS:UserWarning"


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.filterwarnings(THEIRS))


@pytest.fixture(autouse=True)
def jax_precision_stays():
    """Every test in this folder also is one of JAX's global flag."""
    import jax

    before = jax.config.read("jax_enable_x64")
    yield
    assert jax.config.read("jax_enable_x64") == before
