"""Stand-ins for several coordinates together, given the others."""

from dataclasses import dataclass

import numpy as np
import pytest

import steinwise as sw
from steinwise.conditionals import (
    KDE,
    AbstractConditional,
    AbstractFittedConditional,
    Histogram,
    Linear,
    MixtureDensity,
    TrainingData,
    Transported,
)
from steinwise.methods.kccsd import KCCSD
from tests.conditionals.examples import TARGET, normal, quiet_check

BLOCKS = [[0, 1], [2]]
COVARIANCE = np.array([[1.0, -0.8, 0.3], [-0.8, 1.0, -0.3], [0.3, -0.3, 1.0]])


@dataclass(frozen=True, eq=False)
class Remembering(AbstractConditional):
    """Keeps what another stand-in learned."""

    model: AbstractConditional
    learned: list[AbstractFittedConditional]

    def fit(self, data: TrainingData) -> AbstractFittedConditional:
        self.learned.append(self.model.fit(data))
        return self.learned[-1]


def wrong_inside_the_block() -> sw.Gaussian:
    """p(x_2 | x_0, x_1) is q's, but x_0 and x_1 have a correlation of -0.2 in place of -0.8."""
    weights = np.linalg.solve(COVARIANCE[:2, :2], COVARIANCE[:2, 2])
    residual = 1 - COVARIANCE[2, :2] @ weights
    block = np.array([[1.0, -0.2], [-0.2, 1.0]])
    covariance = np.eye(3)
    covariance[:2, :2] = block
    covariance[2, :2] = covariance[:2, 2] = block @ weights
    covariance[2, 2] = residual + weights @ block @ weights
    return sw.Gaussian(np.zeros(3), covariance)


@pytest.fixture(scope="module", params=[Linear(n_atoms=200), MixtureDensity()], ids=str)
def check_and_stand_in(request) -> tuple[sw.CheckResult, AbstractFittedConditional]:
    """A check with blocks, and the stand-in that it learned from 300 draws."""
    conditional = Remembering(request.param, [])
    method = KCCSD(conditional, sw.kernels.RBF(1.5), blocks=BLOCKS, split=(0.5, 0.2, 0.3))
    result = quiet_check(normal(1, 600, COVARIANCE), method, wrong_inside_the_block())
    return result, conditional.learned[0]


def test_the_atoms_of_a_block_are_joint(check_and_stand_in) -> None:
    """Catches entries of a block that are drawn apart from each other, or each in order of size."""
    _, stand_in = check_and_stand_in
    x = np.array([[9.0, 9.0, 0.5], [0.3, -0.1, 0.5], [-1.0, 0.8, 0.5]])
    atoms = stand_in.atoms(x, 0, 0)
    weights = atoms.weights[0, 0]
    np.testing.assert_array_equal(atoms.weights[0, 0], atoms.weights[0, 1])
    points = atoms.points[0, :2]
    mean = points @ weights
    spread = (points - mean[:, None]) * weights @ (points - mean[:, None]).T
    exact_mean = 0.5 * COVARIANCE[:2, 2]
    exact = COVARIANCE[:2, :2] - np.outer(COVARIANCE[:2, 2], COVARIANCE[:2, 2])
    np.testing.assert_allclose(mean, exact_mean, atol=0.25)
    np.testing.assert_allclose(spread, exact, atol=0.3)
    assert spread[0, 1] < -0.4
    steps = x[1:, :2] - exact_mean
    squared = (steps @ np.linalg.inv(exact) * steps).sum(axis=1)
    expected = -squared / 2 - np.log(2 * np.pi * np.sqrt(np.linalg.det(exact)))
    np.testing.assert_allclose(stand_in.log_density(x)[1:, 0], expected, atol=0.5)


def test_a_wrong_dependence_inside_a_block_is_found(check_and_stand_in) -> None:
    """And not ascribed to the other coordinate, whose conditional is right."""
    result, _ = check_and_stand_in
    assert result.rejected
    assert [c.adjusted_pvalue <= 0.05 for c in result.findings.coordinates] == [True, False]


@pytest.mark.parametrize("model", [Histogram(), KDE(), Transported()], ids=str)
def test_a_model_of_one_coordinate_refuses_blocks(model) -> None:
    with pytest.raises(sw.InputError, match=r"one coordinate at a time.*Linear\(\)"):
        sw.check(normal(0, 300), TARGET, method=KCCSD(model, blocks=BLOCKS))
