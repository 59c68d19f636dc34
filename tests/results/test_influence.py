"""The draws that make up a misfit, by chain and number, and the pictures of where it lies."""

import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.methods.statistics import Gram
from steinwise.methods.statistics.gram import pair_parts
from steinwise.results.influence import dominating_draws
from steinwise.results.witness import surplus

D = 3
TARGET = sw.Gaussian(np.zeros(D), np.eye(D))
NO_BETTER = pytest.mark.filterwarnings("ignore:.*no better than:steinwise.SteinwiseWarning")


def _normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def test_outliers_of_the_default_check_are_named():
    x = _normal(0, 400, D)
    x[17, 1], x[200, 2] = 40.0, -35.0
    result = sw.check(x, TARGET)
    first, second = result.influential(2)
    assert {(one.draw, one.coordinate) for one in (first, second)} == {(17, "x[1]"), (200, "x[2]")}
    assert result.influential(1, "x[2]")[0].draw == 200
    assert len(dominating_draws(result)) == 2
    text = " ".join(str(result).split())
    assert "2 draws lie far out" in text
    assert "draw 17 of chain 0 in x[1]" in text
    assert "draw 17 of chain 0 in x[1]" in result.to_html()


def test_chains_are_named_too():
    x = _normal(1, 4, 300, D)
    x[2, 41, 0] = 30.0
    one = sw.check(x, TARGET).influential(1)[0]
    assert (one.chain, one.draw, one.coordinate) == (2, 41, "x[0]")


def test_a_misfit_of_all_draws_names_none():
    result = sw.check(1.5 * _normal(2, 400, D), TARGET)
    assert result.rejected
    assert dominating_draws(result) == ()
    assert "Look there first" not in str(result)


@NO_BETTER
def test_numbers_are_those_of_the_draws_as_given():
    """Independent draws are shuffled before they are split: the row of H is not the draw."""
    x = _normal(3, 300, D)
    method = sw.methods.KCCSD(sw.conditionals.Linear(), sw.kernels.IMQ(1.0))
    result = sw.check(x, TARGET, method=method)
    h = result.findings.parts
    assert h is not None
    assert result.findings.places is not None
    for one in result.influential(5):
        row = int(np.flatnonzero((result.findings.x == x[one.draw]).all(axis=1))[0])
        assert h[row].sum() == pytest.approx(one.value)
        assert one.coordinate == f"x[{h[row].argmax()}]"
    values = [one.value for one in result.influential(300)]
    assert values == sorted(values, reverse=True)
    assert len(values) == 210  # those that were tested


def test_the_draws_that_make_up_a_statistic():
    """Twenty draws stand apart, where the stand-in has its atoms."""
    x = _normal(4, 300, D)
    x[:20] += 3.0

    def own_law(key, x, n_atoms):
        return np.random.default_rng(key).normal(3.0, 0.5, size=(*x.shape, n_atoms))

    method = sw.methods.KCCSD(sw.conditionals.Sampler(own_law))
    result = sw.check(x, TARGET, method=method, independent=True)
    top = {one.draw for one in result.influential(10)}
    assert len(top & set(range(20))) >= 9


def test_parts_of_pairs_average_to_the_statistic():
    x = _normal(5, 80, D)
    method = sw.methods.KSD(sw.kernels.RBF(1.0))
    samples = sw.Samples.of(x)
    gram = method.gram(samples, TARGET.score(x), RunOptions())
    parts = pair_parts(gram)
    assert parts.shape == (80, 1)
    value = sw.ksd(x, TARGET, kernel=sw.kernels.RBF(1.0)).value
    assert parts.mean() == pytest.approx(value)


def test_parts_of_many_draws_stand_for_all_pairs(monkeypatch):
    x = _normal(6, 300, D) + 0.5
    samples = sw.Samples.of(x)
    gram = sw.methods.KSD(sw.kernels.RBF(1.0)).gram(samples, TARGET.score(x), RunOptions())
    assert isinstance(gram, Gram)
    exact = pair_parts(gram)
    monkeypatch.setattr("steinwise.methods.statistics.gram.OTHERS", 150)
    assert np.corrcoef(pair_parts(gram)[:, 0], exact[:, 0])[0, 1] > 0.97


def test_ksd_names_draws_and_not_coordinates():
    x = _normal(7, 200, D)
    apart = set(range(0, 200, 20))
    x[::20] += 2.5
    result = sw.check(x, TARGET, method=sw.methods.KSD(sw.kernels.IMQ(1.0)))
    found = result.influential(5)
    assert {one.coordinate for one in found} == {""}
    assert len({one.draw for one in found} & apart) >= 4
    assert sw.ksd(x, TARGET, kernel=sw.kernels.IMQ(1.0)).influential(5) == found
    with pytest.raises(sw.InputError, match="there are none, for this method"):
        result.influential(5, "x[0]")


def test_what_is_refused():
    x = _normal(8, 100, D)
    fssd = sw.check(x, TARGET, method="fssd")
    with pytest.raises(sw.InputError, match="does not say what single draws add"):
        fssd.influential()
    with pytest.raises(sw.InputError, match="does not say where"):
        fssd.plot_witness("x[0]")
    result = sw.check(x, TARGET)
    with pytest.raises(sw.InputError, match="k is 0"):
        result.influential(0)
    with pytest.raises(sw.InputError, match="no coordinate 'y'"):
        result.influential(3, "y")
    with pytest.raises(sw.InputError, match="no coordinate 'y'"):
        result.plot_witness("x[0]", "y")
    with pytest.raises(sw.InputError, match="does not say what single draws add"):
        sw.fssd(x, TARGET).influential()


def test_the_surplus_is_the_ratio_of_the_laws():
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
    x = _normal(10, 1000, 2)
    x[:, 1] = np.abs(x[:, 1]) * np.sign(x[:, 0])
    result = sw.check(x, sw.Gaussian(np.zeros(2), np.eye(2)))
    figure = result.plot_witness("x[0]", "x[1]")
    colours = figure.axes[0].collections[0].get_array()
    assert colours.mean() > 0.3
    along = result.plot_witness("x[0]").axes[0]
    assert along.get_xlabel() == "x[0]"
    assert "surplus" in along.get_ylabel()


@NO_BETTER
@pytest.mark.parametrize("method", ["kccsd", "ksd"])
def test_witness_pictures_of_other_methods(method):
    result = sw.check(_normal(11, 200, D) + 0.5, TARGET, method=method)
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
