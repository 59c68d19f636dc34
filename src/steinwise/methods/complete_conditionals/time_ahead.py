"""How long it will take to follow lines, from those of a few draws."""

import time
from collections.abc import Sequence

import numpy as np

from steinwise._internal.indices import evenly_spaced_indices
from steinwise.draws.samples import Samples
from steinwise.methods.complete_conditionals.line_sets import LineSet
from steinwise.methods.complete_conditionals.sources import AbstractSource, Slab

LONG = 20.0  # seconds: what takes less needs no warning
# Draws that are tried. The lines of one, a second time, since the first compiles; if all would take
# long at that rate, those of several, which share calls of a fixed size.
FEW, SEVERAL = 1, 16


def seconds_ahead(
    source: AbstractSource, line_sets: Sequence[LineSet], samples: Samples
) -> float | None:
    """About how many seconds the lines through all draws take; None if that is not long."""
    _seconds(source, line_sets, samples, FEW)
    for count in (FEW, SEVERAL):
        ahead = _seconds(source, line_sets, samples, count) * samples.n / count
        if ahead < LONG:
            return None
    return ahead


def _seconds(
    source: AbstractSource, line_sets: Sequence[LineSet], samples: Samples, count: int
) -> float:
    numbers = evenly_spaced_indices(samples.n, count)
    x, tested = samples.take(numbers), np.ones(len(numbers))
    start = time.perf_counter()
    for lines in line_sets:
        at = lines.positions(x)[:, lines.own]
        source.evaluate(Slab(lines, x, at, numbers, tested, None))
    return time.perf_counter() - start
