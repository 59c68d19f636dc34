"""Graphical KSD and the graphs behind it: the formula written out, graphs found, what it misses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import steinwise as sw
from steinwise.api.graphs import as_graph
from steinwise.methods import KSD, GraphicalKSD, SlicedKSD

NAMES = ("mu", "tau", "theta")
CHAIN = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)


def chain_target(d: int) -> sw.Gaussian:
    """Each coordinate depends on the one before."""
    precision = 2 * np.eye(d) - 0.9 * (np.eye(d, k=1) + np.eye(d, k=-1))
    return sw.Gaussian(np.zeros(d), np.linalg.inv(precision))


def draws_of(target: sw.Gaussian, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([6, seed])
    return rng.multivariate_normal(target.mean, target.covariance, n)


def blanket_sum(x: np.ndarray, b: np.ndarray, j: int, blanket: list[int], width: float) -> float:
    """The mean of h_j over pairs of different draws with an RBF, written out."""
    away = x[:, None, blanket] - x[None, :, blanket]
    k = np.exp(-(away**2).sum(axis=-1) / (2 * width**2))
    step = (x[:, None, j] - x[None, :, j]) / width**2
    h = b[:, None, j] * b[None, :, j] * k + (b[:, None, j] - b[None, :, j]) * step * k
    h += (1 / width**2 - step**2) * k
    np.fill_diagonal(h, 0.0)
    return h.sum() / (len(x) * (len(x) - 1))


# -- graphical KSD -------------------------------------------------------------------------------


def test_values_are_the_formula_on_each_blanket() -> None:
    """Catches a blanket without its own coordinate, and the derivative of a neighbour."""
    target = chain_target(4)
    x = draws_of(target, 50) + 0.3
    found = sw.check(x, target, method=GraphicalKSD(kernel=sw.kernels.RBF(1.3)))
    blankets = [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3]]
    expected = [blanket_sum(x, target.score(x), j, c, 1.3) for j, c in enumerate(blankets)]
    assert [c.value for c in found.coordinates] == pytest.approx(expected, rel=1e-8)
    assert found.statistic == pytest.approx(sum(expected), rel=1e-8)
    assert "blankets of 2 to 3 coordinates" in found.description


def test_with_all_edges_it_is_ksd_and_with_none_univariate_ksds() -> None:
    """Catches a graph that is ignored, at both of its ends."""
    target = chain_target(3)
    x, kernel = draws_of(target, 60), sw.kernels.IMQ(1.5)
    full, none = (
        sw.check(x, target, method=GraphicalKSD(graph, kernel))
        for graph in (np.ones((3, 3)), np.zeros((3, 3)))
    )
    assert full.statistic == pytest.approx(sw.check(x, target, method=KSD(kernel)).statistic)
    axes = sw.check(x, target, method=SlicedKSD(kernel=kernel))
    assert none.statistic == pytest.approx(axes.statistic)


def test_it_names_the_wrong_coordinate_and_sees_more_than_ksd() -> None:
    """Catches blankets that grow with d: the last of twenty coordinates is too wide."""
    target = chain_target(20)
    found = {"ksd": 0, "graphical": 0}
    for seed in range(6):
        x = draws_of(target, 300, seed)
        x[:, -1] *= 1.4
        for name in found:
            result = sw.check(x, target, method=name, n_bootstrap=199, seed=seed)
            found[name] += result.rejected
        worst = min(result.coordinates, key=lambda c: (c.adjusted_pvalue, -c.value))
        assert worst.name == "x[19]"
    assert found["graphical"] >= found["ksd"] + 2


def test_a_dependence_between_strangers_passes_unless_an_edge_asks_for_it() -> None:
    """Catches a docstring that promises too much: the blind spot is real, and so is its cure."""
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    x = draws_of(sw.Gaussian(np.zeros(2), [[1.0, 0.6], [0.6, 1.0]]), 300)
    assert not sw.check(x, target, method="graphical").rejected
    assert sw.check(x, target, method=GraphicalKSD([(0, 1)])).rejected


# -- graphs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["closed form", "autodiff", "host"])
def test_the_graph_is_found_from_any_target(kind: str) -> None:
    """Catches an edge by rounding, and one that is missed where the Hessian is 0 at some draws."""
    if kind == "closed form":
        target = chain_target(5)
    else:
        x_to_score = chain_target(5).score
        scales = jnp.asarray([1e-3, 1.0, 1e3, 1.0, 1.0])
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
    one, other = sw.graphs.couplings(x, target), sw.graphs.couplings(x * scale, scaled)
    np.testing.assert_allclose(one, other, atol=1e-6)
    assert one[0, 1] == pytest.approx(0.45, rel=1e-5)
    assert one[0, 2] < 1e-8


def test_blocks_are_a_partition_of_coupled_coordinates() -> None:
    """Catches blocks that overlap, leave one out, or grow without end."""
    covariance = np.eye(6)
    covariance[:4, :4] = 0.05 * np.eye(4) + 0.95
    target = sw.Gaussian(np.zeros(6), covariance)
    x = draws_of(target, 100)
    assert sw.graphs.coupled_blocks(x, target, strength=0.2) == [[0, 1, 2, 3], [4], [5]]
    for largest in (1, 2, 3):
        blocks = sw.graphs.coupled_blocks(x, target, strength=0.2, largest=largest)
        assert sorted(j for block in blocks for j in block) == list(range(6))
        assert max(map(len, blocks)) == largest
    method = sw.methods.KCCSD(
        sw.conditionals.Linear(), blocks=sw.graphs.coupled_blocks(x, target, strength=0.2)
    )
    assert len(method.labels(sw.Samples.of(x))) == 3


@pytest.mark.parametrize(
    "graph",
    [
        CHAIN,
        CHAIN.astype(int),
        [(0, 1), (2, 1)],
        [("mu", "tau"), ("tau", 2)],
        {"tau": ["mu", "theta"]},
        {0: [1], 2: [1], "tau": []},
    ],
)
def test_a_graph_may_be_given_in_any_form(graph) -> None:
    assert (as_graph(graph, NAMES) == CHAIN).all()


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (np.ones((2, 3)), r"expected a symmetric array \(3, 3\)"),
        (np.triu(np.ones((3, 3))), "not symmetric"),
        (0.5 * np.ones((3, 3)), "other than 0 and 1"),
        ([(0, 3)], r"\(0, 3\) is not an edge"),
        ([("mu", "sigma")], "is not an edge"),
        ([(0, 1, 2)], "is not an edge"),
        ("mu", "graph is of type str"),
    ],
)
def test_a_graph_that_makes_no_sense_is_answered(graph, message: str) -> None:
    x = draws_of(chain_target(3), 60)
    with pytest.raises(sw.InputError, match=message):
        sw.check(x, chain_target(3), method=GraphicalKSD(graph), names=NAMES)


@pytest.mark.filterwarnings("ignore::steinwise.SteinwiseWarning")
def test_targets_whose_zeros_cannot_be_told_are_refused() -> None:
    """Catches a graph made of noise."""
    x = np.random.default_rng(0).normal(size=(50, 3))
    noise = np.random.default_rng(1)
    noisy = sw.Target.from_score(lambda x: -x + 1e-3 * noise.normal(size=x.shape))
    with pytest.raises(sw.TargetError, match="Pass graph= yourself"):
        sw.check(x, noisy, method="graphical")

    def only_float32(x):
        start = jnp.zeros((), jnp.float32)
        return jax.lax.scan(lambda total, one: (total - one**2, None), start, x)[0]

    with pytest.raises(sw.TargetError, match="evaluated in float32"):
        sw.graphs.markov_graph(x, sw.Target(only_float32))


@pytest.mark.parametrize(
    "options", [{"strength": 0.0}, {"strength": 1.5}, {"largest": 0}, {"points": 0}]
)
def test_bad_options_of_blocks_are_answered(options: dict) -> None:
    with pytest.raises(sw.InputError, match=f"{next(iter(options))} is"):
        sw.graphs.coupled_blocks(draws_of(chain_target(3), 50), chain_target(3), **options)
    with pytest.raises(sw.InputError, match="tolerance is 0"):
        GraphicalKSD(tolerance=0)
    with pytest.raises(sw.InputError, match="vector of parameters"):
        GraphicalKSD(kernel=sw.kernels.RBF(np.ones(3)))
