"""`SetComparison`: several sets of draws, each checked, in the order of how far off they are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steinwise._internal.optional import require
from steinwise._internal.random import plain_seed
from steinwise.errors import InputError
from steinwise.results import text, wording
from steinwise.results.check import CheckResult
from steinwise.results.interval_plots import IntervalRow, plot_intervals
from steinwise.results.largest_error import LargestError
from steinwise.results.listing import Listing
from steinwise.results.record import SCHEMA_VERSION
from steinwise.results.set_evidence import SetEvidence
from steinwise.results.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class RankedSet:
    """One set of draws in a comparison."""

    name: str
    evidence: SetEvidence | None  # None where the draws are too few for a check
    standing: str  # a key of `wording.SET_STANDINGS`

    @property
    def pvalue(self) -> float | None:
        """Of its check; like all that follows None where the draws are too few for one."""
        return None if self.evidence is None else self.evidence.pvalue

    @property
    def flagged(self) -> int | None:
        """How many coordinates its check names."""
        return None if self.evidence is None else self.evidence.flagged

    @property
    def mean_error(self) -> float | None:
        """The largest, in sds of the target."""
        return None if self.evidence is None else self.evidence.mean_error

    @property
    def sd_ratio(self) -> float | None:
        """The farthest from 1."""
        return None if self.evidence is None else self.evidence.sd_ratio

    @property
    def largest_error(self) -> LargestError | None:
        """Of means and sds, with an interval that holds together with those of the other sets."""
        return None if self.evidence is None else self.evidence.largest_error

    @property
    def verdict(self) -> str:
        """What its check says, and how it compares with the first, in words."""
        found = self.evidence
        if found is None or not found.rejected:
            return wording.set_verdict(self.standing, misfit=False)
        return wording.set_verdict(self.standing, misfit=True, worst=found.worst)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python objects."""
        found = {} if self.evidence is None else self.evidence.to_dict()
        return {"name": self.name, "standing": self.standing, "verdict": self.verdict, **found}


@dataclass(frozen=True, eq=False, repr=False)
class SetComparison(Shown):
    """The answer of `sw.compare`, the best first; ``comparison["name"]`` is the check of one set.

    The intervals of the largest errors of all sets hold together with confidence 1 - alpha.
    """

    ranking: tuple[RankedSet, ...]
    checks: Mapping[str, CheckResult] = field(repr=False)  # of all sets that have enough draws
    description: str
    alpha: float
    notes: tuple[str, ...]
    seed: Any
    version: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranking", Listing.of(self.ranking, _table))

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names of sets whose largest error may be the least of all.

        With confidence 1 - alpha the set with the least one is among them.
        """
        return tuple(ranked.name for ranked in self.ranking if ranked.standing != "worse")

    def __getitem__(self, name: str) -> CheckResult:
        """The check of one set."""
        if not isinstance(name, str) or name not in self.checks:
            raise InputError(f"there is no check of {name!r}: expected one of {list(self.checks)}.")
        return self.checks[name]

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain Python objects; without the checks, which have their own."""
        return {
            "schema_version": SCHEMA_VERSION,
            "description": self.description,
            "alpha": float(self.alpha),
            "candidates": list(self.candidates),
            "notes": list(self.notes),
            "seed": plain_seed(self.seed),
            "version": self.version,
            "ranking": [ranked.to_dict() for ranked in self.ranking],
        }

    def to_dataframe(self) -> "pd.DataFrame":
        """One row each, the best first, indexed by name. Needs pandas."""
        pandas = require("pandas", "io", "to_dataframe")
        rows = [ranked.to_dict() for ranked in self.ranking]
        for row in rows:
            error = row.pop("largest_error", {})
            row |= {"largest_error": error.get("size")}
            row |= {f"largest_error_{end}": error.get(end) for end in ("low", "high")}
        return pandas.DataFrame(rows).set_index("name")

    def plot(self) -> "Figure":
        """The largest error of each set, with intervals that hold together."""
        intervals = [_interval(ranked.name, ranked.evidence) for ranked in self.ranking]
        return plot_intervals(intervals, wording.LABELS["largest error"], self.alpha)

    def __str__(self) -> str:
        _, *rows = _table(self.ranking)
        checked = [(r.name, r.evidence, r.standing == "worse") for r in self.ranking if r.evidence]
        closing = wording.sets_closing(
            [name for name, found, _ in checked if not found.rejected],
            [name for name, _, worse in checked if worse],
            [name for name, found, worse in checked if not worse and found.all_known],
            [name for name, found, worse in checked if not worse and not found.all_known],
            self.alpha,
        )
        unknown = not all(found.all_known for _, found, _ in checked)
        return text.set_comparison(self.description, rows, self.notes, closing, unknown)


def _interval(name: str, found: SetEvidence | None) -> IntervalRow:
    """Of the largest error, which is not known where some errors are not: it has a least size."""
    if found is None:
        return IntervalRow(name, None, None, None, stands_out=False)
    error = found.largest_error
    if error.high is None:
        return IntervalRow(name, None, error.low or None, None, found.rejected)
    return IntervalRow(name, error.size, error.low, error.high, found.rejected)


def _table(ranking: Sequence[RankedSet]) -> list[tuple[str, ...]]:
    rows = [(r.name, *_cells(r.evidence), r.verdict) for r in ranking]
    return [("draws", *text.EVIDENCE_COLUMNS, "verdict"), *rows]


def _cells(found: SetEvidence | None) -> tuple[str, ...]:
    if found is None:
        return ("-",) * len(text.EVIDENCE_COLUMNS)
    mean = ratio = wording.UNKNOWN
    if found.mean_error is not None and found.sd_ratio is not None:
        mean = wording.or_worse(f"{found.mean_error:+.2f}", not found.all_known)
        ratio = wording.or_worse(f"{found.sd_ratio:.2f}", not found.all_known)
    error = found.largest_error
    interval = wording.error_interval(error.low, error.high)
    return wording.pvalue(found.pvalue), str(found.flagged), mean, ratio, interval
