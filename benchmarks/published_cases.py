"""What `benchmarks.published` measures: rates that others have published, and ours next to them.

All at level 0.05, with the published numbers of draws, coordinates and repetitions. The published
rates are quoted, not recomputed.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks import alternatives, targets
from benchmarks.cases import Case, Outcome, Rule, generator
from benchmarks.power_cases import judge
from benchmarks.support_cases import column
from benchmarks.support_models import gamma
from steinwise.target import AbstractTarget

OURS = {"default check": "transported", "scores": "scores"}


class PublishedRow(NamedTuple):
    """One setting: the draws, the target, and the rates that were published for it."""

    case: str  # the heading of its rows
    setting: str
    target: Callable[[], AbstractTarget]
    draw: Callable[[np.random.Generator], np.ndarray]
    rates: dict[str, float]  # by method, as published
    repetitions: int  # as published


DIMENSIONS = (2, 8, 16, 32, 64, 128)
# The weighted polynomial Stein discrepancy (2026), n = 1000, target N(0, I), by number of
# coordinates. PSD Qk has order k (Srinivasan, Sutton, Drovandi and South, 2025), wQ3 is its
# weighted form, KSD has the IMQ kernel, and RFSD its authors' reduced level.
NORMAL_TARGET: dict[str, dict[str, tuple[float, ...]]] = {
    "Laplace draws of variance 1 for N(0, I), n = 1000": {
        "PSD Q3": (0.67, 0.97, 0.99, 1.00, 1.00, 1.00),
        "wQ3": (0.53, 0.94, 0.99, 1.00, 0.99, 1.00),
        "KSD": (1.00, 1.00, 0.64, 0.11, 0.08, 0.03),
        "FSSD-opt": (0.94, 0.46, 0.30, 0.04, 0.03, 0.04),
        "RFSD": (1.00, 0.97, 0.54, 0.00, 0.00, 0.00),
    },
    "first variance 1.7 for N(0, I), n = 1000": {
        "PSD Q1": (1.00, 1.00, 1.00, 0.96, 0.59, 0.24),
        "PSD Q3": (0.97, 0.96, 0.97, 0.89, 0.68, 0.40),
        "wQ3": (0.99, 1.00, 0.99, 0.72, 0.38, 0.18),
        "KSD": (1.00, 1.00, 0.54, 0.13, 0.05, 0.04),
        "FSSD-opt": (0.87, 0.35, 0.22, 0.06, 0.03, 0.02),
        "RFSD": (0.91, 0.18, 0.00, 0.00, 0.00, 0.00),
    },
    "correct draws of N(0, I), n = 1000": {},  # published rates from 0.01 to 0.12, not one by one
}
# KSDAgg (Schrab, Guedj and Gretton, 2022), parametric bootstrap, n = 500, by delta.
GAMMA_TARGET: dict[float, dict[str, float]] = {
    0.0: {"KSDAgg": 0.04, "median": 0.035, "split": 0.04, "split, extra data": 0.055},
    0.1: {"KSDAgg": 0.175, "median": 0.175, "split": 0.11, "split, extra data": 0.19},
    0.2: {"KSDAgg": 0.495, "median": 0.455, "split": 0.305, "split, extra data": 0.54},
    0.3: {"KSDAgg": 0.82, "median": 0.78, "split": 0.505, "split, extra data": 0.83},
    0.4: {"KSDAgg": 0.945, "median": 0.93, "split": 0.745, "split, extra data": 0.955},
}


def _draws_for_normal(case: str, d: int) -> Callable[[np.random.Generator], np.ndarray]:
    if case.startswith("Laplace"):
        return lambda rng: alternatives.laplace(rng, 1000, d)
    variance = 1.7 if case.startswith("first") else 1.0
    return lambda rng: alternatives.first_wide(d, variance)(rng, 1000)


ROWS: dict[str, PublishedRow] = {
    f"{case.split()[0].lower()}-{d}": PublishedRow(
        case,
        f"d = {d}",
        lambda d=d: targets.standard(d),
        _draws_for_normal(case, d),
        {method: rates[place] for method, rates in methods.items()},
        100,
    )
    for case, methods in NORMAL_TARGET.items()
    for place, d in enumerate(DIMENSIONS)
}
ROWS |= {
    f"gamma-{delta:g}": PublishedRow(
        "Gamma(5 + delta, 5) draws for Gamma(5, 5), n = 500",
        f"delta = {delta:g}",
        lambda: gamma(5.0, 5.0),
        column(stats.gamma(5.0 + delta, scale=0.2), 500),
        rates,
        200,
    )
    for delta, rates in GAMMA_TARGET.items()
}


def _case(row: PublishedRow) -> Case:
    made = cache(row.target)  # compiled once in each process

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        draws, target = row.draw(rng), made()
        return {
            name: {"hit": float(judge(draws, target, method, seed).rejected)}
            for name, method in OURS.items()
        }

    return Case(run, Rule("shown"))


CASES: dict[str, Case] = {name: _case(row) for name, row in ROWS.items()}


def repeat(name: str, repetition: int) -> dict[str, Outcome]:
    """One repetition of a case."""
    return CASES[name].run(generator(name, repetition), repetition)
