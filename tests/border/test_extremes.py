"""Whatever the numbers, a check ends in a verdict or in an error of ours: no NaN, no traceback."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steinwise as sw
from tests.border.test_invariances import METHODS

N, D = 40, 2
# what floats may be: of any size, whole, repeated, next to each other
entries = st.one_of(
    st.floats(-3, 3),
    st.floats(-1e99, 1e99),
    st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-52, 1e-308, 5e-324, 1e16, 1e99, -1e99, 1e-99]),
)
scales = st.integers(-60, 60).map(lambda power: 10.0**power)
ERRORS = (sw.InputError, sw.TargetError, sw.TooFewDraws)


@st.composite
def strange_draws(draw: Any) -> np.ndarray:
    """Normal draws, of which some entries, rows or coordinates are replaced."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    x = rng.normal(size=(N, D))
    x *= draw(st.tuples(scales, scales) | st.just((1.0, 1.0)))
    for _ in range(draw(st.integers(0, 3))):
        x[draw(st.integers(0, N - 1)), draw(st.integers(0, D - 1))] = draw(entries)
    if draw(st.booleans()):  # ties: repeated draws, as of a chain that stays where it is
        x = x[rng.integers(0, draw(st.integers(2, N)), size=N)]
    if draw(st.integers(0, 9)) == 0:
        x[:, draw(st.integers(0, D - 1))] = draw(entries)
    return x


@pytest.mark.parametrize("method", METHODS)
@given(x=strange_draws(), unit=scales | st.just(1.0), chain=st.booleans())
def test_any_draws_end_in_a_verdict_or_in_words(
    method: str, x: np.ndarray, unit: float, chain: bool
) -> None:
    """Catches a NaN that passes for a fit, and an error of NumPy or JAX."""
    target = sw.Gaussian(np.zeros(D), unit**2 * np.eye(D))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.SteinwiseWarning)
        try:
            result = sw.check(
                x[None] if chain else x,
                target,
                method=METHODS[method],
                n_bootstrap=99,
                independent=not chain,
                progress=False,
            )
        except ERRORS:
            return
    assert 0 < result.pvalue <= 1
    assert np.isfinite(result.statistic)
    assert all(0 < c.pvalue <= 1 for c in result.coordinates)
    assert "nan" not in str(result)
