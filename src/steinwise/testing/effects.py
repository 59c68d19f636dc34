"""What changed, and by how much, in the functions whose ranks are not uniform."""

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

from steinwise.results.invariance import Change
from steinwise.testing.ranked_functions import RankedFunction

CLEAR = 3.0  # standard errors from which a change of a mean is reported
FAR = 10.0  # standard deviations beyond which a rare value counts as one there
RARE = 0.01  # the share of values up to which they may be the tail of the target itself


def change_of(
    function: RankedFunction,
    moved: Float[np.ndarray, "n k"],
    exact: Float[np.ndarray, "n m"],
    pvalue: float,
) -> Change:
    """The change from exact draws to draws that steps have moved, one row per chain."""
    finite = exact[np.isfinite(exact)]
    centre, sd = finite.mean(), max(finite.std(), np.finfo(float).tiny)
    low, high = centre - FAR * sd, centre + FAR * sd
    exact = np.clip(exact, low, high)
    # a few values in a heavy tail must not set the reported size; many are the change itself
    often = np.mean((moved < low) | (moved > high)) > RARE
    moved = np.where(np.isfinite(moved) & often, moved, np.clip(moved, low, high))
    difference = moved.mean(axis=1) - exact.mean(axis=1)
    shift = difference.mean() / sd
    error = difference.std(ddof=1) / np.sqrt(len(difference)) / sd
    kind = {
        "value": "shift" if abs(shift) > CLEAR * error else "shape",
        "square": "spread",
        "product": "dependence",
        "log density": "log density",
        "own": "function",
    }.get(function.kind, function.kind)
    ratio = float(np.sqrt(moved.mean() / exact.mean())) if kind == "spread" else 1.0
    return Change(function.name, kind, float(pvalue), float(shift), ratio)


def without_shapes(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes, without the shape of a coordinate whose spread is off: that says it."""
    listed = tuple(changes)
    wide = {change.name for change in listed if change.kind == "spread"}
    return tuple(c for c in listed if not (c.kind == "shape" and c.name in wide))


def not_finite(names: Sequence[str], moved: Float[np.ndarray, "n k d"]) -> tuple[Change, ...]:
    """The coordinates that steps have led to NaN or infinity, which no invariant step does."""
    wrong = np.atleast_1d(~np.isfinite(moved).all(axis=(0, 1)))
    return tuple(
        Change(name, "not finite", 0.0, 0.0, 1.0)
        for name, is_wrong in zip(names, wrong, strict=True)
        if is_wrong
    )
