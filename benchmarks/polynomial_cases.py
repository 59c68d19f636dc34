"""What `benchmarks.power --suite polynomials` measures: polynomial Stein discrepancies and scores.

All need the scores at the draws and nothing else. The polynomial ones are as published, level and
all: their rates are only reported.
"""

from collections.abc import Mapping

import numpy as np

from benchmarks import alternatives, simulate, targets
from benchmarks.alternatives import TARGETS, Draw
from benchmarks.cases import Case, Outcome, Rule
from benchmarks.power_cases import SIZES, judge
from steinwise.methods import PSD, AbstractMethod, LambdaPSD, Scores
from steinwise.target import AbstractTarget

PUBLISHED: dict[str, AbstractMethod] = {
    "PSD, degree 2": PSD(2, standardise=False),
    "PSD, degree 2, covariance": PSD(2, null="covariance", standardise=False),
    "PSD, degree 3": PSD(3, standardise=False),
    "lambda-PSD, degree 2": LambdaPSD(2, standardise=False),
    "lambda-PSD, degree 3": LambdaPSD(3, standardise=False),
}
HIGHEST = {"PSD, degree 4": PSD(4, standardise=False)}  # too many monomials for d = 30
METHODS = {
    "scores": Scores(),
    **PUBLISHED,
    "lambda-PSD, degree 4": LambdaPSD(4, standardise=False),
}


def case(target: AbstractTarget, n: int, draw: Draw, methods: Mapping[str, AbstractMethod]) -> Case:
    """Whether each method rejects the same draws."""

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        draws = draw(rng, n)
        return {
            name: {"hit": float(judge(draws, target, method, seed).rejected)}
            for name, method in methods.items()
        }

    return Case(run, Rule("shown"))


def power(d: int, draw: Draw) -> Case:
    """n = 1000 wrong draws for N(0, I)."""
    return case(targets.standard(d), 1000, draw, METHODS | (HIGHEST if d <= 10 else {}))


def _right_marginals(d: int) -> Draw:
    covariance = alternatives.equicorrelated(d, 1.0, 0.3)
    return lambda rng, n: simulate.independent(rng, covariance, n)


def _laplace(d: int) -> Draw:
    return lambda rng, n: alternatives.laplace(rng, n, d)


POLYNOMIALS: dict[str, Case] = {
    **{f"laplace-{d}": power(d, _laplace(d)) for d in (10, 30)},
    **{f"right-marginals-{d}": power(d, _right_marginals(d)) for d in (10, 30)},
    **{f"variance-1.7-{d}": power(d, alternatives.first_wide(d, 1.7)) for d in (10, 30)},
}
"""Wrong draws, n = 1000."""

POLYNOMIALS_SIZE: dict[str, Case] = {
    f"{name}, n = {n}": case(TARGETS[name].target, n, TARGETS[name].draw, PUBLISHED)
    for n in SIZES
    for name in (
        "normal-5",
        "near-singular",
        "log-gamma-0.5",
        "log-gamma-3",
        "t3",
        "banana",
        "correlated-20",
    )
}
"""Correct draws; those of the scores are in `power_cases.SCORES_SIZE`."""
