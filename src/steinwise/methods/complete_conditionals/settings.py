"""The settings of the default check: bases of functions of u, and contexts, in families.

A setting is a base and a context. A family of settings is judged by its largest; families of
coordinates and of directions are kept apart.
"""

from collections.abc import Sequence

import numpy as np

from steinwise.calibration.batch_sums import ExpectedSquares
from steinwise.calibration.batches import Batches
from steinwise.methods.complete_conditionals.features import CONTEXTS
from steinwise.methods.complete_conditionals.line_sets import DISCRETE, LineSet
from steinwise.methods.complete_conditionals.terms import SKEWED

BASES = ("shape", "shift", "tails")
# As how many draws the known spread of skewed terms counts. Of 10, 20, 30, 50 and 100 it brought
# the size of "tails" alone, n 20 to 1000, d 5 to 100, closest to its level: 0.04 to 0.06.
KNOWN_DRAWS = 50
# What a coordinate's fault by itself, summed and largest, counts against any one kind of
# dependence. Equal weights found one of 50 shifted coordinates at 0.51 instead of 0.70.
WEIGHTS = {"coordinates": (8.0, 16.0), DISCRETE: (8.0, 16.0), "directions": (8.0, 8.0)}

Setting = tuple[str, str]  # base, context


def available_contexts(contexts: Sequence[str], lines: LineSet) -> list[str]:
    """The chosen contexts that a set of lines has features for: products need two others."""
    others = len(lines.scores.values) - 1
    available = set(CONTEXTS if others else ["alone"])
    if others == 1 or lines.group == "directions":
        available.discard("interaction")
    return [context for context in contexts if context in available]


def families(
    source: str, bases: Sequence[str], contexts: Sequence[str], lines: LineSet
) -> dict[str, list[Setting]]:
    """The settings of every family: of a coordinate alone, and of a coordinate with others.

    `source` is the name of what the terms are made from.
    """
    settings = [(base, c) for base in bases for c in available_contexts(contexts, lines)]
    by_family = {
        alone_family(source, lines): [setting for setting in settings if setting[1] == "alone"],
        f"{source}: {lines.group} with others": [
            setting for setting in settings if setting[1] != "alone"
        ],
    }
    return {family: chosen for family, chosen in by_family.items() if chosen}


def alone_family(source: str, lines: LineSet) -> str:
    """The family of a coordinate, or direction, by itself."""
    return f"{source}: {lines.group} alone"


def single_family(source: str, context: str) -> str:
    """The family of single features in a context."""
    return f"{source}: {context}"


def expected_squares(
    settings: Sequence[Setting], batches: Batches, held_out: int
) -> ExpectedSquares | None:
    """The squares of skewed terms of a coordinate alone, known for independent draws.

    The first `held_out` draws are not tested.
    """
    if not batches.independent:
        return None
    tested = np.diff(np.maximum(batches.bounds, held_out)).astype(float)
    pairs = tested.sum() ** 2 - (tested**2).sum()
    known = [SKEWED.get(base, 0) * (context == "alone") for base, context in settings]
    squares = 2 * pairs * np.array(known, float)  # U_gh = U_hg
    weight = KNOWN_DRAWS / (KNOWN_DRAWS + tested.sum())
    return ExpectedSquares(squares, np.where(squares > 0, weight, 0.0))
