"""What a discrete coordinate can be given all others: its values and their probabilities.

The orbit of a draw is the draw with one coordinate replaced by each of its values, and a sum over
them takes the place of the integral over a line. Where the values have no end, a window is grown
until what it leaves out has a probability below `LEFT_OUT`, so that it does not matter where the
window began.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from steinwise.errors import TargetError
from steinwise.target import AbstractTarget
from steinwise.target.support import (
    MOST_VALUES,
    AbstractSupport,
    Integers,
    Values,
    all_values,
)

LEFT_OUT = 1e-12  # the probability of all values that are not looked at
ALWAYS_ALL = 64  # values that are all looked at; of more, those of a window


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The values of a discrete coordinate, their probabilities given the others, and the draws."""

    values: Float[np.ndarray, " k"]  # in increasing order
    probabilities: Float[np.ndarray, "n k"]
    drawn: Int[np.ndarray, " n"]  # which of the values each draw has

    @property
    def below(self) -> Float[np.ndarray, "n k"]:
        """P(X < value)."""
        summed = np.cumsum(self.probabilities, axis=1)
        return np.concatenate([np.zeros((len(summed), 1)), summed[:, :-1]], axis=1)

    @property
    def above(self) -> Float[np.ndarray, "n k"]:
        """P(X > value)."""
        summed = np.cumsum(self.probabilities[:, ::-1], axis=1)[:, ::-1]
        return np.concatenate([summed[:, 1:], np.zeros((len(summed), 1))], axis=1)

    def part(self, rows: slice) -> "Outcomes":
        """Of some draws."""
        return Outcomes(self.values, self.probabilities[rows], self.drawn[rows])

    def at_draws(self, of_values: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " n"]:
        """What belongs to the drawn value."""
        return np.take_along_axis(of_values, self.drawn[:, None], axis=1)[:, 0]

    @property
    def tails(self) -> Float[np.ndarray, " n"]:
        """Half of the probability of a value that is no likelier than the drawn one."""
        drawn = self.at_draws(self.probabilities)[:, None]
        as_rare = self.probabilities <= drawn * (1 + 1e-9)
        return np.minimum((self.probabilities * as_rare).sum(axis=1), 1.0) / 2


def find_outcomes(
    target: AbstractTarget,
    x: Float[np.ndarray, "n d"],
    coordinate: int,
    support: AbstractSupport,
    memory: int,
    draw_numbers: Int[np.ndarray, " n"],
) -> Outcomes:
    """The outcomes of a discrete coordinate of the draws x."""
    own = x[:, coordinate]
    values, grows = _first_values(support, own, coordinate, target.conditionals is not None)
    logs = target.outcome_values(x, coordinate, values, memory=memory, complete=not any(grows))
    while any(grows):
        done_below, done_above = _ends(logs)
        grows = grows[0] and not done_below, grows[1] and not done_above
        if not any(grows):
            break
        values, logs, grows = _wider(target, x, coordinate, support, values, logs, grows, memory)
        if len(values) > MOST_VALUES:
            raise TargetError(
                f"coordinate {coordinate} has more than {MOST_VALUES:,} values of some probability "
                f"at draw {draw_numbers[0]}: {_why_endless(support, logs, grows)}"
            )
    drawn = np.searchsorted(values, own)
    at_draws = np.take_along_axis(logs, drawn[:, None], axis=1)[:, 0]
    if not np.isfinite(at_draws).all():
        i = int(np.argmax(~np.isfinite(at_draws)))
        raise TargetError(
            f"the log density is {at_draws[i]} at draw {draw_numbers[i]}, where x = "
            f"{x[i].tolist()}. Draws where the target has no probability cannot be checked: is the "
            "density that of these draws, and finite on all of its support?"
        )
    return Outcomes(values, _probabilities(logs), drawn)


def _probabilities(logs: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """Normalised; what is not finite has none."""
    logs = np.where(np.isfinite(logs), logs, -np.inf)
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def _first_values(
    support: AbstractSupport, drawn: Float[np.ndarray, " n"], coordinate: int, whole: bool
) -> tuple[Float[np.ndarray, " k"], tuple[bool, bool]]:
    """Values to begin with, and whether there may be more below and above.

    All values if `whole`, as far as they can be.
    """
    values = all_values(support)
    if values is not None and (whole or isinstance(support, Values) or len(values) <= ALWAYS_ALL):
        return values, (False, False)
    assert isinstance(support, Integers)
    least = -np.inf if support.low is None else support.low
    most = np.inf if support.high is None else support.high
    width = max(ALWAYS_ALL / 4, float(drawn.max() - drawn.min()))
    low, high = max(least, drawn.min() - width), min(most, drawn.max() + width)
    if high - low >= MOST_VALUES:
        raise TargetError(
            f"coordinate {coordinate} has draws from {drawn.min():.0f} to {drawn.max():.0f}: a "
            f"window that holds them has {high - low + 1:,.0f} values, and at most {MOST_VALUES:,} "
            "are summed over. Does a draw lie far from all others? Counts as large as these can be "
            "checked as real numbers, without an entry in support=, if the density takes the "
            "numbers between them."
        )
    return np.arange(low, high + 1.0), (bool(low > least), bool(high < most))


def _why_endless(
    support: AbstractSupport, logs: Float[np.ndarray, "n k"], grows: tuple[bool, bool]
) -> str:
    """Why a window has no end, and what to do: the density falls off slowly or not at all."""
    assert isinstance(support, Integers)
    ends = [pair for pair, more in zip(((0, 1), (-1, -2)), grows, strict=True) if more]
    if support.low is not None and support.high is not None:
        return (
            f"no more than {MOST_VALUES:,} are summed over. A coordinate of so many values can be "
            "checked as a real one (sw.support.interval) if the density takes the numbers between."
        )
    if all((logs[:, last] < logs[:, before]).all() for last, before in ends):
        return (
            f"its tail is too heavy for a window of {MOST_VALUES:,} values, which has to hold all "
            f"but {LEFT_OUT:g} of the probability. Check it given that it is not larger "
            "(sw.support.integers(low, high), without the draws beyond)."
        )
    return (
        "the density does not fall off along it. Is it bounded (sw.support.integers(low, high)), "
        "or on another scale?"
    )


def _ends(logs: Float[np.ndarray, "n k"]) -> tuple[bool, bool]:
    """Whether what lies below, and above, the values is negligible on every orbit.

    Beyond either end probabilities are taken to fall by the last factor or faster.
    """
    p = _probabilities(logs)

    def enough(last: np.ndarray, before: np.ndarray) -> bool:
        falls = last < before
        factor = np.where(falls, last / np.where(before > 0, before, 1.0), 0.0)
        beyond = np.where(falls, last * factor / np.where(falls, 1 - factor, 1.0), last)
        return bool((beyond <= LEFT_OUT).all())

    return enough(p[:, 0], p[:, 1]), enough(p[:, -1], p[:, -2])


def _wider(
    target: AbstractTarget,
    x: Float[np.ndarray, "n d"],
    coordinate: int,
    support: AbstractSupport,
    values: Float[np.ndarray, " k"],
    logs: Float[np.ndarray, "n k"],
    grows: tuple[bool, bool],
    memory: int,
) -> tuple[np.ndarray, np.ndarray, tuple[bool, bool]]:
    """Twice as many values, on the sides that need them."""
    assert isinstance(support, Integers)
    least = -np.inf if support.low is None else support.low
    most = np.inf if support.high is None else support.high
    count = len(values)
    below = np.arange(max(least, values[0] - count), values[0]) if grows[0] else values[:0]
    above = np.arange(values[-1] + 1, min(most, values[-1] + count) + 1) if grows[1] else values[:0]
    for more, before in ((below, True), (above, False)):
        if len(more):
            found = target.outcome_values(x, coordinate, more, memory=memory, complete=False)
            logs = np.concatenate([found, logs] if before else [logs, found], axis=1)
    values = np.concatenate([below, values, above])
    more_below, more_above = bool(values[0] > least), bool(values[-1] < most)
    return values, logs, (grows[0] and more_below, grows[1] and more_above)
