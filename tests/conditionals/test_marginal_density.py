"""What a stand-in must beat: the distribution of a coordinate alone."""

import numpy as np
import pytest

import steinwise as sw
from steinwise.conditionals import Linear
from steinwise.conditionals.marginal_density import marginal_losses
from steinwise.methods.kccsd import KCCSD
from tests.conditionals.examples import TARGET, D, normal, training


def test_the_marginal_loss_is_the_entropy_of_the_coordinate() -> None:
    """Catches a missing scale: coordinates N(0, s^2) have the entropy log(s sqrt(2 pi e))."""
    sd = np.array([1.0, 5.0, 0.1])
    losses = marginal_losses(training(normal(0, 2000) * sd, normal(1, 2000) * sd))
    np.testing.assert_allclose(losses, np.log(sd * np.sqrt(2 * np.pi * np.e)), atol=0.06)


def test_a_model_no_better_than_the_marginal_distribution_is_reported() -> None:
    draws = normal(0, 300, np.eye(D))
    with pytest.warns(sw.SteinwiseWarning, match=r"of 3 coordinates \(x\[0\].* no better than"):
        result = sw.check(draws, TARGET, method=KCCSD(Linear()))
    assert result.findings.learning is not None
    assert result.findings.learning.no_better()
