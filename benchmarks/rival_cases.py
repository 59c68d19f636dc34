"""What `benchmarks.power --suite rivals` measures: the other discrepancies beside the default."""

from collections.abc import Callable, Mapping
from typing import Literal

import numpy as np

import steinwise as sw
from benchmarks import alternatives, examples, simulate
from benchmarks.cases import Case, Outcome, Rule
from benchmarks.power_cases import judge
from steinwise.methods import AbstractMethod

METHODS: dict[str, AbstractMethod] = {
    "default": sw.methods.Transported(),
    "KSD, RBF": sw.methods.KSD(),
    "KSD, IMQ": sw.methods.KSD(sw.kernels.IMQ()),
    "KSD, RBF, a sign per draw": sw.methods.KSD(bootstrap="draws"),
    "KSD, RBF, multinomial": sw.methods.KSD(bootstrap="multinomial"),
    "KSD, RBF, linear": sw.methods.KSD(linear=True),
    "KSDAgg": sw.methods.KSDAgg(),
    "FSSD-opt": sw.methods.FSSD(),
    "FSSD-opt, signs": sw.methods.FSSD(null="signs"),
    "RPhiSD, L1-IMQ": sw.methods.RFSD("imq"),
    "RPhiSD, L1-IMQ, gamma as published": sw.methods.RFSD("imq", gamma=0.25),
    "RPhiSD, L2 secant": sw.methods.RFSD("sech"),
    "sliced KSD, axes": sw.methods.SlicedKSD(),
    "sliced KSD, learned": sw.methods.SlicedKSD("learned"),
    "sliced KSD, active": sw.methods.SlicedKSD("active"),
}
PUBLISHED = {"RPhiSD, L1-IMQ, gamma as published"}  # known to miss the level: reported only


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

    return Case(run, {name: Rule("shown" if name in PUBLISHED else rule) for name in methods})


def laplace(d: int) -> Case:
    return case(examples.standard(d), lambda rng: alternatives.laplace(rng, 1000, d), "shown")


def right_marginals(d: int) -> Case:
    covariance = alternatives.equal(d, 1.0, 0.3)
    return case(
        examples.standard(d), lambda rng: simulate.independent(rng, covariance, 1000), "shown"
    )


def size(target: sw.Gaussian) -> Case:
    return case(target, lambda rng: simulate.independent(rng, target.covariance, 500), "level")


RIVALS: dict[str, Case] = {
    **{f"laplace-{d}": laplace(d) for d in (10, 30, 50)},
    **{f"right-marginals-{d}": right_marginals(d) for d in (10, 30)},
}
"""Draws that are wrong, n = 1000."""

RIVALS_SIZE: dict[str, Case] = {
    **{f"normal-{d}": size(examples.standard(d)) for d in (5, 30)},
    **{f"correlated-{d}": size(examples.correlated(d)) for d in (5, 30)},
}
"""Draws that are right, n = 500."""
