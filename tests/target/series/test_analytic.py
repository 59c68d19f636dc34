"""Elementwise analytic functions, against nested derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.target.series.reference import assert_agrees, assert_functions_agree

INSIDE = np.array([0.15, 0.35, 0.5])  # where all of them are smooth


def test_exponentials_and_logarithms():
    assert_functions_agree(
        {
            "exp": jnp.exp,
            "exp2": lax.exp2,
            "expm1": jnp.expm1,
            "log": jnp.log,
            "log2": jnp.log2,
            "log1p": jnp.log1p,
            "logistic": lax.logistic,
            "tanh": jnp.tanh,
        },
        INSIDE,
    )


def test_trigonometric_functions():
    assert_functions_agree(
        {
            "sin": jnp.sin,
            "cos": jnp.cos,
            "tan": jnp.tan,
            "sinh": jnp.sinh,
            "cosh": jnp.cosh,
            "asin": jnp.arcsin,
            "acos": jnp.arccos,
            "atan": jnp.arctan,
            "asinh": jnp.arcsinh,
            "acosh": lambda x: jnp.arccosh(1.5 + x),
            "atanh": jnp.arctanh,
            "atan2": lambda x: jnp.arctan2(x, 1 + x),
        },
        INSIDE,
    )


def test_powers():
    assert_functions_agree(
        {
            "sqrt": jnp.sqrt,
            "rsqrt": lax.rsqrt,
            "cbrt": jnp.cbrt,
            "square": jnp.square,
            "integer_pow 5": lambda x: lax.integer_pow(x, 5),
            "integer_pow -2": lambda x: lax.integer_pow(x, -2),
            "pow": lambda x: x**1.7,
            "pow of a series": lambda x: 1.3**x,
            "pow of two series": lambda x: x ** (x + 1),
            "polynomial": lambda x: jnp.polyval(jnp.array([0.5, -1.0, 2.0, 1.5]), x),
            "a / b": lambda x: (1 + x) / (2 + x),
        },
        INSIDE,
    )


def test_whole_powers_at_zero():
    """A recurrence that divides by the base."""
    assert_agrees(
        lambda x: x[0] ** 2.0 + x[1] ** 3 + lax.pow(x[0], 4.0),
        np.zeros((1, 2)),
        reference=lambda x: x[0] * x[0] * (1 + x[0] * x[0]) + x[1] * x[1] * x[1],
    )


def test_softplus_and_its_relatives():
    """Functions with a derivative of their own are inlined as what they compute."""
    x = np.random.default_rng(0).normal(size=(3, 4))
    assert_agrees(
        lambda x: jax.nn.softplus(x).sum() + jax.nn.logsumexp(x) + jax.nn.log_sigmoid(x[0] * x[1]),
        x,
    )
