"""Conditional kernel density estimation."""

import numpy as np

from steinwise.conditionals import KDE, Linear
from tests.conditionals.examples import losses, training


def test_nearness_is_learned() -> None:
    """A distribution that no line describes: two branches around x_0 = +-x_1."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 2))
    x[:, 0] = np.sign(x[:, 0]) * np.abs(x[:, 1]) + 0.1 * rng.normal(size=900)
    data = training(x[:600], x[600:])
    assert losses(KDE(), data)[0] < losses(Linear(), data)[0] - 0.4
