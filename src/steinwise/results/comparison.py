"""A ranking by discrepancies, with the error of every difference.

Which one is best is decided by the same draws as how much worse the others are. So no verdict rests
on the best as it turned out: all pairs are compared at once, with a bound on the largest |t| of
them, and something is worse than the best if it is worse than any other.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.optional import require
from steinwise._internal.random import plain_seed, stream
from steinwise.calibration.batches import Batches
from steinwise.calibration.jackknife import jackknife_error
from steinwise.errors import InputError
from steinwise.results.check import SCHEMA_VERSION
from steinwise.results.text import aligned

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

BEST, WORSE = "best", "worse than the best"
NOT_TOLD_APART = "not told apart from the best"
TOO_FEW = "too few independent draws to tell"
SIMULATIONS, MOST_SIMULATIONS = 1000, 200_000  # beyond the level's quantile, and in all
ROUNDING = 1e-6  # of a value's error: two whose difference varies less are the same

Replicates = Float[np.ndarray, " batch"]


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
    verdict: str


@dataclass(frozen=True, eq=False)
class Comparison:
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
    without: Mapping[str, Replicates | None] = field(repr=False)
    cuts: Mapping[str, Batches] = field(repr=False)

    @property
    def candidates(self) -> tuple[str, ...]:
        """The names that may be the best; with confidence 1 - alpha the best is among them."""
        return tuple(ranked.name for ranked in self.ranking if ranked.verdict != WORSE)

    def difference(self, name: str, other: str) -> Difference:
        """How much larger the discrepancy of `name` is than that of `other`."""
        values = {ranked.name: ranked.value for ranked in self.ranking}
        for given in (name, other):
            if given not in values:
                raise InputError(f"there is no {given!r}: expected one of {list(values)}.")
        return _difference(name, other, values, self.without, self.cuts)

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
            "ranking": [asdict(ranked) for ranked in self.ranking],
        }

    def to_dataframe(self) -> "pd.DataFrame":
        """One row each, the best first, indexed by name. Needs pandas."""
        pandas = require("pandas", "io", "to_dataframe")
        return pandas.DataFrame([asdict(ranked) for ranked in self.ranking]).set_index("name")

    def plot(self) -> "Figure":
        """The differences to the best, with intervals that hold together."""
        from steinwise.results.plots import plot_comparison

        return plot_comparison(self)

    def __str__(self) -> str:
        rows = [(self.what, "value", "se", "difference", "se", "verdict")]
        for s in self.ranking:
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
        lines.append(f"\nVerdicts hold together at level {self.alpha}, whichever turned out best.")
        return "\n".join(lines)


def rank(
    values: dict[str, float],
    without: dict[str, Replicates | None],
    cuts: dict[str, Batches],
    alpha: float,
    seed: object,
) -> tuple[tuple[Ranked, ...], float | None]:
    """Everything by its value, each judged against the best; and the critical value.

    `without` holds the values without each batch in turn, None where there are too few.
    """
    order = sorted(values, key=values.__getitem__)
    best = order[0]
    critical = critical_value(without, cuts, alpha, seed)
    errors = {n: None if w is None else jackknife_error(w) for n, w in without.items()}

    def worse(name: str, other: str) -> bool:
        apart = _difference(name, other, values, without, cuts)
        if critical is None or apart.standard_error is None:
            return False
        least = ROUNDING * max(errors[name] or 0.0, errors[other] or 0.0)
        return apart.standard_error > least and apart.value > critical * apart.standard_error

    ranked = []
    for name in order:
        apart = _difference(name, best, values, without, cuts)
        if name == best:
            verdict = BEST
        elif any(worse(name, other) for other in order):
            verdict = WORSE
        else:
            verdict = TOO_FEW if apart.standard_error is None else NOT_TOLD_APART
        ranked.append(
            Ranked(
                name=name,
                value=values[name],
                standard_error=errors[name],
                difference=apart.value,
                difference_error=apart.standard_error,
                verdict=verdict,
            )
        )
    return tuple(ranked), critical


def critical_value(
    without: Mapping[str, Replicates | None],
    cuts: Mapping[str, Batches],
    alpha: float,
    seed: object,
) -> float | None:
    """What the largest |t| over all pairs exceeds with probability alpha where all are equal.

    The differences are jointly normal, with covariances from the batches, and their errors have as
    many degrees of freedom as there are batches, less one: the quantile of a multivariate t law,
    by simulation. Never more than what Bonferroni's inequality allows.
    """
    from scipy import stats

    known = {name: replicates for name, replicates in without.items() if replicates is not None}
    if len(known) < 2:
        return None
    freedom = min(cuts[name].count for name in known) - 1
    pairs = len(known) * (len(known) - 1) / 2
    bonferroni = float(stats.t.isf(alpha / (2 * pairs), freedom))
    count = int(np.ceil(SIMULATIONS / alpha))
    if count > MOST_SIMULATIONS:
        return bonferroni
    covariance = _covariance(known, cuts)
    own = np.diagonal(covariance)
    spread = np.sqrt(np.maximum(own[:, None] + own - 2 * covariance, 0.0))
    told = spread > ROUNDING * np.sqrt(np.maximum(own[:, None], own))
    scale, vectors = np.linalg.eigh(covariance)
    rng = stream(seed, "largest t")
    normal = rng.normal(size=(count, len(own))) * np.sqrt(np.maximum(scale, 0.0)) @ vectors.T
    largest = np.zeros(count)
    for a in range(len(own)):  # all pairs at once would take as much memory as there are pairs
        unit = np.where(told[a], spread[a], np.inf)
        largest = np.maximum(largest, (np.abs(normal - normal[:, [a]]) / unit).max(axis=1))
    largest /= np.sqrt(rng.chisquare(freedom, size=count) / freedom)
    return min(float(np.quantile(largest, 1 - alpha)), bonferroni)


def _covariance(
    known: Mapping[str, Replicates], cuts: Mapping[str, Batches]
) -> Float[np.ndarray, "k k"]:
    """Of the values, by the jackknife; 0 between those that do not share their batches."""
    centred = {name: (w - w.mean()) * np.sqrt((len(w) - 1) / len(w)) for name, w in known.items()}
    return np.array(
        [
            [u @ v if _paired(a, b, cuts) else 0.0 for b, v in centred.items()]
            for a, u in centred.items()
        ]
    )


def _paired(name: str, other: str, cuts: Mapping[str, Batches]) -> bool:
    return np.array_equal(cuts[name].bounds, cuts[other].bounds)


def _difference(
    name: str,
    other: str,
    values: Mapping[str, float],
    without: Mapping[str, Replicates | None],
    cuts: Mapping[str, Batches],
) -> Difference:
    value = values[name] - values[other]
    one, two = without[name], without[other]
    paired = _paired(name, other, cuts)
    if name == other:
        return Difference(0.0, 0.0, True)
    if one is None or two is None:
        return Difference(value, None, paired)
    if paired:
        return Difference(value, jackknife_error(one - two), True)
    return Difference(value, float(np.hypot(jackknife_error(one), jackknife_error(two))), False)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2g}"
