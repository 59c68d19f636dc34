"""Where coordinates of a density live: the real line, a part of it, or separate values.

`support=` of a target takes one of these for all coordinates, one per coordinate, or a dict by
number or name, whose other coordinates are real:

>>> import steinwise as sw
>>> sw.support.positive
positive
>>> sw.support.integers(0, None)
integers(0, None)
"""

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from steinwise._internal.counting import counted
from steinwise._internal.escaping import listed
from steinwise._internal.validation import as_numbers, is_whole
from steinwise.errors import InputError

__all__ = ["integers", "interval", "positive", "real", "values"]

LARGEST_INTEGER = 2**53  # beyond it floats skip whole numbers
MOST_VALUES = 2**16  # of a coordinate that are summed over


class AbstractSupport(abc.ABC):
    """The values that a coordinate may take."""

    kind: str  # "real", "bounded" or "discrete"

    @abc.abstractmethod
    def contains(self, x: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """Whether these are values of the coordinate."""


@dataclass(frozen=True, repr=False)
class Interval(AbstractSupport):
    """All numbers from `low` to `high`; the density may be infinite at either."""

    low: float
    high: float

    @property
    def kind(self) -> str:  # type: ignore[override]
        return "bounded" if np.isfinite(self.low) or np.isfinite(self.high) else "real"

    def contains(self, x: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        return (x >= self.low) & (x <= self.high)

    def __repr__(self) -> str:
        if self.kind == "real":
            return "real"
        return "positive" if self == positive else f"interval({self.low:g}, {self.high:g})"


@dataclass(frozen=True, repr=False)
class Integers(AbstractSupport):
    """All whole numbers from `low` to `high`; None where there is no end."""

    low: int | None
    high: int | None

    kind = "discrete"

    def contains(self, x: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high
        return (x == np.round(x)) & (x >= low) & (x <= high)

    def __repr__(self) -> str:
        return f"integers({self.low}, {self.high})"


@dataclass(frozen=True, repr=False)
class Values(AbstractSupport):
    """A few numbers, in increasing order."""

    values: tuple[float, ...]

    kind = "discrete"

    def contains(self, x: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        return np.isin(x, self.values)

    def __repr__(self) -> str:
        shown = ", ".join(f"{value:g}" for value in self.values[:5])
        return f"values([{shown}{', ...' * (len(self.values) > 5)}])"


real = Interval(-np.inf, np.inf)
"""All numbers, which is what a coordinate takes where nothing else is said."""

undeclared = Interval(-np.inf, np.inf)  # the default of targets: real, as far as anyone said
positive = Interval(0.0, np.inf)
"""All numbers from 0; the density may be infinite at 0."""


def interval(low: float, high: float) -> Interval:
    """The numbers from `low` to `high`, either of which may be infinite.

    >>> interval(0, 1)
    interval(0, 1)
    """
    for name, value in (("low", low), ("high", high)):
        number = as_numbers(value)
        if number is None or number.ndim or np.isnan(number):
            raise InputError(f"{name} is {value!r}: expected a number, or -inf or inf.")
    if not low < high:
        raise InputError(f"low is {low} and high is {high}: expected low below high.")
    return Interval(float(low), float(high))


def integers(low: int | None, high: int | None) -> Integers:
    """The whole numbers from `low` to `high`, both included; None where there is no end.

    Draws are floats that are whole numbers, and the density takes them as such.

    >>> integers(0, 1)
    integers(0, 1)
    """
    for name, value in (("low", low), ("high", high)):
        if value is not None and (not is_whole(value) or abs(value) > LARGEST_INTEGER):
            raise InputError(f"{name} is {value!r}: expected a whole number, or None for no end.")
    if low is not None and high is not None and low >= high:
        raise InputError(f"low is {low} and high is {high}: expected low below high.")
    return Integers(None if low is None else int(low), None if high is None else int(high))


def values(values: Sequence[float]) -> Values:
    """A few numbers, such as the labels of categories.

    >>> values([1, -1])
    values([-1, 1])
    """
    array = as_numbers(values)
    if array is None or array.ndim != 1 or not np.isfinite(array).all():
        raise InputError(f"values is {values!r}: expected a list of finite numbers.")
    if len(array) < 2 or len(np.unique(array)) < len(array):
        raise InputError(
            f"values is {values!r}: expected at least two numbers, none of them twice."
        )
    return Values(tuple(sorted(array.tolist())))


def require_support(support: Any) -> None:
    """Require something that `supports_of` can read, whatever the names of the coordinates."""
    if isinstance(support, AbstractSupport):
        return
    entries = list(support.values()) if isinstance(support, Mapping) else support
    none_needed = isinstance(support, Mapping)
    if not isinstance(entries, (list, tuple)) or not (entries or none_needed):
        raise InputError(_expected(support))
    for entry in entries:
        if not isinstance(entry, AbstractSupport):
            raise InputError(_expected(entry))
    if isinstance(support, Mapping):
        for key in support:
            if not isinstance(key, str) and not is_whole(key):
                raise InputError(
                    f"support has the key {key!r}: expected coordinates by number or name."
                )


def _expected(came: Any) -> str:
    if isinstance(came, str) and came.partition("(")[0] in __all__:
        return f"support is {came!r}, a string: expected sw.support.{came}, an object."
    return (
        f"support is {came!r}: expected sw.support.real, .positive, .interval(low, high), "
        ".integers(low, high) or .values([...]); one for all coordinates, a list with one for "
        "each, or a dict by number or name of those that are not real."
    )


def supports_of(support: Any, names: Sequence[str]) -> tuple[AbstractSupport, ...]:
    """The support of every coordinate, from what a user passed as `support=`.

    >>> supports_of({"sigma": positive}, ["mu", "sigma"])
    (real, positive)
    """
    if isinstance(support, AbstractSupport):
        return (support,) * len(names)
    if not isinstance(support, Mapping):
        if len(support) != len(names):
            raise InputError(
                f"support has {counted(len(support), 'entry', 'entries')} and the draws have "
                f"{counted(len(names), 'coordinate')}: "
                "expected one entry for each, or a dict of those that are not real."
            )
        return tuple(support)
    found: list[AbstractSupport] = [real] * len(names)
    position: dict[Any, int] = {name: j for j, name in enumerate(names)}
    for key, one in support.items():
        j = position.get(key) if isinstance(key, str) else int(key)
        if j is None or not 0 <= j < len(names):
            raise InputError(
                f"support has the key {key!r}, and there is no such coordinate; there are "
                f"{len(names)}: {listed(names)}. Names are those of the draws (names=)."
            )
        found[j] = one
    return tuple(found)


def all_values(support: AbstractSupport) -> Float[np.ndarray, " k"] | None:
    """The values of a support, if it has no more than are summed over."""
    if isinstance(support, Values):
        return np.array(support.values)
    assert isinstance(support, Integers)
    if support.low is None or support.high is None or support.high - support.low >= MOST_VALUES:
        return None
    return np.arange(support.low, support.high + 1.0)


def discrete_among(support: Any, names: Sequence[str]) -> list[int]:
    """The numbers of the discrete coordinates."""
    if not isinstance(support, (AbstractSupport, Mapping, list, tuple)):
        return []
    return [j for j, one in enumerate(supports_of(support, names)) if one.kind == "discrete"]


def is_declared(support: Any) -> bool:
    """Whether someone, a user or an adapter, said where the coordinates of a target live."""
    return support is not undeclared


def is_real(support: Any, names: Sequence[str]) -> bool:
    """Whether all coordinates may take any value."""
    return all(one.kind == "real" for one in supports_of(support, names))
