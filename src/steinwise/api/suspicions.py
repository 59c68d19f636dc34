"""What is often behind a misfit: a wrong sign, no logarithm, a missing prior, an unknown bound.

These are looked for only where draws do not fit or sums overflow, since that costs a few
evaluations. Whether draws may be transposed is asked in every check.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from steinwise._internal.counting import by_count
from steinwise._internal.escaping import listed
from steinwise._internal.notes import Note, note
from steinwise.calibration.pvalues import Calibration
from steinwise.draws.input_checks import coordinate_names
from steinwise.draws.samples import Samples
from steinwise.errors import InputError, TargetError
from steinwise.methods.base import AbstractMethod
from steinwise.results.wording import note_text
from steinwise.target import AbstractTarget
from steinwise.target.support import is_declared, supports_of

NOT_NORMALISED = {"density grows", "density levels off"}  # notes that say so
MOST_SUSPECTS = 50  # coordinates, the worst ones
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
# Per draw: more are rare, and those that are meant mostly come with names.
MOST_COORDINATES = 10


def suspicions(
    flagged: Sequence[str], samples: Samples, target: AbstractTarget
) -> tuple[Note, ...]:
    """Notes on real coordinates among the flagged ones that look as if something else was meant.

    Where supports were declared, positive draws are on the scale of the density.
    """
    supports = supports_of(target.support, samples.names)
    numbers = {name: j for j, name in enumerate(samples.names)}
    real = [
        numbers[name]
        for name in flagged
        if name in numbers and supports[numbers[name]].kind == "real"
    ][:MOST_SUSPECTS]
    if not real:
        return ()
    with np.errstate(over="ignore", invalid="ignore"):  # far out slopes overflow: they are steep
        return _found(real, samples, target)


def _found(real: list[int], samples: Samples, target: AbstractTarget) -> tuple[Note, ...]:
    """The notes on these coordinates."""
    x = samples.evenly_spaced(RANGE_DRAWS)
    low, spread = x.min(axis=0), x.std(axis=0)
    has_scores = target.has_scores(samples.dim)
    flat = _flat(x, real, target) if has_scores else []
    real = [j for j in real if j not in flat]
    positive = [] if is_declared(target.support) else [j for j in real if low[j] > 0]
    below, above = _growth(x, real, target) if has_scores else ([], [])
    level = _level(x, real, target) if has_scores else []
    bounded = [j for j in positive if low[j] < NEAR_ZERO * spread[j] and j not in above]
    growing = [j for j in real if j in (*below, *above) and j not in bounded]
    found = []
    if flat:
        found.append(note("density is flat", names=_named(flat, samples)))
    if level:
        found.append(note("density levels off", names=_named(level, samples)))
    if growing:
        found.append(note("density grows", names=_named(growing, samples)))
    if bounded:
        found.append(_positive(bounded, samples))
    other = [j for j in positive if j not in bounded and j not in growing]
    logarithms = _falling_at_zero(x, other, target) if has_scores else []
    if logarithms:
        found.append(note("positive draws of a logarithm", names=_named(logarithms, samples)))
    return tuple(found)


def about_overflow(
    calibration: Calibration,
    method: AbstractMethod,
    dtype: str,
    samples: Samples,
    target: AbstractTarget,
) -> str:
    """What to do about a statistic that is no number: the density may be none."""
    said = (
        f"the method {method.name!r} gives the statistic {calibration.statistic}, or a null that "
        f"is not finite: its sums overflow in {dtype}."
    )
    behind = suspicions(samples.names, samples, target)
    causes = [note_text(one) for one in behind if one.kind in NOT_NORMALISED]
    if causes:
        return f"{said} The likely cause: {' '.join(causes)}"
    wider = "pass dtype='float64', " if dtype == "float32" else ""
    other = "" if method.name == "transported" else ", or take the default method"
    return (
        f"{said} Some draws or scores are enormous. Take them out if they are errors; else {wider}"
        f"rescale the coordinates of draws and density{other}."
    )


def transposed(samples: Samples, target: AbstractTarget) -> tuple[Note, ...]:
    """A note on draws without names that may be transposed, for a density that takes either."""
    n, d = samples.n, samples.dim
    named = samples.names != coordinate_names(None, d)
    if named or samples.n_chains > 1 or d < MOST_COORDINATES * n:
        return ()
    try:
        target.prepare(n)
    except (InputError, TargetError):
        return ()
    return (note("more coordinates than draws", n=n, d=d),)


def _positive(bounded: Sequence[int], samples: Samples) -> Note:
    """That these coordinates may be positive parameters, and how to declare them as such."""
    one = len(bounded) == 1
    each = ", ".join(f'"{samples.names[j]}": sw.support.positive' for j in bounded[:NAMED])
    more = ", ..." if len(bounded) > NAMED else ""
    return note(
        "positive draws",
        names=_named(bounded, samples),
        question=by_count(len(bounded), "is it a positive parameter?", "are they such parameters?"),
        support="sw.support.positive" if len(bounded) == samples.dim else f"{{{each}{more}}}",
        logarithms="its logarithm" if one else "their logarithms",
    )


def _falling_at_zero(
    x: Float[np.ndarray, "n d"], coordinates: Sequence[int], target: AbstractTarget
) -> list[int]:
    """The coordinates along which log p falls at 0: it has mass below, where no draw is."""
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
    return listed([samples.names[j] for j in coordinates], NAMED)
