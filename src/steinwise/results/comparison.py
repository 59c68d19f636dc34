"""`Comparison`: several sets of draws, or several models, ranked by a discrepancy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from steinwise._internal.optional import require
from steinwise._internal.random import plain_seed
from steinwise.errors import InputError
from steinwise.results import text, wording
from steinwise.results.interval_plots import IntervalRow, plot_intervals
from steinwise.results.listing import Listing
from steinwise.results.record import SCHEMA_VERSION
from steinwise.results.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Difference(NamedTuple):
    """How much farther apart one pair of draws and density is than another."""

    value: float
    standard_error: float | None  # None where either has none
    paired: bool  # from the differences of batches


@dataclass(frozen=True)
class Ranked:
    """One set of draws, or one model, in a comparison."""

    name: str
    value: float  # the squared discrepancy; an unbiased estimate can be negative near 0
    standard_error: float | None  # None where the draws make too few batches
    difference: float  # to the best
    difference_error: float | None
    standing: str  # a key of `wording.COMPARISON_VERDICTS`

    @property
    def verdict(self) -> str:
        """How it compares with the best, in words."""
        return wording.COMPARISON_VERDICTS[self.standing]

    def to_dict(self) -> dict[str, Any]:
        """As plain Python objects."""
        return {
            "name": self.name,
            "value": self.value,
            "standard_error": self.standard_error,
            "difference": self.difference,
            "difference_error": self.difference_error,
            "verdict": self.verdict,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """The answer of `sw.compare_models`, and of `sw.compare` by KSD, the best first.

    `critical` is how many standard errors every difference may be off, for all of them together
    with confidence 1 - alpha; None where none has an error.
    """

    ranking: tuple[Ranked, ...]
    what: str  # is ranked: "draws" or "model"
    description: str
    alpha: float
    critical: float | None
    notes: tuple[str, ...]
    seed: Any
    version: str
    differences: Mapping[tuple[str, str], Difference] = field(repr=False)  # of all pairs of names

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranking", Listing.of(self.ranking, _table))

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names that may be the best; with confidence 1 - alpha the best is among them."""
        return tuple(ranked.name for ranked in self.ranking if ranked.standing != "worse")

    def difference(self, name: str, other: str) -> Difference:
        """How much larger the discrepancy of `name` is than that of `other`."""
        names = [ranked.name for ranked in self.ranking]
        for given in (name, other):
            if given not in names:
                raise InputError(f"there is no {given!r}: expected one of {names}.")
        return self.differences[name, other]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain Python objects."""
        return {
            "schema_version": SCHEMA_VERSION,
            "what": self.what,
            "description": self.description,
            "alpha": float(self.alpha),
            "critical": self.critical,
            "candidates": list(self.candidates),
            "notes": list(self.notes),
            "seed": plain_seed(self.seed),
            "version": self.version,
            "ranking": [ranked.to_dict() for ranked in self.ranking],
        }

    def to_dataframe(self) -> "pd.DataFrame":
        """One row each, the best first, indexed by name. Needs pandas."""
        pandas = require("pandas", "io", "to_dataframe")
        return pandas.DataFrame([ranked.to_dict() for ranked in self.ranking]).set_index("name")

    def plot(self) -> "Figure":
        """The differences to the best, with intervals that hold together."""
        intervals = []
        for r in self.ranking:
            low = high = None
            if self.critical is not None and r.difference_error is not None:
                reach = self.critical * r.difference_error
                low, high = r.difference - reach, r.difference + reach
            worse = r.standing == "worse"
            intervals.append(IntervalRow(r.name, r.difference, low, high, worse))
        return plot_intervals(intervals, wording.LABELS["difference"], self.alpha)

    def __str__(self) -> str:
        closing = wording.comparison_closing(self.alpha)
        rows = map(_row, self.ranking)
        return text.comparison(self.what, self.description, [*rows], self.notes, closing)


def _table(ranking: Sequence[Ranked]) -> list[tuple[str, ...]]:
    return [("name", *text.RANKING_COLUMNS), *map(_row, ranking)]


def _row(ranked: Ranked) -> tuple[str, ...]:
    best = ranked.standing == "best"
    return (
        ranked.name,
        f"{ranked.value:.4g}",
        _number(ranked.standard_error),
        "" if best else f"{ranked.difference:.4g}",
        "" if best else _number(ranked.difference_error),
        ranked.verdict,
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"
