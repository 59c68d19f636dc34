"""Graphs of densities: which couplings are found, and the blocks made of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw


def chain_target(d: int) -> sw.Gaussian:
    """Each coordinate depends on the one before."""
    precision = 2 * np.eye(d) - 0.9 * (np.eye(d, k=1) + np.eye(d, k=-1))
    return sw.Gaussian(np.zeros(d), np.linalg.inv(precision))


def draws_of(target: sw.Gaussian, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([6, seed])
    return rng.multivariate_normal(target.mean, target.covariance, n)


@pytest.mark.parametrize("kind", ["closed form", "autodiff", "host"])
def test_the_graph_is_found_from_any_target(kind: str) -> None:
    """Catches an edge by rounding, and one that is missed where the Hessian is 0 at some draws."""
    scales = jnp.asarray([1e-3, 1.0, 1e3, 1.0, 1.0])
    if kind == "closed form":
        target = chain_target(5)
    else:
        x_to_score = chain_target(5).score
        target = sw.Target.from_score(x_to_score)
        if kind == "autodiff":

            def log_density(x):
                z = x / scales
                return -0.5 * jnp.sum(z**2) - 0.1 * jnp.sum(z[1:] * z[:-1])

            target = sw.Target(log_density)
    x = np.random.default_rng(0).normal(size=(40, 5))
    if kind == "autodiff":
        x *= np.asarray(scales)
    found = sw.graphs.markov_graph(x, target)
    assert (found == (np.eye(5, k=1) + np.eye(5, k=-1) > 0)).all()


def test_an_edge_that_only_some_draws_show_is_an_edge() -> None:
    """Catches a Hessian that is looked at in one place: x_1^3 x_2^3 has none at 0."""
    target = sw.Target(lambda x: -jnp.sum(x**4) - 0.1 * x[0] ** 3 * x[1] ** 3)
    x = np.zeros((20, 3))
    x[10:] = np.random.default_rng(0).normal(size=(10, 3))
    expected = np.zeros((3, 3), bool)
    expected[0, 1] = expected[1, 0] = True
    assert (sw.graphs.markov_graph(x, target) == expected).all()


def test_couplings_are_partial_correlations_whatever_the_scale() -> None:
    """Catches a measure that depends on the units of the parameters."""
    target = chain_target(3)
    x = draws_of(target, 200)
    scale = np.array([1e-4, 1.0, 1e4])
    scaled = sw.Gaussian(np.zeros(3), target.covariance * np.outer(scale, scale))
    couplings = sw.graphs.couplings(x, target)
    np.testing.assert_allclose(couplings, sw.graphs.couplings(x * scale, scaled), atol=1e-6)
    assert couplings[0, 1] == pytest.approx(0.45, rel=1e-5)
    assert couplings[0, 2] < 1e-8


def test_blocks_are_a_partition_of_coupled_coordinates() -> None:
    """Catches blocks that overlap, leave one out, or grow without end."""
    precision = np.eye(6)
    for j, coupling in enumerate((0.5, 0.4, 0.3)):  # the strongest first: no ties
        precision[j, j + 1] = precision[j + 1, j] = -coupling
    target = sw.Gaussian(np.zeros(6), np.linalg.inv(precision))
    x = draws_of(target, 100)
    assert sw.graphs.coupled_blocks(x, target, strength=0.2) == [[0, 1, 2, 3], [4], [5]]
    for largest in (1, 2, 3):
        blocks = sw.graphs.coupled_blocks(x, target, strength=0.2, largest=largest)
        assert sorted(j for block in blocks for j in block) == list(range(6))
        assert max(map(len, blocks)) == largest
    blocks = sw.graphs.coupled_blocks(x, target, strength=0.2)
    found = sw.kccsd(x, target, conditional=sw.conditionals.Linear(), blocks=blocks)
    assert found.per_coordinate is not None
    assert len(found.per_coordinate) == 3


@pytest.mark.filterwarnings("ignore::steinwise.SteinwiseWarning")
def test_a_density_in_float32_is_refused() -> None:
    """Catches a graph made of rounding errors."""

    def only_float32(x):
        start = jnp.zeros((), jnp.float32)
        return jax.lax.scan(lambda total, entry: (total - entry**2, None), start, x)[0]

    x = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.raises(sw.TargetError, match="evaluated in float32"):
        sw.graphs.markov_graph(x, sw.Target(only_float32))


@pytest.mark.parametrize(
    "options", [{"strength": 0.0}, {"strength": 1.5}, {"largest": 0}, {"points": 0}]
)
def test_bad_options_are_refused(options: dict) -> None:
    with pytest.raises(sw.InputError, match=f"{next(iter(options))} is"):
        sw.graphs.coupled_blocks(draws_of(chain_target(3), 50), chain_target(3), **options)
    with pytest.raises(sw.InputError, match="tolerance is 0"):
        sw.graphs.markov_graph(draws_of(chain_target(3), 50), chain_target(3), tolerance=0)
