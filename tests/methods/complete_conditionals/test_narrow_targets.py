"""Targets that are far narrower than the draws: a misfit, however narrow."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw

X = np.random.default_rng(0).normal(size=(100, 2))


@pytest.mark.parametrize(
    "target",
    [
        lambda x: -0.5 * jnp.sum((x / 1e-7) ** 2),
        lambda x: -0.5 * (x[0] / 1e-7) ** 2 - 0.5 * x[1] ** 2,
        sw.Target.from_score(lambda x: -1e14 * x),
        sw.Gaussian([0.0, 0.0], 1e-14 * np.eye(2)),
    ],
    ids=["log density", "one coordinate", "score", "Gaussian"],
)
def test_a_target_between_all_draws_is_a_misfit(target):
    """The mass of a line between its nodes came out as 0, and the verdict as an error."""
    with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
        result = sw.check(X, target)  # where terms underflow, a note says so
    assert result.rejected
    assert "x[0]" in [each.name for each in result.flagged]
