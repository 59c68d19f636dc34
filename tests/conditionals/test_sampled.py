"""Draws from another stand-in's atoms."""

import numpy as np

from steinwise.conditionals import Histogram, Sampled
from tests.conditionals.examples import normal, training


def test_sampled_atoms_come_from_the_weighted_ones() -> None:
    model, x = Histogram(6, epochs=25), normal(2, 3)
    data = training(normal(0, 200), normal(1, 50))
    weighted = model.fit(data).atoms(x, 0, 0)
    sampled = Sampled(model, n_atoms=4000).fit(data).atoms(x, 0, 0)
    means = [(atoms.points * atoms.weights).sum(axis=-1) for atoms in (weighted, sampled)]
    np.testing.assert_allclose(*means, atol=0.08)  # 4 standard errors and more
    assert set(np.unique(sampled.points[0, 0])) <= set(weighted.points[0, 0])
