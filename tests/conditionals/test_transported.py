"""The target's own conditionals, reweighted."""

import jax.numpy as jnp
import numpy as np
from scipy import stats

import steinwise as sw
from steinwise.conditionals import Transported
from tests.conditionals.examples import D, normal, training


def test_the_transported_density_is_exact() -> None:
    target = sw.Target(lambda x: -2 * jnp.sum(jnp.log1p(x**2 / 3)))
    rng = np.random.default_rng(0)
    data = training(rng.standard_t(3, size=(60, 2)), rng.standard_t(3, size=(20, 2)), target)
    x = rng.standard_t(3, size=(60, 2))
    log_density = Transported(bins=1).fit(data).log_density(x)
    np.testing.assert_allclose(log_density, stats.t.logpdf(x, 3), atol=1e-4)


def test_the_transported_density_of_a_normal_target_is_exact() -> None:
    x = normal(2, 30)
    log_density = Transported(bins=1).fit(training(normal(0, 60), normal(1, 20))).log_density(x)
    np.testing.assert_allclose(log_density, stats.norm.logpdf(x), atol=1e-9)


def test_one_histogram_of_transforms_can_serve_all_coordinates() -> None:
    data = training(0.5 * normal(0, 200, np.eye(D)), normal(1, 20, np.eye(D)))
    own, pooled = (
        Transported(8, pooled=pooled).fit(data).atoms(normal(2, 3), 0, 0)
        for pooled in (False, True)
    )
    assert np.ptp(pooled.weights, axis=1).max() == 0 < np.ptp(own.weights, axis=1).max()
    assert pooled.weights[0, 0, 0] < 0.01 < pooled.weights[0, 0, 15]  # narrow draws
