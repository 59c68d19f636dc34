"""The series by another way: derivatives of derivatives, taken by JAX."""

import math
from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
import numpy as np

from steinwise._internal.compiled import precision
from steinwise.target.series import SeriesPlan, plan_series

ORDER = 4
TOLERANCE = 1e-10  # of the largest coefficient of the same order, along the same line


def nested_derivatives(log_density: Callable, x, directions, order: int = ORDER) -> np.ndarray:
    """(d/dt)^k log p(x + t v) / k! at t = 0 by forward mode, k times: (n, direction, order)."""

    def derivative(function: Callable) -> Callable:
        return lambda t: jax.jvp(function, (t,), (jnp.ones_like(t),))[1]

    def along(point, direction):
        function, coefficients = (lambda t: log_density(point + t * direction)), []
        for k in range(order + 1):
            coefficients.append(function(jnp.zeros((), point.dtype)) / math.factorial(k))
            function = derivative(function)
        return jnp.stack(coefficients)

    with precision():
        over_directions = jax.vmap(along, (None, 0))
        found = jax.jit(jax.vmap(over_directions, (0, None)))(jnp.asarray(x), directions)
        return np.asarray(found)


def make_plan(log_density: Callable, d: int, order: int = ORDER) -> SeriesPlan:
    """With a pass for each group of coordinates, however small it is."""
    with precision():
        return plan_series(log_density, d, order, most_work=0)


def assert_close(found: np.ndarray, expected: np.ndarray, names=None) -> None:
    """Equal to 1e-10 of the largest coefficient of a line's order, over the draws."""
    scale = np.abs(expected).max(axis=0) + 1e-3 * np.abs(expected).max(axis=(0, 2))[:, None]
    errors = np.abs(found - expected) / (scale + 1e-300)
    worst = np.nan_to_num(errors, nan=np.inf).max(axis=(0, 2))
    labels = range(len(worst)) if names is None else names
    wrong = {label: error for label, error in zip(labels, worst, strict=True) if error > TOLERANCE}
    assert not wrong, wrong


def assert_agrees(
    log_density: Callable,
    x: np.ndarray,
    *,
    order: int = ORDER,
    coordinates=None,
    reference: Callable | None = None,
) -> SeriesPlan:
    """The series along coordinates are those of nested derivatives; returns the plan."""
    d = x.shape[1]
    chosen = np.arange(d) if coordinates is None else np.asarray(coordinates)
    plan = make_plan(log_density, d, order)
    assert plan.supported.all(), plan.unsupported
    found = plan.coordinate_series(x)
    expected = nested_derivatives(reference or log_density, x, np.eye(d)[chosen], order)
    assert_close(found[:, chosen], expected, chosen)
    return plan


def assert_functions_agree(
    functions: Mapping[str, Callable], points: np.ndarray, order: int = ORDER
) -> None:
    """Functions of one number, each on two coordinates of its own, of x and of x + 0.3 x^2.

    The first keeps its slope apart, the second is a general series.
    """
    names = [f"{name} of {kind}" for name in functions for kind in ("x", "a series")]

    def values(x):
        pairs = zip(functions.values(), x[::2], x[1::2], strict=True)
        return [v for f, a, b in pairs for v in (f(a), f(b + 0.3 * b**2))]

    plan = make_plan(lambda x: sum(values(x)), len(names), order)
    assert plan.supported.all(), plan.unsupported
    found = plan.coordinate_series(np.repeat(points[:, None], len(names), axis=1))
    expected = nested_derivatives(  # of all of them at once, as functions of one number
        lambda a: jnp.stack(values([a[0]] * len(names))), points[:, None], np.ones((1, 1)), order
    )
    assert_close(found[..., 1:], np.swapaxes(expected[:, 0], 1, 2)[..., 1:], names)
