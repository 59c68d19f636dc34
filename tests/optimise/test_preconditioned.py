"""The scaled space of thinning and points."""

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.optimise.preconditioned import ScaledSpace, SteinColumns
from tests.optimise.cases import gaussian, stein_gram, wide_draws


def test_positive_curvature_is_a_sum_over_coordinates_that_bend_upwards() -> None:
    """Catches the positive part of the sum in place of the sum of positive parts."""
    x = np.random.default_rng(0).normal(size=(20, 3))
    density = sw.Target(lambda row: -(row[0] ** 4) + jnp.sin(row[1]) + row[0] * row[2])
    space = ScaledSpace(np.array([1.0, 2.0, 3.0]), np.eye(3), "")
    curvature = space.positive_curvature(density, x, 2**30)
    assert curvature == pytest.approx(4 * np.maximum(-np.sin(x[:, 1]), 0), abs=1e-6)


@pytest.mark.parametrize("matrix", [0.5 * np.eye(3), np.eye(3) + 0.2])
def test_columns_of_the_stein_kernel_are_those_of_its_matrix(matrix: np.ndarray) -> None:
    """Catches a term of k_0 that is wrong for a full, or for an isotropic, preconditioner."""
    x, target = wide_draws()[:40], gaussian()
    scores = target.score(x)
    columns = SteinColumns.of(ScaledSpace(np.ones(3), matrix, ""), x, scores)
    pairs = stein_gram(x, scores, matrix)
    assert columns.diagonal == pytest.approx(np.diag(pairs))
    assert columns.with_point(x[5], scores[5]) == pytest.approx(pairs[5])
