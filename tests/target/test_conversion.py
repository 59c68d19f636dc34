"""What users pass as a target."""

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.target import as_target
from tests.target.cases import X


@pytest.mark.parametrize("thing", [3.0, "normal", np.eye(2), None])
def test_a_target_must_be_a_function(thing):
    """The message names the ways in."""
    with pytest.raises(sw.InputError, match=r"target is of type .*sw\.Gaussian"):
        sw.ksd(X, thing)
    with pytest.raises(sw.InputError, match="expected a function"):
        sw.Target(thing)
    with pytest.raises(sw.InputError, match="expected a function"):
        sw.Target.from_score(thing)


SCALE = 1.0


def of_global(x):
    return -0.5 * SCALE * jnp.sum(x**2)


def test_a_function_is_read_anew_in_every_call(monkeypatch):
    """The density of the call before: a global, a closure, a default that has changed since."""
    scale = 1.0

    def of_closure(x):
        return -0.5 * scale * jnp.sum(x**2)

    def of_default(x, scale=1.0):
        return -0.5 * scale * jnp.sum(x**2)

    densities = (of_global, of_closure, of_default)
    before = [as_target(density).score(X) for density in densities]
    scale = 100.0
    monkeypatch.setitem(globals(), "SCALE", 100.0)
    of_default.__defaults__ = (100.0,)
    for density, scores in zip(densities, before, strict=True):
        np.testing.assert_allclose(as_target(density).score(X), 100 * scores)


@pytest.mark.parametrize("effort", ["quick", "standard"])
def test_a_check_reads_a_function_anew(monkeypatch, effort):
    """Series along lines were those of the call before, and said that the draws fit."""
    draws = np.random.default_rng(0).normal(size=(200, 2))
    assert not sw.check(draws, of_global, effort=effort).rejected
    monkeypatch.setitem(globals(), "SCALE", 100.0)
    assert sw.check(draws, of_global, effort=effort).rejected


def test_a_function_that_no_longer_works_is_refused(monkeypatch):
    """JAX remembers traces by function, so the check of the output saw that of the call before."""
    sw.ksd(X, of_global)
    monkeypatch.setitem(globals(), "SCALE", np.ones(3))
    with pytest.raises(sw.TargetError, match="expected a scalar"):
        sw.ksd(X, of_global)


def test_a_target_is_compiled_once_however_often_it_is_passed():
    traces = []

    def log_density(x):
        traces.append(x)
        return -0.5 * jnp.sum(x**2)

    target = sw.Target(log_density)
    assert as_target(target) is target
    sw.ksd(X, target)
    before = len(traces)
    sw.ksd(X, target)
    assert len(traces) == before


class Steep:
    """A log density that is an object: anything that can be called with a draw."""

    def __call__(self, x):
        return -2.0 * jnp.sum(x**2)


def test_an_object_that_can_be_called_is_a_log_density():
    np.testing.assert_allclose(as_target(Steep()).score(X), -4.0 * X)
