"""Densities over NumPy arrays that were traced before, in another precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise._internal import constants

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
DATA = RNG.normal(size=(50, 2))
KINDS = {
    "float64": DATA,
    "float32": DATA.astype(np.float32),
    "int64": np.round(3 * DATA).astype(np.int64),
    "bool": DATA > 0,
    "rows of a larger array": np.concatenate([DATA, DATA])[::2],
}


def _density(data):
    """A regression of one response, all 1, on two columns."""

    def log_density(x):
        return -0.5 * jnp.sum((jnp.sum(data * x, axis=1) - 1) ** 2)

    return log_density


def _score(data, x):
    wide = data.astype(np.float64)
    return (1 - x @ wide.T) @ wide


@pytest.mark.parametrize("ambient", [False, True], ids=["in 32 bit", "in 64 bit"])
@pytest.mark.parametrize("kind", KINDS)
def test_arrays_that_a_sampler_has_traced(kind, ambient):
    """Catches JAX's memory of an array: float32 within 64 bit, which does not compile."""
    data = KINDS[kind].copy()
    log_density = _density(data)
    with jax.enable_x64(ambient):
        sampler = jax.jit(jax.grad(log_density))
        sampler(jnp.ones(2))
        target = sw.Target(log_density)
        assert target.prepare(2) == "float64"
        np.testing.assert_allclose(target.score(X), _score(data, X), rtol=1e-10, atol=1e-10)


def test_what_is_traced_here_does_not_reach_the_samplers():
    """The reverse: arrays in 64 bit within a sampler that runs after a check, in 32 bit."""
    data = DATA.copy()
    log_density = _density(data)
    target = sw.Target(log_density)
    target.score(X)
    found = jax.jit(jax.grad(log_density))(jnp.asarray(X[0], jnp.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, _score(data, X[:1])[0], rtol=1e-4)
    np.testing.assert_allclose(target.score(X), _score(data, X), rtol=1e-10, atol=1e-10)


def test_blackjax_densities_over_arrays():
    """A tree of positions and a jitted density, as BlackJAX's kernels leave them."""
    data = DATA.copy()

    @jax.jit
    def log_density(position):
        return _density(data)(jnp.stack([position["a"], position["b"]]))

    sampler = jax.jit(jax.grad(log_density))
    sampler({"a": 1.0, "b": 1.0})
    draws = {"a": jnp.asarray(X[:, 0]), "b": jnp.asarray(X[:, 1])}
    samples, target = sw.from_blackjax(draws, log_density, independent=True)
    expected = _score(data, samples.rows)
    np.testing.assert_allclose(target.score(samples.rows), expected, rtol=1e-10, atol=1e-10)


def test_an_array_that_is_used_often_is_one_constant():
    """A copy of the data for each time that a density mentions them."""
    data = DATA.copy()
    with constants.own_constants():
        traced = jax.make_jaxpr(lambda x: jnp.sum(data @ x) + jnp.sum(data) * x[0])(jnp.ones(2))
    assert len(traced.consts) == 1


def test_jax_is_left_as_it_was():
    before = jax.make_jaxpr(lambda x: DATA * x)(1.0)
    sw.Target(_density(DATA)).score(X)
    assert constants._users == 0
    after = jax.make_jaxpr(lambda x: DATA * x)(1.0)
    assert str(before) == str(after)


def test_where_jax_cannot_be_helped_the_density_runs_in_32_bit(monkeypatch):
    """A version of JAX that remembers arrays and has renamed its function: no crash."""
    if not constants._jax_remembers():
        return  # then there is nothing to help with
    monkeypatch.setattr(constants, "_replacement", lambda: None)
    monkeypatch.setattr("steinwise.target.differentiation.constants_are_reliable", lambda: False)
    data = DATA.copy()
    sampler = jax.jit(jax.grad(_density(data)))
    sampler(jnp.ones(2))
    target = sw.Target(_density(data))
    with pytest.warns(sw.SteinwiseWarning, match="cannot be traced in 64 bit"):
        assert target.prepare(2) == "float32"
    np.testing.assert_allclose(target.score(X), _score(data, X), rtol=1e-4, atol=1e-4)
