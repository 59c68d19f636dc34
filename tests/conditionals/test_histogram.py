"""Networks that predict the bin of a coordinate."""

import numpy as np

from steinwise.conditionals import Histogram
from tests.conditionals.examples import D, losses, normal, training


def test_an_untrained_histogram_is_the_marginal_one() -> None:
    data = training(normal(0, 300), normal(1, 100))
    atoms = Histogram(bins=8, epochs=0).fit(data).atoms(normal(2, 4), 0, 0)
    both = np.concatenate([data.train, data.validation])
    for j in range(D):
        edges = np.linspace(both[:, j].min(), both[:, j].max(), 9)
        counts = np.histogram(data.train[:, j], edges)[0] + 0.5
        np.testing.assert_allclose(atoms.points[0, j], (edges[1:] + edges[:-1]) / 2)
        np.testing.assert_allclose(atoms.weights[:, j], [counts / counts.sum()] * 4, rtol=1e-5)


def test_training_keeps_the_best_epoch_of_every_network() -> None:
    """Catches a last epoch that overfits: x[0] depends on x[1], x[2] is alone."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    x[:, 0] = 0.95 * x[:, 1] + 0.3 * x[:, 0]
    data = training(x[:200], x[200:])
    before, after = (losses(Histogram(10, epochs=epochs), data) for epochs in (0, 400))
    assert (after <= before + 1e-6).all()
    assert after[0] < before[0] - 0.3
