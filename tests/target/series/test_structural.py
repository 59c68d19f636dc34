"""Primitives that only move entries around, against nested derivatives."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.target.series.reference import assert_agrees

D = 6
X = np.random.default_rng(0).normal(size=(3, D))
WEIGHTS = np.random.default_rng(1).normal(size=24)
PICK = np.array([5, 0, 0, 3, 2])


def _weighted(values):
    """A function of all entries in which no two play the same part."""
    flat = values.ravel()
    return jnp.sum(jnp.exp(0.3 * flat) * WEIGHTS[: flat.size])


CASES = {
    "reshape": lambda x: x.reshape(2, 3),
    "broadcast_in_dim": lambda x: jnp.broadcast_to(x, (4, D)),
    "transpose": lambda x: x.reshape(2, 3).T,
    "squeeze": lambda x: x.reshape(1, D)[0],
    "slice": lambda x: x[1:5:2],
    "rev": lambda x: x[::-1],
    "concatenate": lambda x: jnp.concatenate([x[:2], jnp.ones(2), jnp.exp(x[3:])]),
    "concatenate slopes": lambda x: jnp.concatenate([2 * x[:2], jnp.ones(2), -x[3:]]),
    "pad": lambda x: jnp.pad(x, (1, 2)),
    "gather": lambda x: x[PICK],
    "gather rows": lambda x: x.reshape(3, 2)[np.array([2, 0, 0])],
    "gather out of bounds": lambda x: x.at[np.array([1, 9])].get(mode="fill", fill_value=0.5),
    "dynamic_slice": lambda x: lax.dynamic_slice(x, (2,), (3,)),
    "dynamic_slice at a place that depends on x": lambda x: lax.dynamic_slice(
        x, (jnp.argmax(x),), (1,)
    ),
    "dynamic_update_slice": lambda x: lax.dynamic_update_slice(jnp.ones(8), x[:3], (4,)),
    "scatter": lambda x: jnp.zeros(8).at[np.array([1, 6])].set(x[2:4]),
    "scatter into x": lambda x: x.at[np.array([1, 4])].set(x[2:4] ** 2),
    "split": lambda x: jnp.concatenate([a**2 for a in jnp.split(x, 3)][::-1]),
    "unstack": lambda x: jnp.concatenate([a**2 for a in x.reshape(3, 2)][::-1]),
    "stack": lambda x: jnp.stack([x[:3], jnp.exp(x[3:])]),
    "tile": lambda x: jnp.tile(x[1:4], (2, 3)),
    "repeat": lambda x: jnp.repeat(x, 3),
    "one hot": lambda x: jnp.eye(3)[np.array([0, 2, 1, 1])] @ x[:3],
}


@pytest.mark.parametrize("name", CASES)
def test_entries_keep_their_series(name):
    """Coefficients, slopes or owners that end up with another entry."""
    assert_agrees(lambda x: _weighted(CASES[name](x)), X, order=3)
    assert_agrees(lambda x: _weighted(CASES[name](jnp.tanh(x) * x[0])), X, order=3)
