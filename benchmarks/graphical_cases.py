"""What `benchmarks.power --suite graphical` measures: KSD on Markov blankets against plain KSD."""

from typing import Literal

import numpy as np

import steinwise as sw
from benchmarks import simulate
from benchmarks.cases import Case, Outcome, Rule
from benchmarks.power_cases import judge

N, D = 300, 20
METHODS = ("graphical", "ksd")


def markov_chain(coupling: float) -> sw.Gaussian:
    """Unit variances and correlations coupling^|i - j|: coordinate j depends on j - 1 alone."""
    distance = np.abs(np.subtract.outer(np.arange(D), np.arange(D)))
    return sw.Gaussian(np.zeros(D), coupling**distance)


def case(coupling: float, widen: float, rule: Literal["shown", "level"]) -> Case:
    """Draws with this coupling for a target with 0.5; the last coordinate is scaled by `widen`."""
    target, source = markov_chain(0.5), markov_chain(coupling)

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        draws = simulate.independent(rng, source.covariance, N)
        draws[:, -1] *= widen
        results = {method: judge(draws, target, method, seed) for method in METHODS}
        return {method: {"hit": float(result.rejected)} for method, result in results.items()}

    return Case(run, {method: Rule(rule) for method in METHODS})


GRAPHICAL: dict[str, Case] = {
    "right": case(0.5, 1.0, "level"),
    "last-wide": case(0.5, 1.3, "shown"),
    "coupling-0.4": case(0.4, 1.0, "shown"),
}
"""n = 300, d = 20."""
