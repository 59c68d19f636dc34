"""What `benchmarks.power --suite rivals` measures: every other discrepancy and the default."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

import numpy as np

import steinwise as sw
from benchmarks import alternatives, simulate, targets
from benchmarks.cases import Case, Outcome, Rule
from benchmarks.power_cases import flagged, judge
from steinwise.methods import AbstractMethod

METHODS: dict[str, AbstractMethod] = {
    "default": sw.methods.Transported(),
    "KSD, RBF": sw.methods.KSD(),
    "KSD, IMQ": sw.methods.KSD(sw.kernels.IMQ()),
    "KSD, IMQ, median": sw.methods.KSD(sw.kernels.IMQ("median")),
    "KSD, RBF, a sign per draw": sw.methods.KSD(bootstrap="draws"),
    "KSD, RBF, multinomial": sw.methods.KSD(bootstrap="multinomial"),
    "KSD, RBF, linear": sw.methods.KSD(linear=True),
    "KSDAgg": sw.methods.KSDAgg(standardise=False),
    "FSSD-opt": sw.methods.FSSD(),
    "FSSD-opt, signs": sw.methods.FSSD(null="signs"),
    "RPhiSD, L1-IMQ": sw.methods.RFSD("imq"),
    "RPhiSD, L1-IMQ, gamma as published": sw.methods.RFSD("imq", gamma=0.25),
    "RPhiSD, L2 secant": sw.methods.RFSD("sech"),
    "RPhiSD, L2 secant, gamma as published": sw.methods.RFSD("sech", gamma=0.25),
    "sliced KSD, axes": sw.methods.SlicedKSD(),
    "sliced KSD, learned": sw.methods.SlicedKSD("learned"),
    "sliced KSD, active": sw.methods.SlicedKSD("active"),
}
PUBLISHED = {  # recipes known to miss the level: their rates are only reported
    "RPhiSD, L1-IMQ, gamma as published",
    "RPhiSD, L2 secant, gamma as published",
    "RPhiSD, L1-IMQ, gamma and null as published",
    "RPhiSD, L2 secant, gamma and null as published",
}
BY_COORDINATE = ("RPhiSD, L1-IMQ", "RPhiSD, L2 secant")  # also: is any coordinate flagged?


def size_methods(target: sw.Gaussian) -> dict[str, AbstractMethod]:
    """Some more recipes; those with the published null need draws from the target."""

    def target_draws(seed: int, n: int) -> np.ndarray:
        return simulate.independent(np.random.default_rng(seed), target.covariance, n)

    published = partial(sw.methods.RFSD, null="target", gamma=0.25, target_draws=target_draws)
    return METHODS | {
        "FSSD-opt, IMQ": sw.methods.FSSD(sw.kernels.IMQ("median")),
        "FSSD, not optimised": sw.methods.FSSD(optimise=False),
        "RPhiSD, L1-IMQ, gamma and null as published": published("imq"),
        "RPhiSD, L2 secant, gamma and null as published": published("sech"),
    }


def case(
    target: sw.Gaussian,
    draw: Callable[[np.random.Generator], np.ndarray],
    rule: Literal["shown", "level"],
    methods: Mapping[str, AbstractMethod] = METHODS,
) -> Case:
    """Whether each of several methods rejects the same draws."""

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        draws = draw(rng)
        return {
            name: {"hit": float(judge(draws, target, method, seed).rejected)}
            for name, method in methods.items()
        }

    return Case(run, Rule(rule))


def laplace(d: int) -> Case:
    return case(targets.standard(d), lambda rng: alternatives.laplace(rng, 1000, d), "shown")


def right_marginals(d: int) -> Case:
    covariance = alternatives.equicorrelated(d, 1.0, 0.3)
    return case(
        targets.standard(d), lambda rng: simulate.independent(rng, covariance, 1000), "shown"
    )


def size(target: sw.Gaussian) -> Case:
    """Correct draws; for some methods also whether any coordinate is flagged, only reported."""
    methods = size_methods(target)

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        draws = simulate.independent(rng, target.covariance, 500)
        results = {name: judge(draws, target, method, seed) for name, method in methods.items()}
        hits = {name: result.rejected for name, result in results.items()}
        hits |= {_any_coordinate(name): flagged(results[name]).any() for name in BY_COORDINATE}
        return {name: {"hit": float(hit)} for name, hit in hits.items()}

    shown = PUBLISHED | {_any_coordinate(name) for name in BY_COORDINATE}
    rows = (*methods, *shown)
    return Case(run, {row: Rule("shown" if row in shown else "level") for row in rows})


def _any_coordinate(name: str) -> str:
    return f"{name}, some coordinate"


RIVALS: dict[str, Case] = {
    **{f"laplace-{d}": laplace(d) for d in (10, 30, 50)},
    **{f"right-marginals-{d}": right_marginals(d) for d in (10, 30)},
}
"""Wrong draws, n = 1000."""

RIVALS_SIZE: dict[str, Case] = {
    **{f"normal-{d}": size(targets.standard(d)) for d in (5, 30)},
    **{f"correlated-{d}": size(targets.correlated(d)) for d in (5, 30)},
}
"""Correct draws, n = 500."""
