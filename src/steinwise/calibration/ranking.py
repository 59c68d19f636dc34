"""A ranking by discrepancies, with the error of every difference.

Which one is best is decided by the same draws as how much worse the others are. So no verdict rests
on the best as it turned out: all pairs are compared at once, with a bound on the largest |t| of
them, and something is worse than the best if it is worse than any other.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.random import stream
from steinwise.calibration.batches import Batches
from steinwise.calibration.jackknife import jackknife_error
from steinwise.results.comparison import Difference, Ranked

# Simulations beyond the level's quantile, which give it to 3 %. Where that takes more than
# MOST_SIMULATIONS in all, Bonferroni's bound is used instead.
SIMULATIONS, MOST_SIMULATIONS = 1000, 200_000
ROUNDING = 1e-6  # of a value's error: two whose difference varies less are the same

Replicates = Float[np.ndarray, " batch"]


class Ranking(NamedTuple):
    """The names from best to worst, the critical value, and the differences of all pairs."""

    ranked: tuple[Ranked, ...]
    critical: float | None
    differences: dict[tuple[str, str], Difference]


def rank(
    values: dict[str, float],
    without: dict[str, Replicates | None],
    cuts: dict[str, Batches],
    alpha: float,
    seed: object,
) -> Ranking:
    """Everything by its value, each judged against the best.

    `without` holds the values without each batch in turn, None where there are too few.
    """
    order = sorted(values, key=values.__getitem__)
    best = order[0]
    critical = critical_value(without, cuts, alpha, seed)
    errors = {n: None if w is None else jackknife_error(w) for n, w in without.items()}
    differences = {
        (name, other): _difference(name, other, values, without, cuts)
        for name in order
        for other in order
    }

    def worse(name: str, other: str) -> bool:
        apart = differences[name, other]
        if critical is None or apart.standard_error is None:
            return False
        least = ROUNDING * max(errors[name] or 0.0, errors[other] or 0.0)
        return apart.standard_error > least and apart.value > critical * apart.standard_error

    ranked = []
    for name in order:
        apart = differences[name, best]
        if name == best:
            standing = "best"
        elif any(worse(name, other) for other in order):
            standing = "worse"
        else:
            standing = "too few draws" if apart.standard_error is None else "indistinguishable"
        ranked.append(
            Ranked(
                name=name,
                value=values[name],
                standard_error=errors[name],
                difference=apart.value,
                difference_error=apart.standard_error,
                standing=standing,
            )
        )
    return Ranking(tuple(ranked), critical, differences)


def critical_value(
    without: Mapping[str, Replicates | None],
    cuts: Mapping[str, Batches],
    alpha: float,
    seed: object,
) -> float | None:
    """What the largest |t| over all pairs exceeds with probability alpha where all are equal.

    The differences are jointly normal, with covariances from the batches, and their errors have as
    many degrees of freedom as there are batches, less one. So this is a quantile of a multivariate
    t distribution, by simulation; never more than what Bonferroni's inequality allows.
    """
    from scipy import stats

    known = {name: replicates for name, replicates in without.items() if replicates is not None}
    if len(known) < 2:
        return None
    freedom = min(cuts[name].count for name in known) - 1
    pairs = len(known) * (len(known) - 1) / 2
    bonferroni = float(stats.t.isf(alpha / (2 * pairs), freedom))
    count = int(np.ceil(SIMULATIONS / alpha))
    if count > MOST_SIMULATIONS:
        return bonferroni
    covariance = _covariance(known, cuts)
    own = np.diagonal(covariance)
    spread = np.sqrt(np.maximum(own[:, None] + own - 2 * covariance, 0.0))
    differs = spread > ROUNDING * np.sqrt(np.maximum(own[:, None], own))
    scale, vectors = np.linalg.eigh(covariance)
    rng = stream(seed, "largest t")
    normal = rng.normal(size=(count, len(own))) * np.sqrt(np.maximum(scale, 0.0)) @ vectors.T
    largest = np.zeros(count)
    for a in range(len(own)):  # all pairs at once would take as much memory as there are pairs
        unit = np.where(differs[a], spread[a], np.inf)
        largest = np.maximum(largest, (np.abs(normal - normal[:, [a]]) / unit).max(axis=1))
    largest /= np.sqrt(rng.chisquare(freedom, size=count) / freedom)
    return min(float(np.quantile(largest, 1 - alpha)), bonferroni)


def _covariance(
    known: Mapping[str, Replicates], cuts: Mapping[str, Batches]
) -> Float[np.ndarray, "k k"]:
    """Of the values, by the jackknife; 0 between those that do not share their batches."""
    centred = {name: (w - w.mean()) * np.sqrt((len(w) - 1) / len(w)) for name, w in known.items()}
    return np.array(
        [
            [u @ v if _paired(a, b, cuts) else 0.0 for b, v in centred.items()]
            for a, u in centred.items()
        ]
    )


def _paired(name: str, other: str, cuts: Mapping[str, Batches]) -> bool:
    return np.array_equal(cuts[name].bounds, cuts[other].bounds)


def _difference(
    name: str,
    other: str,
    values: Mapping[str, float],
    without: Mapping[str, Replicates | None],
    cuts: Mapping[str, Batches],
) -> Difference:
    value = values[name] - values[other]
    one, two = without[name], without[other]
    paired = _paired(name, other, cuts)
    if name == other:
        return Difference(0.0, 0.0, True)
    if one is None or two is None:
        return Difference(value, None, paired)
    if paired:
        return Difference(value, jackknife_error(one - two), True)
    return Difference(value, float(np.hypot(jackknife_error(one), jackknife_error(two))), False)
