"""Linear regression with the residuals' own distribution."""

import numpy as np
import pytest
from scipy import stats

from steinwise.conditionals import Linear
from steinwise.conditionals.linear import PENALTIES
from tests.conditionals.examples import D, normal, training


def test_all_regressions_in_one_solve_are_the_regressions_one_by_one() -> None:
    units = [1.0, 3.0, 0.2]
    x = normal(0, 50) * units + 1.0
    fitted = Linear().fit(training(x, normal(1, 30) * units + 1.0))
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    coefficients = []  # per coordinate and penalty
    for j in range(D):
        others = np.delete(z, j, axis=1)
        gram, products = others.T @ others / len(z), others.T @ z[:, j] / len(z)
        ridge = [np.linalg.solve(gram + a * np.eye(D - 1), products) for a in PENALTIES]
        coefficients.append(ridge)
    new = normal(2, 4) * units + 1.0
    new_z = (new - x.mean(axis=0)) / x.std(axis=0)
    atoms = fitted.atoms(new, 0, 0)
    centres = atoms.points[..., 0] - atoms.points[:1, :, :1].squeeze(-1)
    agrees = []
    for k in range(len(PENALTIES)):
        means = [np.delete(new_z, j, axis=1) @ coefficients[j][k] for j in range(D)]
        means = np.stack(means, axis=1) * x.std(axis=0)
        agrees.append(np.allclose(centres, means - means[:1], atol=1e-9))
    assert sum(agrees) == 1  # all coordinates share one penalty


def test_residuals_keep_their_shape() -> None:
    """Catches normal residuals in place of the draws' own."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 2))
    x[:, 1] = 0.8 * x[:, 0] + rng.exponential(size=3000)
    atoms = Linear().fit(training(x[:2000], x[2000:])).atoms(np.array([[1.0, 0.0]]), 0, 0)
    points = atoms.points[0, 1]
    line = np.polyfit(x[:2000, 0], x[:2000, 1], 1)
    assert points.mean() == pytest.approx(np.polyval(line, 1.0), abs=0.05)
    assert stats.skew(points) > 1.2
