"""Error and gamma functions, against nested derivatives and SciPy."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.scipy.special import digamma, erf, erfc, gammaln, ndtri
from scipy.special import factorial, polygamma

from steinwise._internal.compiled import precision
from steinwise.target.series.rules.special import log_gamma_coefficients
from tests.target.series.reference import assert_functions_agree, make_plan


def test_error_and_gamma_functions():
    assert_functions_agree(
        {
            "erf": erf,
            "erfc": erfc,
            "erf_inv": lax.erf_inv,
            "ndtri": ndtri,
            "lgamma": gammaln,
            "digamma": digamma,
        },
        np.array([0.15, 0.35, 0.55]),  # JAX 0.12 computes ndtri(p) from |p - 1/2|
        order=3,  # nested derivatives of log Gamma compile slowly
    )


@pytest.mark.parametrize("x", [1e-3, 0.4, 1.0, 3.7, 25.0, 1e4])
def test_log_gamma_at_all_scales(x):
    """Too few terms of Stirling's series, or too small a shift: wrong in the last digits."""
    with precision():
        found = np.array(log_gamma_coefficients(jnp.asarray(x), 10))
    k = np.arange(2, 11)
    np.testing.assert_allclose(found, polygamma(k - 1, x) / factorial(k), rtol=2e-14)


def test_log_gamma_of_a_negative_number_is_not_guessed():
    plan = make_plan(lambda x: gammaln(x).sum(), 1)
    assert np.isnan(plan.coordinate_series(np.array([[-0.5]]))[0, 0, 2:]).all()
