"""sw.compare and sw.compare_models: intervals that cover the truth, and claims at the level.

Bounds are exact binomial ones, that a right procedure leaves about once in a thousand times.
"""

import numpy as np
import pytest

import steinwise as sw
from benchmarks import simulate

D, BANDWIDTH = 2, 1.5
TARGET = sw.Gaussian(np.zeros(D), np.eye(D))
FIXED = sw.methods.KSD(sw.kernels.RBF(BANDWIDTH))


def truth(*shift: float) -> float:
    """KSD^2 of N(shift, I) and N(0, I): the scores differ by the shift, |shift|^2 E k(x, y)."""
    factor = (BANDWIDTH**2 / (BANDWIDTH**2 + 2)) ** (len(shift) / 2)
    return float(np.sum(np.square(shift)) * factor)


def normal(seed: int, n: int = 200, d: int = D) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def chains(seed: int, rho: float, count: int) -> np.ndarray:
    return simulate.autoregressive(np.random.default_rng(seed), np.full(D, rho), count, 500)


def shifted(*mean: float) -> sw.Gaussian:
    return sw.Gaussian(mean, np.eye(len(mean)))


# -- sets of draws ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [False, True], ids=["independent runs", "shared numbers"])
def test_intervals_cover_the_truth(shared: bool) -> None:
    """Catches errors that take the sets as independent where they are not, or the other way round.

    200 repetitions of a 95 % interval: fewer than 180 or more than 199 hits have probability
    below 1e-3 each.
    """
    expected = truth(0.5, 0.5) - truth(0.3, 0.3)
    hits, errors = 0, []
    for seed in range(200):
        near = normal(seed)
        far = near if shared else normal(10_000 + seed)
        sets = {"near": near + 0.3, "far": far + 0.5}
        apart = sw.compare(sets, TARGET, method=FIXED, independent=True).difference("far", "near")
        assert apart.paired
        assert apart.standard_error is not None
        hits += abs(apart.value - expected) < 1.96 * apart.standard_error
        errors.append(apart.standard_error)
    assert 180 <= hits <= 199
    assert np.mean(errors) < (0.03 if shared else 0.08)


def test_intervals_cover_the_truth_for_chains() -> None:
    """Catches batches too short for the autocorrelation: the errors are too small by far."""
    expected = truth(0.6, 0.6) - truth(0.3, 0.3)
    hits = 0
    for seed in range(30):
        sets = {"near": chains(seed, 0.7, 2) + 0.3, "far": chains(1000 + seed, 0.7, 2) + 0.6}
        apart = sw.compare(sets, TARGET, method=FIXED).difference("far", "near")
        assert apart.standard_error is not None
        hits += abs(apart.value - expected) < 1.96 * apart.standard_error
    assert hits >= 24  # of 30; fewer have probability 1e-3 at 0.95


def test_right_draws_are_rarely_called_different_by_ksd() -> None:
    """Catches an error that is too small near the null, where the statistic is degenerate."""
    claims = 0
    for seed in range(100):
        sets = {"one": normal(seed), "two": normal(5000 + seed)}
        found = sw.compare(sets, TARGET, method="ksd", independent=True)
        claims += found.ranking[1].standing == "worse"
    assert claims <= 12  # of 100 at level 0.05: more have probability 2e-3


def test_right_draws_are_not_called_different_by_checks() -> None:
    """Catches few draws that look worse than many, as the largest of their errors is larger.

    A claim needs an interval beyond another, where a miss of either, at level 0.05 for both, does
    not suffice: 500 repetitions had none with equal numbers of draws, 300 had 1 with these.
    """
    claims, misfits = 0, 0
    for seed in range(60):
        sets = {"few": normal(seed, 60), "many": normal(5000 + seed, 1000)}
        found = sw.compare(sets, TARGET, method="scores", independent=True)
        claims += len(found.candidates) < 2
        misfits += sum(one.evidence.rejected for one in found.ranking)
    assert claims <= 3  # of 60: at 0.05 more have probability 0.35, at the rate above 1e-4
    assert misfits <= 15  # of 120 at level 0.05: more have probability 1e-3


# -- models ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.3, 0.02])
def test_t_is_standard_normal_however_near_the_models_are(shift: float) -> None:
    """Near the null each value is degenerate, their difference is not: it must stay normal.

    An error made from those of the two values would be larger by far. 200 repetitions: a standard
    deviation of t off by more than 0.17, or a mean by more than 0.24, has probability 1e-3.
    """
    models = {"right": shifted(0.0, 0.0), "near": shifted(shift, 0.0)}
    t = []
    for seed in range(200):
        ranking = sw.compare_models(normal(seed), models, method=FIXED, independent=True)
        apart = ranking.difference("near", "right")
        assert apart.standard_error is not None
        t.append((apart.value - truth(shift, 0.0)) / apart.standard_error)
    assert abs(np.mean(t)) < 0.24
    assert 0.83 < np.std(t) < 1.17


@pytest.mark.parametrize("count", [2, 5])
def test_equally_wrong_models_are_rarely_called_different(count: int) -> None:
    """Catches the best taken as if it was not chosen by the data: 5 models give claims in 0.3."""
    models = {f"model {k}": shifted(*shift) for k, shift in enumerate(0.5 * np.eye(count))}
    claims = 0
    for seed in range(150):
        draws = normal(seed, d=count)
        ranking = sw.compare_models(draws, models, method=FIXED, independent=True)
        claims += len(ranking.candidates) < count
    assert claims <= 17  # of 150 at level 0.05: more have probability 1e-3


@pytest.mark.filterwarnings("ignore:.*start of a chain:steinwise.SteinwiseWarning")
def test_equally_wrong_models_and_chains() -> None:
    """Catches batches too short for the autocorrelation: the errors are too small by far."""
    models = {"left": shifted(-0.5, 0.0), "right": shifted(0.5, 0.0)}
    claims = sum(
        len(sw.compare_models(chains(seed, 0.8, 4), models, method=FIXED).candidates) < 2
        for seed in range(60)
    )
    assert claims <= 9  # of 60: more have probability 2e-3


@pytest.mark.filterwarnings("ignore:.*no better than:steinwise.SteinwiseWarning")  # by chance
@pytest.mark.parametrize("conditional", [sw.conditionals.Linear(), sw.conditionals.KDE()])
def test_a_learned_stand_in_does_not_turn_the_order_round(
    conditional: sw.conditionals.AbstractConditional,
) -> None:
    """Catches plain means, by which a wrong model beat the right one in most runs."""
    covariance = 0.5 * np.eye(3) + 0.5
    models = {
        name: sw.Gaussian(np.zeros(3), factor * covariance)
        for name, factor in {"right": 1.0, "wide": 1.3, "narrow": 1 / 1.3}.items()
    }
    method = sw.methods.KCCSD(conditional, variant="unit-ball")
    wrong = 0
    for seed in range(20):
        x = np.random.default_rng(seed).multivariate_normal(np.zeros(3), covariance, size=400)
        ranking = sw.compare_models(x, models, method=method, independent=True)
        wrong += "right" not in ranking.candidates
    assert wrong <= 4  # of 20 at level 0.05: more have probability 3e-3
