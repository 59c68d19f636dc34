"""What `benchmarks.power --suite efforts` measures: wrong draws at every level of effort.

The wrong draws of the power table: with its number of draws by scores alone (below 2000 draws both
other levels follow all lines, and are the default check of that table), and with 4000 draws at
every level; and faults that scores alone must find in many dimensions.
"""

from collections.abc import Mapping

import numpy as np

from benchmarks import alternatives, targets
from benchmarks.alternatives import TARGETS, Draw
from benchmarks.cases import Case, Outcome, Rule
from benchmarks.power_cases import WRONG, judge
from steinwise.methods import AbstractMethod, Scores, Transported
from steinwise.target import AbstractTarget

MANY = 4000
DIMENSIONS = (32, 128)
LEVELS: dict[str, AbstractMethod] = {
    "scores": Scores(),
    "standard": Transported(),
    "full": Transported(every_line=True),
}
BY_SCORES = {"scores": LEVELS["scores"]}


def efforts(
    target: AbstractTarget,
    n: int,
    draw: Draw,
    levels: Mapping[str, AbstractMethod],
    bound: float | None = None,
) -> Case:
    """The same wrong draws at some levels, each of which must have some power."""

    def run(rng: np.random.Generator, seed: int) -> dict[str, Outcome]:
        draws = draw(rng, n)
        return {
            name: {"hit": float(judge(draws, target, method, seed).rejected)}
            for name, method in levels.items()
        }

    return Case(run, Rule("shown") if bound is None else Rule("at least", bound))


def laplace(d: int) -> Draw:
    return lambda rng, n: alternatives.laplace(rng, n, d)


EFFORTS: dict[str, Case] = {
    **{
        f"variance-1.7-{d}": efforts(
            targets.standard(d), 1000, alternatives.first_wide(d, 1.7), BY_SCORES, 0.95
        )
        for d in DIMENSIONS
    },
    **{
        f"laplace-1000-{d}": efforts(targets.standard(d), 1000, laplace(d), BY_SCORES, 1.0)
        for d in DIMENSIONS
    },
    **{
        name: efforts(TARGETS[wrong.target].target, wrong.n, wrong.draw, BY_SCORES)
        for name, wrong in WRONG.items()
    },
    **{
        f"{name}, n = {MANY}": efforts(TARGETS[wrong.target].target, MANY, wrong.draw, LEVELS)
        for name, wrong in WRONG.items()
    },
}
"""All wrong draws, those of many dimensions first."""
