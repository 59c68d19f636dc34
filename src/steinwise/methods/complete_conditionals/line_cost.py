"""What following lines costs, from a few draws: for a budget of evaluations.

Any line may take 68 evaluations, and most take a tenth of that: what a series costs is known from
the density alone, but not on how many lines it is good enough.
"""

from collections.abc import Sequence

import numpy as np

from steinwise._internal.indices import evenly_spaced_indices
from steinwise.draws.samples import Samples
from steinwise.methods.base import Cost
from steinwise.methods.complete_conditionals.line_sets import DISCRETE, LineSet
from steinwise.orbits.places import find_places
from steinwise.target import AbstractTarget
from steinwise.target.base import DEFAULT_MEMORY

# How many draws are tried, one number after the other, while the next trial would cost at most this
# share of the budget. That was within a tenth of what all draws took, on a smooth density by series
# and on Student-t, Laplace and log Gamma ones. One line in 16 is followed in two ways, so
# few draws overestimate the cost of a host function, three times at most.
TRIALS, SHARE_FOR_TRIALS = (1, 4, 16, 64), 0.2


def tried_cost(
    line_sets: Sequence[LineSet],
    samples: Samples,
    target: AbstractTarget,
    most_per_line: int,
    budget: float,
) -> Cost:
    """Evaluations of all lines through a draw, and those that it took to find out.

    `most_per_line` is what each may take.
    """
    followed = [lines for lines in line_sets if lines.group != DISCRETE]
    discrete = sum(len(lines.labels) for lines in line_sets if lines.group == DISCRETE)
    each = most_per_line * sum(len(lines.labels) for lines in followed)
    spent = 0.0
    for count in TRIALS:
        if count > samples.n or (spent and count * each > SHARE_FOR_TRIALS * budget):
            break
        numbers = evenly_spaced_indices(samples.n, count)
        x = samples.take(numbers)
        cost = sum(_evaluations(lines, x, target) for lines in followed)
        each, spent = cost / count, spent + cost
    return Cost(each + most_per_line * discrete, spent)


def _evaluations(lines: LineSet, x: np.ndarray, target: AbstractTarget) -> float:
    numbers = np.arange(len(x))  # by which some lines are followed in two ways
    positions = lines.positions(x)[:, lines.own]
    places = find_places(
        target, x, lines.directions, positions, lines.ranges, DEFAULT_MEMORY, numbers
    )
    return places.evaluations
