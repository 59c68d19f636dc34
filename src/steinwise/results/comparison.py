"""`Comparison`: several sets of draws, or several models, ranked by their discrepancies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from steinwise._internal.optional import require
from steinwise._internal.random import plain_seed
from steinwise.errors import InputError
from steinwise.results import plots, text, wording
from steinwise.results.record import SCHEMA_VERSION
from steinwise.results.set_evidence import SetEvidence
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
    evidence: SetEvidence | None = None  # of a set of draws, where there are enough for a verdict

    @property
    def verdict(self) -> str:
        """How it compares with the best, in words."""
        misfit = self.evidence is not None and self.evidence.rejected
        return wording.comparison_verdict(self.standing, misfit)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python objects."""
        return {
            "name": self.name,
            "value": self.value,
            "standard_error": self.standard_error,
            "difference": self.difference,
            "difference_error": self.difference_error,
            "verdict": self.verdict,
            "evidence": None if self.evidence is None else self.evidence.to_dict(),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown):
    """The answer of `sw.compare` and `sw.compare_models`, the best first.

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
        rows = [ranked.to_dict() for ranked in self.ranking]
        flat = [row | (row.pop("evidence") or {}) for row in rows]
        return pandas.DataFrame(flat).set_index("name")

    def plot(self) -> "Figure":
        """The differences to the best, with intervals that hold together."""
        intervals = [
            plots.Interval(r.name, r.difference, r.difference_error, r.standing == "worse")
            for r in self.ranking
        ]
        return plots.plot_differences(intervals, self.critical, self.alpha)

    def __str__(self) -> str:
        checked = any(ranked.evidence is not None for ranked in self.ranking)
        rows = [_row(ranked, checked) for ranked in self.ranking]
        return text.comparison(self.what, self.description, rows, self.notes, self.alpha, checked)


def _row(ranked: Ranked, checked: bool) -> tuple[str, ...]:
    best = ranked.standing == "best"
    return (
        ranked.name,
        *(_evidence_cells(ranked.evidence) if checked else ()),
        f"{ranked.value:.4g}",
        _number(ranked.standard_error),
        "" if best else f"{ranked.difference:.4g}",
        "" if best else _number(ranked.difference_error),
        ranked.verdict,
    )


def _evidence_cells(evidence: SetEvidence | None) -> tuple[str, ...]:
    if evidence is None:
        return ("-",) * len(text.EVIDENCE_COLUMNS)
    unknown = wording.UNKNOWN
    mean = unknown if evidence.mean_error is None else f"{evidence.mean_error:+.2f}"
    ratio = unknown if evidence.sd_ratio is None else f"{evidence.sd_ratio:.2f}"
    return wording.pvalue(evidence.pvalue), str(evidence.flagged), mean, ratio


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"
