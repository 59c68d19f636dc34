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


def test_a_function_is_compiled_once_however_often_it_is_passed():
    """Catches a target made anew for the same function, which would compile it again."""

    def log_density(x):
        return -(x**2).sum() / 2

    assert as_target(log_density) is as_target(log_density)
    target = sw.Target(log_density)
    assert as_target(target) is target


class Steep:
    """A log density that is an object: anything that can be called with a draw."""

    def __call__(self, x):
        return -2.0 * jnp.sum(x**2)


def test_an_object_that_can_be_called_is_a_log_density():
    np.testing.assert_allclose(as_target(Steep()).score(X), -4.0 * X)
