"""Linear functions, against nested derivatives."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.target.series.reference import assert_agrees

D = 6
X = np.random.default_rng(0).normal(size=(3, D))
MATRIX = np.random.default_rng(1).normal(size=(4, D))
INTO = np.array([3, 0, 0, 2, 3, 1])

CASES = {
    "reduce_sum": lambda x: x.reshape(2, 3).sum(axis=0),
    "matrix times vector": lambda x: MATRIX @ x,
    "vector times matrix": lambda x: x @ MATRIX.T,
    "matrix times matrix": lambda x: MATRIX[:, :3] @ x.reshape(3, 2),
    "batched product": lambda x: jnp.einsum("bij,bj->bi", MATRIX.reshape(2, 4, 3), x.reshape(2, 3)),
    "product of two that move": lambda x: jnp.outer(x, x)[:2] @ x.reshape(6, 1),
    "quadratic form": lambda x: x @ (MATRIX.T @ (MATRIX @ x)),
    "weights times values": lambda x: np.arange(D) @ jnp.exp(x),
    "cumsum": lambda x: jnp.cumsum(x),
    "cumsum from the end": lambda x: lax.cumsum(x, reverse=True),
    "scatter-add": lambda x: jnp.zeros(4).at[INTO].add(x),
    "scatter-add into x": lambda x: x.at[np.array([1, 1, 4])].add(x[:3]),
    "conversion to 32 bit and back": lambda x: x.astype(jnp.float32).astype(jnp.float64),
    "mean and variance": lambda x: jnp.mean(x) + jnp.var(x),
}


@pytest.mark.parametrize("name", CASES)
def test_linear_functions(name):
    """A product with the wrong operand, an axis that is not summed over, a lost digit."""
    if "32 bit" in name:
        x = X.astype(np.float32).astype(np.float64)
        assert_agrees(lambda x: jnp.sum(CASES[name](x) ** 3), x, order=3)
        return
    assert_agrees(lambda x: jnp.sum(jnp.exp(0.2 * CASES[name](x))), X, order=3)
    assert_agrees(lambda x: jnp.sum(jnp.exp(0.2 * CASES[name](jnp.sin(x) * x[0]))), X, order=3)
