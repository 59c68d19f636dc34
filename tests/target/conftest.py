"""Every test in this folder also checks that JAX's configuration is left alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _flag_untouched():
    before = jax.config.read("jax_enable_x64")
    yield
    assert jax.config.read("jax_enable_x64") == before
    assert jnp.zeros(1).dtype == (np.float64 if before else np.float32)
