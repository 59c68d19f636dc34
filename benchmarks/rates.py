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


def passes(rule: Rule, rate: float, repetitions: int) -> bool | None:
    """Whether a rate keeps its rule; None if the rate is only shown."""
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
        rows[name] = {
            "rate": round(rate, 4),
            "verdicts": len(hits),
            "rule": rule.kind if rule.kind in ("level", "shown") else f"{rule.kind} {rule.bound}",
            "passes": passes(rule, rate, len(hits)) if hits else False,
            "means": {key: round(sum(v) / len(v), 3) for key, v in values.items()},
        }
        if rule.kind == "level" and hits:
            rows[name]["interval"] = list(interval(rule.bound, len(hits)))
            if "pvalue" in values:
                rows[name]["quantiles of p"] = quantiles(values["pvalue"])
    return rows
