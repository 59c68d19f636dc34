"""Where the entries of a model's parameters begin and end, as `support=` of a target."""

from typing import Literal

import numpy as np

from steinwise._internal.validation import require_choice
from steinwise.errors import InputError
from steinwise.target.support import AbstractSupport, integers, interval

Space = Literal["unconstrained", "constrained"]
SPACES = ("unconstrained", "constrained")
OTHER_SPACE = 'Leave space="unconstrained", the default, whose coordinates can be any numbers.'


def require_space(space: object) -> None:
    """Require one of the spaces in which a model's parameters can be tested."""
    require_choice("space", space, SPACES)


def discrete_supports(low: np.ndarray, high: np.ndarray) -> tuple[list[AbstractSupport], bool]:
    """The support of each entry, from its ends at all draws (chain, draw, ...).

    An end that depends on other parameters is left open, and so is that of an entry with a single
    value. Beyond it the density must be 0; whether there is such an end comes second.
    """
    supports: list[AbstractSupport] = []
    left_open = False
    for least, most in zip(_entries(low), _entries(high), strict=True):
        first, last = _fixed_end(least), _fixed_end(most)
        if first is not None and first == last:
            last = None
        ends = (least, first), (most, last)
        left_open |= any(np.isfinite(end).any() and fixed is None for end, fixed in ends)
        supports.append(integers(first, last))
    return supports, left_open


def bounded_supports(name: str, low: np.ndarray, high: np.ndarray) -> list[AbstractSupport]:
    """As `discrete_supports`, for numbers between two ends, which must be fixed."""
    ends = list(zip(_entries(low), _entries(high), strict=True))
    if any(np.ptp(end) > 0 for pair in ends for end in pair if np.isfinite(end).all()):
        raise InputError(
            f"the bounds of {name} depend on other parameters, so that it has no range of its own "
            f"to be tested in. {OTHER_SPACE}"
        )
    return [interval(least[0], most[0]) for least, most in ends]


def refuse_joint_support(name: str, support: object) -> None:
    """Refuse, on its own scale, a parameter whose entries bound each other."""
    raise InputError(
        f"{name} has the support {support}: its entries bound each other, and none can change by "
        f"itself. {OTHER_SPACE}"
    )


def _entries(ends: np.ndarray) -> np.ndarray:
    """The ends of each entry at all draws, (entry, draw)."""
    return np.asarray(ends, np.float64).reshape(ends.shape[0] * ends.shape[1], -1).T


def _fixed_end(end: np.ndarray) -> int | None:
    same = bool(np.isfinite(end).all()) and np.ptp(end) == 0
    return int(end[0]) if same else None
