"""Rates of hits: their binomial intervals, and whether they keep the rules of a case."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.cases import Case, Outcome, Rule

COVERAGE = 0.999


def interval(level: float, repetitions: int, coverage: float = COVERAGE) -> tuple[float, float]:
    """The range of rates that a test of exactly this level shows with probability `coverage`.

    >>> interval(0.05, 500)
    (0.022, 0.084)
    """
    from scipy.stats import binom

    tail = (1 - coverage) / 2
    low, high = binom.ppf(tail, repetitions, level), binom.isf(tail, repetitions, level)
    return float(low) / repetitions, float(high) / repetitions


def lower_bound(rate: float, repetitions: int, coverage: float = 0.95) -> float:
    """The exact one-sided lower confidence bound of Clopper and Pearson for a rate.

    >>> round(lower_bound(0.99, 100), 3)
    0.953
    """
    from scipy.stats import beta

    hits = round(rate * repetitions)
    return float(beta.ppf(1 - coverage, hits, repetitions - hits + 1)) if hits else 0.0


def confidence_interval(
    rate: float, repetitions: int, coverage: float = 0.95
) -> tuple[float, float]:
    """The exact two-sided interval of Clopper and Pearson for a rate.

    >>> [round(bound, 3) for bound in confidence_interval(1.0, 100)]
    [0.964, 1.0]
    """
    one_sided = (1 + coverage) / 2
    low = lower_bound(rate, repetitions, one_sided)
    return low, 1 - lower_bound(1 - rate, repetitions, one_sided)


def uniformity(pvalues: Sequence[float]) -> float:
    """The p-value of the Kolmogorov-Smirnov test that p-values are uniform.

    >>> round(uniformity([0.2, 0.4, 0.6, 0.8]), 2), round(uniformity([0.1] * 4), 4)
    (0.99, 0.0002)
    """
    from scipy.stats import kstest

    return float(kstest(pvalues, "uniform").pvalue)


def passes(rule: Rule, rate: float, repetitions: int, uniform: float | None = None) -> bool | None:
    """Whether a rate, or what `uniformity` says of p-values, keeps its rule; None if only shown."""
    if rule.kind == "uniform":
        return uniform is not None and uniform >= rule.bound
    if rule.kind == "surely at least":
        return lower_bound(rate, repetitions, rule.coverage) >= rule.bound
    if rule.kind == "at least":
        return rate >= rule.bound
    if rule.kind == "at most":
        return rate <= rule.bound
    low, high = interval(rule.bound, repetitions)
    return None if rule.kind == "shown" else low <= rate <= high


def quantiles(values: Sequence[float]) -> list[float]:
    """The quantiles at 0.01, 0.02, ..., 0.99, for a quantile-quantile plot of p-values."""
    return np.quantile(values, np.arange(1, 100) / 100).round(4).tolist()


def summarise(case: Case, outcomes: Sequence[dict[str, Outcome]]) -> dict[str, Any]:
    """The rows of the table: the rate of hits, its rule, and the means of everything else."""
    rows = {}
    for name in sorted({name for outcome in outcomes for name in outcome}):
        of_row = [outcome[name] for outcome in outcomes if name in outcome]
        hits = [outcome["hit"] for outcome in of_row if "hit" in outcome]
        rule = case.rule(name)
        rate = sum(hits) / len(hits) if hits else float("nan")
        keys = sorted({key for outcome in of_row for key in outcome} - {"hit"})
        values = {key: [outcome[key] for outcome in of_row if key in outcome] for key in keys}
        uniform = uniformity(values["pvalue"]) if rule.kind == "uniform" else None
        rows[name] = {
            "rate": round(rate, 4),
            "verdicts": len(hits),
            "rule": rule.kind if rule.kind in ("level", "shown") else f"{rule.kind} {rule.bound}",
            "passes": passes(rule, rate, len(hits), uniform) if hits else False,
            "means": {key: round(sum(v) / len(v), 3) for key, v in values.items()},
        }
        if rule.kind == "level" and hits:
            rows[name]["interval"] = list(interval(rule.bound, len(hits)))
        if uniform is not None:
            rows[name]["uniformity"] = round(uniform, 4)
        if rule.kind in ("level", "uniform") and "pvalue" in values:
            rows[name]["quantiles of p"] = quantiles(values["pvalue"])
    return rows
