"""The draws that make up a misfit, by chain and number."""

import re

import numpy as np
import pytest

import steinwise as sw
from steinwise._internal.run_options import RunOptions
from steinwise.methods.ksd import KSD, FittedKSD
from steinwise.methods.statistics import Gram

D = 3
TARGET = sw.Gaussian(np.zeros(D), np.eye(D))


def _normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def test_outliers_of_the_default_check_are_named():
    x = _normal(0, 400, D)
    x[17, 1], x[200, 2] = 40.0, -35.0
    result = sw.check(x, TARGET)
    first, second = result.influential(2)
    assert {(one.draw, one.coordinate) for one in (first, second)} == {(17, "x[1]"), (200, "x[2]")}
    assert result.influential(1, "x[2]")[0].draw == 200
    assert len(result.dominating) == 2
    text = " ".join(str(result).split())
    assert "2 draws lie far out" in text
    for shown in (text, result.to_html()):  # no chain, and no place to look at
        assert "draw 17 in x[1]" in shown
        assert "They may be errors, or the draws reach where the density does not." in shown


def test_chains_are_named_too():
    x = _normal(1, 4, 300, D)
    x[2, 41, 0] = 30.0
    result = sw.check(x, TARGET)
    one = result.influential(1)[0]
    assert (one.chain, one.draw, one.coordinate) == (2, 41, "x[0]")
    assert "draw 41 of chain 2 in x[0]. Look there first." in " ".join(str(result).split())


def test_the_table_says_what_its_numbers_are():
    """Catches "value", and a column of question marks."""
    x = _normal(0, 400, D)
    x[17, 1] = 8.0

    def columns(method: str) -> list[str]:
        found = sw.check(3 * x, TARGET, method=method, n_bootstrap=99).influential(3)
        titles, *rows = re.split(r"\n", str(found))
        assert len(rows) == 3
        return re.split(r"\s\s+", titles)

    number = "-log10 of its tail probability"
    assert columns("transported") == ["chain", "draw", "coordinate", number]
    assert columns("ksd") == ["chain", "draw", "added to the statistic", "share of all"]


def test_a_misfit_of_all_draws_names_none():
    result = sw.check(1.5 * _normal(2, 400, D), TARGET)
    assert result.rejected
    assert result.dominating == ()
    assert "Look there first" not in str(result)


@pytest.mark.filterwarnings("ignore:.*no better than:steinwise.SteinwiseWarning")
def test_numbers_are_those_of_the_draws_as_given():
    """Independent draws are shuffled before they are split: the row of H is not the draw."""
    x = _normal(3, 300, D)
    method = sw.methods.KCCSD(sw.conditionals.Linear(), sw.kernels.IMQ(1.0))
    result = sw.check(x, TARGET, method=method)
    h = result.findings.draw_contributions
    assert h is not None
    assert result.findings.draw_index is not None
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

    def stand_in(key, x, n_atoms):
        return np.random.default_rng(key).normal(3.0, 0.5, size=(*x.shape, n_atoms))

    method = sw.methods.KCCSD(sw.conditionals.Sampler(stand_in))
    result = sw.check(x, TARGET, method=method, independent=True)
    top = {one.draw for one in result.influential(10)}
    assert len(top & set(range(20))) >= 9


def gram(x: np.ndarray) -> Gram:
    fitted = FittedKSD(KSD(sw.kernels.RBF(1.0)), sw.Samples.of(x))
    return fitted.gram(TARGET.score(x), RunOptions())


def test_means_over_the_pairs_of_a_draw_average_to_the_statistic():
    x = _normal(5, 80, D)
    means = gram(x).means_over_pairs()
    assert means.shape == (80, 1)
    value = sw.ksd(x, TARGET, kernel=sw.kernels.RBF(1.0)).value
    assert means.mean() == pytest.approx(value)


def test_pairs_with_some_draws_tell_about_pairs_with_all(monkeypatch):
    x = _normal(6, 300, D) + 0.5
    pairs = gram(x)
    exact = pairs.means_over_pairs()
    monkeypatch.setattr("steinwise.methods.statistics.gram.OTHERS", 150)
    assert np.corrcoef(pairs.means_over_pairs()[:, 0], exact[:, 0])[0, 1] > 0.97


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
