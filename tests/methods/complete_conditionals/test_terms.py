"""Functions of u: straight from their formulas."""

import numpy as np
import pytest

from steinwise.methods.complete_conditionals.terms import WAVES, stein_kernel_of_normal
from tests.methods.complete_conditionals.formulas import stein_side


@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-13), ("float32", 3e-6)])
def test_the_stein_kernel_of_a_normal(dtype: str, error: float) -> None:
    """Catches a wrong coefficient of the closed form, and one that loses digits far out."""
    z = np.random.default_rng(8).normal(size=200) * np.repeat([1, 10], 100)
    expected = np.stack([stein_side(x) for x in z], axis=1)
    kernel = stein_kernel_of_normal(z.astype(dtype), WAVES)
    assert kernel.dtype == dtype
    np.testing.assert_allclose(kernel, expected, atol=error * np.abs(expected).max())
