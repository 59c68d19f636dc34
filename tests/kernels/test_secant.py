"""The hyperbolic secant kernel."""

import jax
import jax.numpy as jnp
import numpy as np

import steinwise as sw
from steinwise.kernels import HyperbolicSecant


def test_the_secant_can_be_differentiated_far_out():
    """1 / cosh overflows where the kernel is 0 to every digit."""
    far = jnp.array([[0.0], [100.0]])
    slope = jax.grad(lambda x: sw.functional.ksd(HyperbolicSecant(), x, -x))(far)
    assert np.isfinite(slope).all()
