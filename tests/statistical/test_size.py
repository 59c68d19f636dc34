"""Rejection rates under the null, with the functions of `python -m benchmarks.size`.

Each rate must lie inside an exact binomial interval that a right test leaves once in a thousand
times; the seeds are fixed. The figures at 500 repetitions are the benchmark's.
"""

import numpy as np
import pytest

import steinwise as sw
from benchmarks import simulate, statistic_kinds, targets
from benchmarks.cases import generator
from benchmarks.rates import interval, passes, summarise
from benchmarks.size_cases import CASES, independent_draws, repeat, verdict

CHAIN_CASES = ["ar-0", "ar-0.5", "ar-0.9", "ar-0.95", "metropolis-gaussian", "metropolis-banana"]


def rate(draw, problem: statistic_kinds.Problem, statistic: str, repetitions: int) -> float:
    """The share of rejections, over draws made by `draw(rng)`."""
    method = problem.methods[statistic]
    outcomes = [
        verdict(draw(generator(statistic, seed)), problem, method, seed, n_bootstrap=199)
        for seed in range(repetitions)
    ]
    return float(np.mean([outcome["hit"] for outcome in outcomes]))


@pytest.mark.parametrize(
    ("statistic", "repetitions"),
    [
        ("mean (KCC-SD)", 200),
        ("mean (fixed functions)", 200),
        ("features", 100),
        ("Gram (KSD)", 60),
    ],
)
def test_independent_draws(statistic: str, repetitions: int) -> None:
    """Catches signs per pair instead of per draw, and pairs of a draw with itself kept in."""
    problem = statistic_kinds.gaussian_problem(targets.correlated(4))
    covariance = targets.correlated(4).covariance

    def draw(rng: np.random.Generator) -> sw.Samples:
        return independent_draws(rng, covariance, 50)

    low, high = interval(0.05, repetitions)
    assert low <= rate(draw, problem, statistic, repetitions) <= high


@pytest.mark.parametrize("statistic", ["mean (fixed functions)", "features"])
def test_chains(statistic: str) -> None:
    """Catches batches of one draw (rejects 0.7) and neighbouring batches kept in (0.18)."""
    problem = statistic_kinds.gaussian_problem(targets.standard(3))

    def draw(rng: np.random.Generator) -> np.ndarray:
        return simulate.autoregressive(rng, np.full(3, 0.8), 4, 800)

    low, high = interval(0.05, 100)
    assert low <= rate(draw, problem, statistic, 100) <= high


def test_short_batches_reject_too_often() -> None:
    """Shows that the test above could fail: taken as independent, the same chains are rejected."""
    problem = statistic_kinds.gaussian_problem(targets.standard(3))

    def draw(rng: np.random.Generator) -> sw.Samples:
        chains = simulate.autoregressive(rng, np.full(3, 0.8), 4, 60)  # one draw in a batch
        return sw.Samples.of(chains, independent=True)

    assert rate(draw, problem, "features", 20) >= 0.3


def test_right_coordinates_are_not_accused() -> None:
    """Catches step-down without control: one wrong coordinate must not drag in right ones."""
    outcomes = [repeat("step-down", seed) for seed in range(25)]
    assert sum(one["mean (KCC-SD): a right one"]["hit"] for one in outcomes) <= 6
    assert sum(one["mean (KCC-SD): the wrong one"]["hit"] for one in outcomes) >= 18


def test_the_interval_is_exact() -> None:
    """Catches a normal approximation: known figures, for 500 repetitions."""
    assert interval(0.05, 500) == (0.022, 0.084)
    low, high = interval(0.05, 20)
    assert (low, high) == (0.0, 0.25)


@pytest.mark.full
@pytest.mark.parametrize("name", CHAIN_CASES)
def test_a_hundred_repetitions_of_a_case(name: str) -> None:
    """Catches what only long chains show, in every kind of statistic."""
    case = CASES[name]
    rows = summarise(case, [repeat(name, seed) for seed in range(100)])
    for row, found in rows.items():
        # a random walk that happens to mix badly is refused, once in 500 runs on the banana
        assert found["means"]["refused"] <= 0.02, row
        assert passes(case.rule(row), found["rate"], 100), (row, found["rate"])
        assert found["means"]["noted"] <= 0.05, row


@pytest.mark.full
def test_warm_up_is_noted_and_settled_chains_are_not() -> None:
    """Catches notes that miss a bad start, or that cry wolf."""
    rows = summarise(CASES["warm-up"], [repeat("warm-up", seed) for seed in range(50)])
    assert rows["warm-up left in: noted"]["rate"] == 1.0
    assert rows["settled: noted"]["rate"] <= 0.04
