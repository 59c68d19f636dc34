"""Mixtures of normals that a network predicts."""

import numpy as np
import pytest

import steinwise as sw
from steinwise.conditionals import MixtureDensity, base
from tests.conditionals.examples import normal, training


def test_training_that_diverges_names_the_coordinate(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw so far out that its squared distance overflows in 32 bit, if it were let in."""
    validation = normal(1, 30)
    validation[7, 1] = 1e25
    fitted = MixtureDensity(epochs=2).fit(training(normal(0, 60), validation))
    assert np.isfinite(fitted.atoms(validation, 0, 0).points).all()
    monkeypatch.setattr(base, "FARTHEST_INPUT", np.inf)
    with pytest.raises(sw.InputError, match=r"the validation loss of b1 is inf in epoch 0\."):
        MixtureDensity().fit(training(normal(0, 60), validation))
