"""Quick compilation: options that XLA knows, and what happens where it does not."""

import jax.numpy as jnp
import numpy as np
import pytest

from steinwise._internal import compiler_options
from steinwise._internal.compiler_options import quick_to_compile, quickly_compiled


@pytest.fixture
def fresh_trial():
    quick_to_compile.cache_clear()
    yield
    quick_to_compile.cache_clear()


@pytest.mark.usefixtures("fresh_trial")
def test_the_options_are_known_to_this_version():
    """Catches an option that a new version of JAX has dropped: compiling takes longer then."""
    assert quick_to_compile() == compiler_options.QUICK_TO_COMPILE


@pytest.mark.usefixtures("fresh_trial")
def test_options_that_are_not_known_are_left_out(monkeypatch):
    monkeypatch.setattr(compiler_options, "QUICK_TO_COMPILE", {"xla_of_another_time": True})
    doubled = quickly_compiled(lambda x: 2 * x)
    np.testing.assert_array_equal(doubled(jnp.ones(3)), 2)
    assert quick_to_compile() == {}


def test_static_arguments_are_passed_on():
    repeated = quickly_compiled(lambda n, x: jnp.concatenate([x] * n), static_argnums=0)
    assert repeated(3, jnp.ones(2)).shape == (6,)
