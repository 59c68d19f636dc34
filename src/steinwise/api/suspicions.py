"""What often is behind a misfit: a wrong sign, no logarithm, a missing prior, an unknown bound.

Looked for only where draws do not fit, since it costs a few evaluations of the density.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from steinwise._internal.notes import Note, note
from steinwise.draws.samples import Samples
from steinwise.errors import TargetError
from steinwise.results.coordinate import CoordinateResult
from steinwise.target import AbstractTarget
from steinwise.target.support import supports_of

LOOKED_AT = 50  # coordinates, the worst ones
DRAWS = 3  # from which each is moved away
FAR = 50.0  # ranges of the draws: where a density that can be normalised falls
LEAST_SLOPE = 0.01  # of log p over a range of the draws; rounding gives less
# Of log p over a range of the draws, far out: next to nothing. A Cauchy density has 0.04 there.
MOST_LEVEL = 1e-6
# How far log p may fall on its way to a level at which it cannot be normalised: what is cut off at
# a very low value, to keep logarithms finite, is meant as 0.
LEAST_LEVEL = -50.0
NAMED = 5  # coordinates
NEAR_ZERO = 0.1  # sds: positive draws that come so close to 0 have a bound there
RANGE_DRAWS = 10_000


def suspicions(
    flagged: Sequence[CoordinateResult], samples: Samples, target: AbstractTarget
) -> tuple[Note, ...]:
    """Notes on real coordinates among the flagged ones that look as if something else was meant."""
    supports = supports_of(target.support, samples.names)
    numbers = {name: j for j, name in enumerate(samples.names)}
    real = [
        numbers[c.name]
        for c in flagged
        if c.name in numbers and supports[numbers[c.name]].kind == "real"
    ][:LOOKED_AT]
    if not real:
        return ()
    x = samples.evenly_spaced(RANGE_DRAWS)
    low, spread = x.min(axis=0), x.std(axis=0)
    flat = _flat(x, real, target) if target.has_scores(samples.dim) else []
    real = [j for j in real if j not in flat]
    positive = [j for j in real if 0 < low[j] < NEAR_ZERO * spread[j]]
    below, above = _growth(x, real, target) if target.has_scores(samples.dim) else ([], [])
    level = _level(x, real, target) if target.has_scores(samples.dim) else []
    bounded = [j for j in positive if j not in above]
    if bounded:  # where one is a positive parameter, so are others whose draws are not near 0
        bounded = [j for j in real if low[j] > 0 and j not in above]
    growing = [j for j in real if j in (*below, *above) and j not in bounded]
    found = []
    if flat:
        found.append(note("density is flat", names=_named(flat, samples)))
    if level:
        found.append(note("density levels off", names=_named(level, samples)))
    if growing:
        found.append(note("density grows", names=_named(growing, samples)))
    if bounded:
        found.append(note("positive draws", names=_named(bounded, samples)))
    logarithms = _falling_at_zero(x, [j for j in real if low[j] > 0 and j not in bounded], target)
    if logarithms:
        found.append(note("positive draws of a logarithm", names=_named(logarithms, samples)))
    return tuple(found)


def _falling_at_zero(
    x: Float[np.ndarray, "n d"], coordinates: Sequence[int], target: AbstractTarget
) -> list[int]:
    """The coordinates along which log p falls at 0: it has mass below, where no draw is."""
    if not target.has_scores(x.shape[1]):
        return []
    spread = x.std(axis=0)
    return [
        j for j in coordinates if (_slopes_at(0.0, j, x, target) * spread[j] < -LEAST_SLOPE).all()
    ]


def _flat(
    x: Float[np.ndarray, "n d"], coordinates: Sequence[int], target: AbstractTarget
) -> list[int]:
    """The coordinates that log p does not depend on: its slope is 0 among the draws and beyond."""
    low, high = x.min(axis=0), x.max(axis=0)
    width = high - low
    places = np.stack([low - width, (low + high) / 2, high + width], axis=1)
    return [
        j
        for j in coordinates
        if all((_slopes_at(place, j, x, target) == 0).all() for place in places[j])
    ]


def _growth(
    x: Float[np.ndarray, "n d"], coordinates: Sequence[int], target: AbstractTarget
) -> tuple[list[int], list[int]]:
    """The coordinates along which log p still grows far below, and far above, all draws."""
    low, high = x.min(axis=0), x.max(axis=0)
    found: tuple[list[int], list[int]] = ([], [])
    for j in coordinates:
        width = high[j] - low[j]
        for side, place, outward in zip(
            found, (low[j] - FAR * width, high[j] + FAR * width), (-1, 1), strict=True
        ):
            if (outward * _slopes_at(place, j, x, target) * width > LEAST_SLOPE).all():
                side.append(j)
    return found


def _level(
    x: Float[np.ndarray, "n d"], coordinates: Sequence[int], target: AbstractTarget
) -> list[int]:
    """The coordinates along which log p becomes constant far from all draws, on both sides.

    A density does where it is taken for its logarithm.
    """
    some = _some_of(x)
    evaluated = target.values_and_scores(some)  # compiled already, for the search for modes
    if evaluated is None:
        return []
    values, _ = evaluated
    low, high = x.min(axis=0), x.max(axis=0)
    found = []
    for j in coordinates:
        width = high[j] - low[j]
        for place in (low[j] - FAR * width, high[j] + FAR * width):
            if not (np.abs(_slopes_at(place, j, x, target)) * width < MOST_LEVEL).all():
                break
            moved = some.copy()
            moved[:, j] = place
            there = target.log_values(moved)
            if there is None or not (there - values > LEAST_LEVEL).all():
                break
        else:
            found.append(j)
    return found


def _some_of(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "m d"]:
    return x[np.linspace(0, len(x) - 1, DRAWS).astype(int)]


def _slopes_at(
    place: float, j: int, x: Float[np.ndarray, "n d"], target: AbstractTarget
) -> Float[np.ndarray, " m"]:
    """The slopes of log p along a coordinate there, from a few draws; NaN where it has none."""
    moved = _some_of(x)
    moved[:, j] = place
    try:
        return target.score(moved)[:, j]
    except TargetError:  # no number there: that says nothing
        return np.full(DRAWS, np.nan)


def _named(coordinates: Sequence[int], samples: Samples) -> str:
    names = ", ".join(samples.names[j] for j in coordinates[:NAMED])
    more = f" and {len(coordinates) - NAMED} more" if len(coordinates) > NAMED else ""
    return f"{names}{more}"
