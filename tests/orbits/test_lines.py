"""The Stein kernel along lines: its closed form on normal lines against the general one."""

import numpy as np
import pytest

from steinwise.orbits.lines import MIDPOINTS, Lines, NormalLines


@pytest.mark.parametrize(("dtype", "error"), [("float64", 1e-13), ("float32", 3e-6)])
def test_the_kernel_of_normal_lines_is_that_of_any_lines(dtype: str, error: float) -> None:
    """Catches a wrong coefficient of the closed form, and one that loses digits far out."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(1500, 3)) * [1, 1, 10]
    normal = NormalLines(x - 1.0, np.ones_like(x), np.ones(3))
    fields = ("u", "score", "quantiles", "quantile_scores", "spread", "log_density")
    lines = Lines(*(getattr(normal, field) for field in fields))
    weights = rng.normal(size=(len(MIDPOINTS), 4))
    expected = lines.stein_kernel(x, weights, np.dtype("float64"))
    kernel = normal.stein_kernel(x, weights, np.dtype(dtype))
    assert kernel.dtype == dtype
    np.testing.assert_allclose(kernel, expected, atol=error * np.abs(expected).max())
    np.testing.assert_allclose(normal.normal_scores[:, 0], lines.normal_scores[:, 0], atol=1e-9)
