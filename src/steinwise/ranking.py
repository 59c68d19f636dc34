"""A ranking of sets of draws, with the error of every difference."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise.batches import Batches
from steinwise.calibration import jackknife_error
from steinwise.errors import InputError
from steinwise.optional import require
from steinwise.results import SCHEMA_VERSION, aligned, plain_seed

if TYPE_CHECKING:
    import pandas as pd

BEST, WORSE = "best", "worse than the best"
NOT_TOLD_APART = "not told apart from the best"
TOO_FEW = "too few independent draws to tell"


class Difference(NamedTuple):
    """How much farther from the target one set is than another."""

    value: float
    standard_error: float | None  # None where either set has none
    paired: bool  # from the differences of batches


@dataclass(frozen=True)
class RankedSet:
    """One set of draws in a comparison."""

    name: str
    value: float  # the squared discrepancy; an unbiased estimate can be negative near 0
    standard_error: float | None  # None where the draws make too few batches
    difference: float  # to the best
    difference_error: float | None
    verdict: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """The answer of `sw.compare`: sets of draws, the nearest to the target first."""

    sets: tuple[RankedSet, ...]
    description: str
    alpha: float
    notes: tuple[str, ...]
    seed: Any
    version: str
    without: Mapping[str, Float[np.ndarray, " batch"] | None] = field(repr=False)
    cuts: Mapping[str, Batches] = field(repr=False)

    def difference(self, name: str, other: str) -> Difference:
        """How much farther the set `name` is from the target than the set `other`."""
        values = {ranked.name: ranked.value for ranked in self.sets}
        for given in (name, other):
            if given not in values:
                raise InputError(f"there is no set {given!r}: expected one of {list(values)}.")
        return _difference(name, other, values, self.without, self.cuts)

    def to_dict(self) -> dict[str, Any]:
        """The comparison as plain Python objects."""
        return {
            "schema_version": SCHEMA_VERSION,
            "description": self.description,
            "alpha": float(self.alpha),
            "notes": list(self.notes),
            "seed": plain_seed(self.seed),
            "version": self.version,
            "sets": [asdict(ranked) for ranked in self.sets],
        }

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per set, the best first, indexed by its name. Needs pandas."""
        pandas = require("pandas", "io", "to_dataframe")
        return pandas.DataFrame([asdict(ranked) for ranked in self.sets]).set_index("name")

    def __str__(self) -> str:
        rows = [("draws", "value", "se", "difference", "se", "verdict")]
        for s in self.sets:
            first = s.verdict == BEST
            rows.append(
                (
                    s.name,
                    f"{s.value:.4g}",
                    _number(s.standard_error),
                    "" if first else f"{s.difference:.4g}",
                    "" if first else _number(s.difference_error),
                    s.verdict,
                )
            )
        lines = ["steinwise comparison", f"  {self.description}", ""]
        lines += ["  " + line for line in aligned(rows)]
        lines += [f"\nNote: {note}" for note in self.notes]
        lines.append(
            f"\nVerdicts hold together at level {self.alpha}, for the best as it turned out."
        )
        return "\n".join(lines)


def rank(
    values: dict[str, float],
    without: dict[str, np.ndarray | None],
    cuts: dict[str, Batches],
    alpha: float,
) -> tuple[RankedSet, ...]:
    """The sets by their values, each judged against the best.

    `without` holds the values without each batch in turn, None for a set that has too few.
    """
    from scipy import stats

    order = sorted(values, key=values.__getitem__)
    best = order[0]
    pairs = len(order) * (len(order) - 1) / 2  # the best is chosen by the data: allow for any pair
    ranked = []
    for name in order:
        error = without[name]
        apart = _difference(name, best, values, without, cuts)
        verdict = BEST if name == best else TOO_FEW
        if name != best and apart.standard_error is not None:
            freedom = min(cuts[name].count, cuts[best].count) - 1
            bound = stats.t.isf(alpha / (2 * pairs), freedom) * apart.standard_error
            verdict = WORSE if apart.value > bound else NOT_TOLD_APART
        ranked.append(
            RankedSet(
                name=name,
                value=values[name],
                standard_error=None if error is None else jackknife_error(error),
                difference=apart.value,
                difference_error=apart.standard_error,
                verdict=verdict,
            )
        )
    return tuple(ranked)


def _difference(
    name: str,
    other: str,
    values: Mapping[str, float],
    without: Mapping[str, np.ndarray | None],
    cuts: Mapping[str, Batches],
) -> Difference:
    value = values[name] - values[other]
    one, two = without[name], without[other]
    paired = np.array_equal(cuts[name].bounds, cuts[other].bounds)
    if name == other:
        return Difference(0.0, 0.0, True)
    if one is None or two is None:
        return Difference(value, None, paired)
    if paired:
        return Difference(value, jackknife_error(one - two), True)
    return Difference(value, float(np.hypot(jackknife_error(one), jackknife_error(two))), False)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"
