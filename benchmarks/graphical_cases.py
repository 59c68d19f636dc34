"""What `benchmarks.power --suite graphical` measures: KSD on blankets beside the whole KSD."""

from typing import Literal

import numpy as np

import steinwise as sw
from benchmarks import simulate
from benchmarks.cases import Case, Outcome, Rule
from benchmarks.power_cases import judge

N, D = 300, 20
METHODS = ("graphical", "ksd")


def chain(coupling: float) -> sw.Gaussian:
    """Unit variances; each coordinate depends on the one before it alone."""
    apart = np.abs(np.subtract.outer(np.arange(D), np.arange(D)))
    return sw.Gaussian(np.zeros(D), coupling**apart)


def case(coupling: float, widen: float, rule: Literal["shown", "level"]) -> Case:
    """Draws with this coupling for one of 0.5, and the last coordinate this much too wide."""
    target, law = chain(0.5), chain(coupling)

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        draws = simulate.independent(rng, law.covariance, N)
        draws[:, -1] *= widen
        found = {method: judge(draws, target, method, seed) for method in METHODS}
        return {method: {"hit": float(result.rejected)} for method, result in found.items()}

    return Case(run, {method: Rule(rule) for method in METHODS})


GRAPHICAL: dict[str, Case] = {
    "right": case(0.5, 1.0, "level"),
    "last-wide": case(0.5, 1.3, "shown"),
    "coupling-0.4": case(0.4, 1.0, "shown"),
}
"""n = 300, d = 20."""
