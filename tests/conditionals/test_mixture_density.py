"""Mixtures of normals that a network predicts."""

import pytest

import steinwise as sw
from steinwise.conditionals import MixtureDensity
from tests.conditionals.examples import normal, training


def test_training_that_diverges_names_the_coordinate() -> None:
    """A draw so far out that its squared distance overflows in 32 bit."""
    validation = normal(1, 30)
    validation[7, 1] = 1e25
    with pytest.raises(sw.InputError, match=r"the validation loss of b1 is inf in epoch 0\."):
        MixtureDensity().fit(training(normal(0, 60), validation))
