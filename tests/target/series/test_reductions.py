"""The largest entry, products and sorting, against nested derivatives."""

import jax.numpy as jnp
import numpy as np
import pytest

from tests.target.series.reference import assert_agrees

X = np.random.default_rng(0).normal(size=(3, 6))

CASES = {
    "reduce_max": lambda x: jnp.max(x.reshape(2, 3), axis=0),
    "reduce_min of all": lambda x: jnp.min(x) * jnp.ones(1),
    "reduce_prod": lambda x: jnp.prod(x.reshape(2, 3), axis=1),
    "cumprod": lambda x: jnp.cumprod(x),
    "sort": lambda x: jnp.sort(x) * np.arange(6),
    "median": lambda x: jnp.median(x) * jnp.ones(1),
}


@pytest.mark.parametrize("name", CASES)
def test_reductions(name):
    assert_agrees(lambda x: jnp.sum(jnp.exp(0.3 * CASES[name](x * x[0]))), X, order=4)
