"""Exact p-values from ranks, and the rule that looks again before it raises an alarm."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import stats

STAGES = 7  # at most, as in Gandy and Scott (2020), who grow the number of chains fourfold
GROWTH = 4
COARSE = 0.01  # of the interquartile range: differences that are larger count, rounded or not


def grouped(values: Float[np.ndarray, "n k"], rounding: float) -> Float[np.ndarray, "n k"]:
    """Ranks within each row that are equal where rounding alone may tell two values apart.

    Neighbours are equal if they differ by less than `rounding` times the larger one, and by less
    than `COARSE` of the spread of all values. The rule treats all values of a row alike, so they
    stay exchangeable, and p-values exact.
    """
    finite = values[np.isfinite(values)]
    spread = np.subtract(*np.quantile(finite, [0.75, 0.25])) if finite.size else 0.0
    order = values.argsort(axis=1)
    ascending = np.take_along_axis(values, order, axis=1)
    low, high = ascending[:, :-1], ascending[:, 1:]
    with np.errstate(invalid="ignore"):  # of infinite values, which are equal to themselves
        allowed = np.fmin(rounding * np.maximum(np.abs(low), np.abs(high)), COARSE * spread)
        steps_up = (low != high) & (high - low > allowed)
    groups = np.zeros(values.shape)
    numbers = np.concatenate([np.zeros((len(values), 1)), steps_up.cumsum(axis=1)], axis=1)
    np.put_along_axis(groups, order, numbers, axis=1)
    return groups


def uniform_ranks(
    one: Float[np.ndarray, " n"], others: Float[np.ndarray, "n k"], rng: np.random.Generator
) -> Float[np.ndarray, " n"]:
    """Where `one` stands among `others`, row by row, as a number between 0 and 1.

    If all k + 1 numbers of a row are exchangeable, or the place of `one` among them was chosen at
    random, its rank is uniform on 0 to k. Ties are broken at random, and a uniform number fills the
    gap to the next rank: the result is uniform on (0, 1), exactly.
    """
    below = (others < one[:, None]).sum(axis=1)
    equal = (others == one[:, None]).sum(axis=1)
    rank = below + rng.integers(0, equal + 1)
    return (rank + rng.uniform(size=len(one))) / (others.shape[1] + 1)


def uniformity(ranks: Float[np.ndarray, "n f"]) -> Float[np.ndarray, " f"]:
    """The p-value of each column by Kolmogorov and Smirnov's test, from its exact distribution."""
    return np.array([stats.kstest(column, "uniform", method="exact").pvalue for column in ranks.T])


class Verdict(NamedTuple):
    """How a sequential test ended."""

    alarm: bool
    stages: int
    pvalues: Float[np.ndarray, " f"]  # of the last stage, adjusted for their number
    threshold: float  # that they were compared with


def look_again(
    pvalues_of_stage: Callable[[int], Float[np.ndarray, " f"]], false_alarm: float
) -> Verdict:
    """Gandy and Scott's sequential test: more chains only where the first ones look suspicious.

    Let b = false_alarm / 7 and g = b^(1/7). Stage i has the threshold b / g^i. A smallest p-value
    (times their number) at or below it is an alarm, and one above it by more than g ends the test
    without one; otherwise new chains decide. If R_i is the probability of an alarm from stage i on,
    R_i <= b / g^i + g R_{i+1}: the smallest p-value is at most threshold + g with at most that
    probability, and an alarm now counts no less than going on. Hence R_0 <= 7 b.
    """
    share = false_alarm / STAGES
    shrink = share ** (1 / STAGES)
    stage = 0
    while True:
        pvalues = pvalues_of_stage(stage)
        pvalues = np.minimum(1.0, pvalues * len(pvalues))
        threshold = share / shrink**stage
        stage += 1
        alarm = bool(pvalues.min() <= threshold)
        if alarm or pvalues.min() > threshold + shrink or stage == STAGES:
            return Verdict(alarm, stage, pvalues, threshold)
