"""Kernels are tested in 64 bit."""

import jax
import pytest


@pytest.fixture(autouse=True)
def _wide():
    with jax.enable_x64(True):
        yield
