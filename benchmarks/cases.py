"""What a case is: how to run one repetition of it, and what its rates must be."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

LEVEL = 0.05

Outcome = dict[str, float]  # "hit" is counted; everything else is averaged


@dataclass(frozen=True)
class Rule:
    """What the rate of hits must be.

    - "level": inside the exact 99.9 % binomial interval around `bound`;
    - "at least", "at most": the measured rate itself is compared with `bound`;
    - "surely at least": the lower confidence bound of the rate is, at this coverage;
    - "uniform": a Kolmogorov-Smirnov test of all p-values gives at least `bound`;
    - "shown": any rate will do; it is only reported.
    """

    kind: Literal["level", "at least", "surely at least", "at most", "uniform", "shown"]
    bound: float = LEVEL
    coverage: float = 0.95


@dataclass(frozen=True)
class Case:
    """One configuration; `run` gives the outcome of one repetition for each row of the table."""

    run: Callable[[np.random.Generator, int], dict[str, Outcome]]
    rules: dict[str, Rule] | Rule

    def rule(self, row: str) -> Rule:
        return self.rules if isinstance(self.rules, Rule) else self.rules[row]


def generator(name: str, repetition: int) -> np.random.Generator:
    """The random numbers of one repetition, seeded by the name of its case and its number."""
    return np.random.default_rng([zlib.crc32(name.encode()), repetition])
