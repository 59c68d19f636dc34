"""Every kernel: its closed forms against automatic derivatives, its Stein kernel against pairs."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np
import pytest

from steinwise.kernels import IMQ, RBF, AbstractKernel, HyperbolicSecant, Matern52
from steinwise.kernels.base import Parts
from tests.kernels.cases import points, stein_of_pairs

VECTOR = np.array([0.7, 1.3, 2.1])


def _kernels(bandwidth) -> dict[str, AbstractKernel]:
    return {
        "rbf": RBF(bandwidth),
        "imq": IMQ(bandwidth),
        "imq, other exponent": IMQ(bandwidth, exponent=0.3),
        "matern": Matern52(bandwidth),
        "secant": HyperbolicSecant(bandwidth),
        "sum": RBF(bandwidth) + 0.5 * IMQ(2.0),
        "product": RBF(bandwidth) * Matern52(1.7),
        "three": (RBF(bandwidth) + HyperbolicSecant(1.1)) * IMQ(2.0),
    }


CASES = {
    f"{name}, R^{m}, {label}": (kernel, m)
    for label, m, bandwidth in (
        ("scalar", 1, 0.8),
        ("scalar", 3, 1.4),
        ("vector", 3, VECTOR),
    )
    for name, kernel in _kernels(bandwidth).items()
}


class Evaluated(NamedTuple):
    """One kernel at pairs of points, by its closed forms and by an independent way."""

    m: int
    closed: Parts
    automatic: Parts
    gram: np.ndarray
    pairwise: np.ndarray


@pytest.fixture(scope="module", params=CASES.values(), ids=list(CASES))
def evaluate(request) -> Callable[..., Evaluated]:
    """A function of points x, y (10, m) and scores there; compiled once per kernel."""
    kernel, m = request.param

    @jax.jit
    def everything(x, y, score_x, score_y):
        return Evaluated(
            m,
            jax.vmap(kernel.parts)(x, y),
            jax.vmap(lambda *pair: AbstractKernel.parts(kernel, *pair))(x, y),
            kernel.stein_gram(x, y, score_x, score_y),
            stein_of_pairs(kernel, x, y, score_x, score_y),
        )

    def at(offset: float = 0.0, step: float | None = None) -> Evaluated:
        x, y, score_x, score_y = (points(m, 10, seed) + offset for seed in range(4))
        return everything(x, y if step is None else x + step, score_x - offset, score_y - offset)

    return at


def test_closed_form_derivatives_are_those_of_the_kernel(evaluate):
    """A wrong sign or factor in any closed form, or in the product rule."""
    found = evaluate()
    for name, closed, automatic in zip(Parts._fields, found.closed, found.automatic, strict=True):
        np.testing.assert_allclose(closed, automatic, rtol=1e-9, atol=1e-12, err_msg=name)


def test_derivatives_at_equal_points_are_finite_and_right(evaluate):
    """0/0 on the diagonal of a Gram matrix (the Matern's root), or a wrong limit."""
    at, near = evaluate(step=0.0).closed, evaluate(step=1e-7).closed
    np.testing.assert_allclose(at.value, near.value, rtol=1e-12)
    np.testing.assert_allclose(at.dx, 0, atol=1e-12)
    np.testing.assert_allclose(at.dy, 0, atol=1e-12)
    np.testing.assert_allclose(at.dxdy, near.dxdy, rtol=1e-5)


@pytest.mark.parametrize("offset", [0.0, 1e4], ids=["at 0", "far away"])
def test_stein_gram_is_the_stein_kernel_of_all_pairs(evaluate, offset):
    """A slip in the matrix-product form; far away, digits lost to |x|^2 + |y|^2 - 2 <x, y>."""
    found = evaluate(offset)
    tolerance = 1e-9 if offset else 1e-11
    np.testing.assert_allclose(found.gram, found.pairwise, rtol=1e-9, atol=tolerance)


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RBF(2.0), np.exp(-13 / 8)),
        (IMQ(2.0), (1 + 13 / 4) ** -0.5),
        (IMQ(2.0, exponent=0.7), (1 + 13 / 4) ** -0.7),
        (
            Matern52(2.0),
            (1 + np.sqrt(5 * 13 / 4) + 5 * 13 / 12) * np.exp(-np.sqrt(5 * 13 / 4)),
        ),
        (
            HyperbolicSecant(2.0),
            1 / np.cosh(np.sqrt(np.pi / 2)) / np.cosh(1.5 * np.sqrt(np.pi / 2)),
        ),
        (RBF(np.array([1.0, 3.0])), np.exp(-0.5 * (4 + 1))),
    ],
    ids=["rbf", "imq", "imq 0.7", "matern", "secant", "rbf vector"],
)
def test_values_are_the_documented_formulas(kernel, expected):
    """Another convention for the bandwidth: 2 b^2 against b^2, squared against not."""
    value = kernel(np.array([[0.0, 0.0]]), np.array([[2.0, 3.0]]))
    np.testing.assert_allclose(value, [[expected]], rtol=1e-13)


@pytest.mark.parametrize(
    "kernel", [RBF(1.2), IMQ(1.5), Matern52(1.3), HyperbolicSecant(1.4)], ids=repr
)
def test_stein_kernel_has_mean_zero_under_the_target(kernel):
    """Stein's identity: a term with a wrong sign leaves a mean that is not 0, for any x."""
    y = np.linspace(-10, 10, 4001)[:, None]
    density = np.exp(-0.5 * y[:, 0] ** 2) / np.sqrt(2 * np.pi)
    x, score_x = np.array([[0.8]]), np.array([[-1.7]])
    stein = jax.jit(lambda *arrays: kernel.stein_gram(*arrays))(x, y, score_x, -y)[0]
    assert abs(np.trapezoid(stein * density, y[:, 0])) < 1e-9
