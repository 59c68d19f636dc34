"""Every verb with scores at the draws only, and with noisy ones."""

import warnings

import numpy as np
import pytest

import steinwise as sw

rng = np.random.default_rng(4)
TARGET = sw.Gaussian(np.zeros(2), np.eye(2))
CHAINS = rng.normal(size=(2, 150, 2))
KNOWN = sw.Target.at_draws(-CHAINS)
NOISY = sw.Target.from_score(lambda x: -x + rng.normal(size=x.shape), noisy=True)


@pytest.mark.parametrize("value", [sw.ksd, sw.fssd, sw.rfsd, sw.sksd])
def test_discrepancies(value) -> None:
    assert value(CHAINS, KNOWN).value == value(CHAINS, TARGET).value
    with pytest.raises(sw.InputError, match="needs exact scores"):
        value(CHAINS, NOISY)


def test_thin() -> None:
    known = sw.thin(CHAINS, KNOWN, 10, regularised=False)
    expected = sw.thin(CHAINS, TARGET, 10, regularised=False)
    np.testing.assert_array_equal(known.indices, expected.indices)
    with pytest.raises(sw.InputError, match=r"sw.thin follows the density .*regularised=False"):
        sw.thin(CHAINS, KNOWN, 10)


@pytest.mark.parametrize(
    "call",
    [
        lambda target: sw.kccsd(CHAINS, target),
        lambda target: sw.points(CHAINS, target, 5),
        lambda target: sw.graphs.markov_graph(CHAINS, target),
        lambda target: sw.check(CHAINS, target),
        lambda target: sw.assert_fits(CHAINS, target),
    ],
)
def test_what_evaluates_elsewhere_says_so(call) -> None:
    with pytest.raises(sw.InputError, match=r"at the draws only .*sw.check takes method='"):
        call(KNOWN)
    with pytest.raises(sw.InputError, match="noisy"):
        call(NOISY)


def test_compare() -> None:
    sets = {"right": CHAINS, "wide": 1.3 * CHAINS}
    known = {name: sw.Target.at_draws(-x) for name, x in sets.items()}
    expected = sw.compare(sets, TARGET, method="ksd").ranking
    found = sw.compare(sets, known, method="ksd").ranking
    assert [r.value for r in found] == [r.value for r in expected]
    checked = sw.compare(sets, known, method="scores")
    assert checked.ranking == sw.compare(sets, TARGET, method="scores").ranking
    with pytest.raises(sw.InputError, match=r"right: .*at the draws only .*'scores'"):
        sw.compare(sets, known)
    with pytest.raises(sw.InputError, match="a dict of such targets"):
        sw.compare(sets, KNOWN)
    with pytest.raises(sw.InputError, match=r"names \['right'\].*sets are \['right', 'wide'\]"):
        sw.compare(sets, {"right": KNOWN})
    short = sw.Target.at_draws(-CHAINS[:, 1:])
    with pytest.raises(sw.InputError, match="wide: the scores have shape"):
        sw.compare(sets, {"right": KNOWN, "wide": short}, method="scores")


def test_compare_models() -> None:
    """Each model has its own scores at the same draws."""
    wide = sw.Gaussian(np.zeros(2), 2 * np.eye(2))
    expected = sw.compare_models(CHAINS, {"normal": TARGET, "wide": wide})
    known = {"normal": KNOWN, "wide": sw.Target.at_draws(-CHAINS / 2)}
    found = sw.compare_models(CHAINS, known)
    values = [[r.value for r in one.ranking] for one in (found, expected)]
    np.testing.assert_allclose(*values, rtol=1e-12)
    with pytest.raises(sw.InputError, match="normal: the method 'kccsd' evaluates the score"):
        sw.compare_models(CHAINS, known, method="kccsd")


@pytest.mark.parametrize("method", ["ksd", "kccsd"])
def test_models_with_scores_that_one_of_them_knows(method: str) -> None:
    """Catches the scores of one model being used for all."""
    wide = sw.Gaussian(np.zeros(2), 2 * np.eye(2))
    models = {"normal": TARGET, "wide": wide}
    samples = sw.Samples.of(CHAINS).with_scores(-CHAINS, TARGET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sw.SteinwiseWarning)
        found = sw.compare_models(samples, models, method=method)
        expected = sw.compare_models(CHAINS, models, method=method)
    assert [r.value for r in found.ranking] == [r.value for r in expected.ranking]


def test_known_scores_cost_no_evaluations() -> None:
    """Catches draws being thinned to a number of evaluations that nobody makes."""
    result = sw.check(CHAINS, KNOWN, method="ksd", evaluations=200, n_bootstrap=99)
    assert result.draws.n_draws == 150
    with pytest.warns(sw.SteinwiseWarning, match="one in 2 draws"):
        thinned = sw.check(CHAINS, TARGET, method="ksd", evaluations=200, n_bootstrap=99)
    assert thinned.draws.n_draws == 75


def test_known_scores_save_their_evaluation() -> None:
    calls = []

    def score(x: np.ndarray) -> np.ndarray:
        calls.append(len(x))
        return -x

    target = sw.Target.from_score(score)
    samples = sw.Samples.of(CHAINS).with_scores(-CHAINS, target)
    assert not sw.check(samples, target, method="ksd", n_bootstrap=99).rejected
    assert calls == []
    sw.check(CHAINS, target, method="ksd", n_bootstrap=99)
    assert sum(calls) == 300
