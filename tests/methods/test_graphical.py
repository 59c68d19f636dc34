"""Graphical KSD: the formula written out, and what it misses."""

import numpy as np
import pytest

import steinwise as sw
from steinwise.methods.graphical import GraphicalKSD
from steinwise.methods.ksd import KSD
from steinwise.methods.sksd import SlicedKSD


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


def test_values_are_the_formula_on_each_blanket() -> None:
    """Catches a blanket without its own coordinate, and the derivative of a neighbour."""
    target = chain_target(4)
    x = draws_of(target, 50) + 0.3
    found = sw.check(x, target, method=GraphicalKSD(kernel=sw.kernels.RBF(1.3)))
    blankets = [[0, 1], [0, 1, 2], [1, 2, 3], [2, 3]]
    expected = [blanket_sum(x, target.score(x), j, c, 1.3) for j, c in enumerate(blankets)]
    assert [c.value for c in found.findings.coordinates] == pytest.approx(expected, rel=1e-8)
    assert found.discrepancy == pytest.approx(sum(expected), rel=1e-8)
    assert "blankets of 2 to 3 coordinates" in found.description


def test_with_all_edges_it_is_ksd_and_with_none_univariate_ksds() -> None:
    """Catches a graph that is ignored, at both of its ends."""
    target = chain_target(3)
    x, kernel = draws_of(target, 60), sw.kernels.IMQ(1.5)
    full, none = (
        sw.check(x, target, method=GraphicalKSD(graph, kernel))
        for graph in (np.ones((3, 3)), np.zeros((3, 3)))
    )
    assert full.discrepancy == pytest.approx(sw.check(x, target, method=KSD(kernel)).discrepancy)
    axes = sw.check(x, target, method=SlicedKSD(kernel=kernel))
    assert none.discrepancy == pytest.approx(axes.discrepancy)


def test_it_names_the_wrong_coordinate_and_sees_more_than_ksd() -> None:
    """Catches blankets that grow with d: the last of twenty coordinates is too wide."""
    target = chain_target(20)
    found = {"ksd": 0, "graphical": 0}
    for seed in range(6):
        x = draws_of(target, 300, seed)
        x[:, -1] *= 1.4
        results = {
            name: sw.check(x, target, method=name, n_bootstrap=199, seed=seed) for name in found
        }
        for name, result in results.items():
            found[name] += result.rejected
        assert results["graphical"].coordinates[0].name == "x[19]"
    assert found["graphical"] >= found["ksd"] + 2


def test_a_dependence_between_strangers_passes_unless_an_edge_asks_for_it() -> None:
    """Catches a docstring that promises too much: the blind spot is real, and so is its cure."""
    target = sw.Gaussian(np.zeros(2), np.eye(2))
    x = draws_of(sw.Gaussian(np.zeros(2), [[1.0, 0.6], [0.6, 1.0]]), 300)
    assert not sw.check(x, target, method="graphical").rejected
    assert sw.check(x, target, method=GraphicalKSD([(0, 1)])).rejected


def test_a_graph_that_makes_no_sense_is_refused() -> None:
    """Catches an edge to an unknown name that is dropped in silence."""
    x = draws_of(chain_target(3), 60)
    with pytest.raises(sw.InputError, match=r"'sigma'\) is not an edge"):
        sw.check(x, chain_target(3), method=GraphicalKSD([("mu", "sigma")]))


def test_a_target_whose_zeros_cannot_be_told_is_refused() -> None:
    """Catches a graph made of noise."""
    x = np.random.default_rng(0).normal(size=(50, 3))
    noise = np.random.default_rng(1)
    noisy = sw.Target.from_score(lambda x: -x + 1e-3 * noise.normal(size=x.shape))
    with pytest.raises(sw.TargetError, match="Pass graph= yourself"):
        sw.check(x, noisy, method="graphical")


def test_bad_options_are_refused() -> None:
    with pytest.raises(sw.InputError, match="tolerance is 0"):
        GraphicalKSD(tolerance=0)
    with pytest.raises(sw.InputError, match="vector of parameters"):
        GraphicalKSD(kernel=sw.kernels.RBF(np.ones(3)))
