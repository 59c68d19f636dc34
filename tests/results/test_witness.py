"""Pictures of where among the draws a misfit lies."""

import numpy as np
import pytest

import steinwise as sw
from steinwise.results.witness import surplus


def test_the_surplus_is_the_ratio_of_the_densities():
    """u with density 1 + cos(pi u) / 2: the surplus at each draw, against the truth."""
    rng = np.random.default_rng(9)
    u = rng.uniform(size=40_000)
    u = u[rng.uniform(size=len(u)) < (1 + np.cos(np.pi * u) / 2) / 1.5]
    found = surplus(u, None, len(u))
    assert np.abs(found - np.cos(np.pi * u) / 2).max() < 0.12
    flat = rng.uniform(size=2000)
    assert np.abs(surplus(flat, rng.normal(size=2000), 2000)).mean() < 0.15


def test_the_witness_of_a_pair_is_where_the_draws_are():
    """Signs that agree: a surplus wherever there are draws, most of it far out."""
    x = np.random.default_rng(10).normal(size=(1000, 2))
    x[:, 1] = np.abs(x[:, 1]) * np.sign(x[:, 0])
    result = sw.check(x, sw.Gaussian(np.zeros(2), np.eye(2)))
    figure = result.plot_witness("x[0]", "x[1]")
    colours = figure.axes[0].collections[0].get_array()
    assert colours.mean() > 0.3
    along = result.plot_witness("x[0]").axes[0]
    assert along.get_xlabel() == "x[0]"
    assert "surplus" in along.get_ylabel()


@pytest.mark.filterwarnings("ignore:.*no better than:steinwise.SteinwiseWarning")
@pytest.mark.parametrize("method", ["kccsd", "ksd"])
def test_witness_pictures_of_other_methods(method):
    draws = np.random.default_rng(11).normal(size=(200, 3)) + 0.5
    result = sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)), method=method)
    for other in (None, "x[1]"):
        axes = result.plot_witness("x[0]", other).axes
        labels = [ax.get_ylabel() for ax in axes]
        assert "added to the statistic" in labels


def test_a_coordinate_inside_a_block_has_no_witness_of_its_own() -> None:
    draws = np.random.default_rng(0).normal(size=(300, 3))
    own = sw.conditionals.Sampler(lambda _, x, n: np.zeros((*x.shape, n)))
    method = sw.methods.KCCSD(own, blocks=[[0], [1, 2]])
    result = sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)), method=method, n_bootstrap=99)
    assert result.plot_witness("x[0]").axes
    with pytest.raises(sw.InputError, match=r"x\[1\] was not tested by itself"):
        result.plot_witness("x[1]")
