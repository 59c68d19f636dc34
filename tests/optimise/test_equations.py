"""The equations of fits: their derivatives by differences, and what does not change them."""

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import cut_into
from steinwise.draws.samples import Samples
from steinwise.optimise.conditional_equations import ConditionalEquations
from steinwise.optimise.equations import AbstractEquations
from steinwise.optimise.model import Model, ParameterLayout
from steinwise.optimise.pair_equations import PairEquations, pair_equations

X = np.random.default_rng(0).normal([0.5, -1.0], [1.0, 2.0], size=(40, 2))
THETA, OTHER = np.array([0.3, -0.2, 0.1]), np.array([-0.4, 0.3, 0.2])
KERNEL = sw.kernels.RBF(1.5)


def located(theta, x):
    """Two means and a common log standard deviation."""
    return -0.5 * jnp.sum((x - theta[:2]) ** 2) * jnp.exp(-2 * theta[2])


def model() -> Model:
    layout, start = ParameterLayout.of(THETA)
    return Model.of(located, layout, start, 2)


def wide_normal(key, x, n_atoms):
    return np.random.default_rng(key).normal(0.5, 2.0, size=(*x.shape, n_atoms))


def pairs(memory: int = 2**30) -> PairEquations:
    samples = Samples.of(X, independent=True)
    return pair_equations(model(), KERNEL, X, cut_into(samples, 10), memory)


def conditional(memory: int = 2**30) -> ConditionalEquations:
    sampler = sw.conditionals.Sampler(wide_normal, n_atoms=5)
    scale = np.array([0.7, 1.5])
    return ConditionalEquations(model(), KERNEL, scale, sampler, X, RunOptions(memory=memory))


KINDS = {"pairs": pairs, "conditional": conditional}


def differences(function, at: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Central differences of a function, the last axis along the parameters."""
    steps = h * np.eye(len(at))
    columns = [(function(at + step) - function(at - step)) / (2 * h) for step in steps]
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_those_of_differences(kind: str) -> None:
    """Catches a factor of 2, a transposed matrix, and a side that was left out."""
    equations: AbstractEquations = KINDS[kind]()
    value, gradient = equations.objective(THETA)
    assert value >= 0
    assert gradient == pytest.approx(
        differences(lambda t: np.array(equations.objective(t)[0]), THETA), abs=1e-7
    )
    assert equations.objective_hessian(THETA) == pytest.approx(
        differences(lambda t: equations.objective(t)[1], THETA), abs=1e-6
    )
    _, derivative = equations.equation(THETA, OTHER)
    assert derivative == pytest.approx(
        differences(lambda t: equations.equation(t, OTHER)[0], THETA), abs=1e-6
    )
    assert equations.jacobian(THETA) == pytest.approx(
        differences(lambda t: equations.equation(t, t)[0], THETA), abs=1e-6
    )


@pytest.mark.parametrize("kind", KINDS)
def test_little_memory_changes_nothing(kind: str) -> None:
    """Catches kernel matrices that differ when they are computed anew instead of kept."""
    equations, frugal = KINDS[kind](), KINDS[kind](2**13)
    assert frugal.objective(THETA)[1] == pytest.approx(equations.objective(THETA)[1], rel=1e-12)
    assert frugal.contributions(THETA) == pytest.approx(equations.contributions(THETA), rel=1e-12)
    assert frugal.discrepancy(THETA) == pytest.approx(equations.discrepancy(THETA), rel=1e-12)


def test_pair_equations_are_half_of_the_gradient_of_their_discrepancy() -> None:
    """Catches an equation over other pairs than the discrepancy's."""
    equations = pairs()
    slope = differences(lambda t: np.array(equations.discrepancy(t)), THETA)
    assert 2 * equations.equation(THETA, THETA)[0] == pytest.approx(slope, abs=1e-7)


def test_contributions_of_conditional_equations_average_to_the_equation() -> None:
    equations = conditional()
    mean = equations.contributions(THETA).mean(axis=0)
    assert mean == pytest.approx(equations.equation(THETA, THETA)[0], rel=1e-10)
