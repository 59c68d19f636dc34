"""`Summary`: means, sds and quantiles of draws next to the target's, with the error of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from steinwise._internal.coordinates import near_names
from steinwise._internal.escaping import listed
from steinwise._internal.optional import require
from steinwise._internal.random import plain_seed
from steinwise.errors import InputError
from steinwise.results import compact_html, summary_html, text, wording
from steinwise.results.interval_plots import AnswerRow, plot_answers
from steinwise.results.listing import Listing
from steinwise.results.modes import ModeSplit
from steinwise.results.page_source import page_source
from steinwise.results.record import SCHEMA_VERSION, json_text
from steinwise.results.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure

NOISE = 2.0  # standard errors within uncertainties, and of one quantity by itself


@dataclass(frozen=True)
class Estimate:
    """The target's mean and sd as one way gives them; NaN where it gives none."""

    state: str  # "given", or why not: a key of `wording.WAY_STATES`
    mean: float
    mean_error: float  # standard error
    mean_uncertainty: float  # half of a 95 % interval, possible bias included
    sd: float
    sd_error: float
    sd_uncertainty: float


@dataclass(frozen=True)
class Quantity:
    """A coordinate, or a function of the coordinates: as drawn, and as it should be."""

    name: str
    mean: float
    sd: float
    mcse_mean: float  # Monte Carlo errors of the two
    mcse_sd: float
    quantiles: tuple[float, ...]
    corrected_quantiles: tuple[float, ...]
    quantile_uncertainties: tuple[float, ...]
    by_scores: Estimate
    by_lines: Estimate
    # standard errors that a difference may have without being a bias, all quantities together
    noise: float = NOISE

    @property
    def agree(self) -> bool | None:
        """Whether the two ways agree within their uncertainties; None where one gives nothing."""
        found = [
            abs(one - other) <= reach
            for one, other, reach in (
                (
                    self.by_scores.mean,
                    self.by_lines.mean,
                    self.by_scores.mean_uncertainty + self.by_lines.mean_uncertainty,
                ),
                (
                    self.by_scores.sd,
                    self.by_lines.sd,
                    self.by_scores.sd_uncertainty + self.by_lines.sd_uncertainty,
                ),
            )
            if np.isfinite(reach)
        ]
        return all(found) if found else None

    def _from(self, field: str) -> Estimate | None:
        """The way that a corrected number comes from: by scores if it has one, else by lines."""
        if self.agree is False:
            return None
        ways = (self.by_scores, self.by_lines)
        return next((way for way in ways if np.isfinite(getattr(way, field))), None)

    def _number(self, field: str, of: str) -> float:
        way = self._from(of)
        return np.nan if way is None else getattr(way, field)

    @property
    def corrected_mean(self) -> float:
        """The target's mean; NaN where it cannot be given."""
        return self._number("mean", "mean")

    @property
    def corrected_sd(self) -> float:
        """The target's sd; NaN where it cannot be given."""
        return self._number("sd", "sd")

    @property
    def corrected_mean_uncertainty(self) -> float:
        """Half of a 95 % interval for the target's mean."""
        return self._number("mean_uncertainty", "mean")

    @property
    def corrected_sd_uncertainty(self) -> float:
        """Half of a 95 % interval for the target's sd."""
        return self._number("sd_uncertainty", "sd")

    @property
    def mean_error(self) -> float:
        """(mean - corrected mean) / corrected sd."""
        return _ratio(self.mean - self.corrected_mean, self.corrected_sd)

    @property
    def mean_error_uncertainty(self) -> float:
        """Half of a 95 % interval for the error of this mean."""
        return _ratio(self.corrected_mean_uncertainty, self.corrected_sd)

    @property
    def mean_error_se(self) -> float:
        """The standard error that `mean_error` has if the draws' distribution is right."""
        error = self._number("mean_error", "mean")
        return _ratio(float(np.hypot(self.mcse_mean, error)), self.corrected_sd)

    @property
    def sd_ratio(self) -> float:
        """sd / corrected sd."""
        return _ratio(self.sd, self.corrected_sd)

    @property
    def sd_ratio_uncertainty(self) -> float:
        """Half of a 95 % interval for the ratio."""
        return _ratio(self.sd_ratio * self.corrected_sd_uncertainty, self.corrected_sd)

    @property
    def sd_ratio_se(self) -> float:
        """The standard error that `sd_ratio` has if the draws' distribution is right."""
        error = self._number("sd_error", "sd")
        return _ratio(float(np.hypot(self.mcse_sd, error * self.sd_ratio)), self.corrected_sd)

    @property
    def mean_is_biased(self) -> bool:
        """Whether the mean is off by more than its uncertainty and its Monte Carlo error."""
        chance = self._chance(self._number("mean_error", "mean"), self.mcse_mean)
        return abs(self.mean - self.corrected_mean) > self.corrected_mean_uncertainty + chance

    @property
    def sd_is_biased(self) -> bool:
        """Whether the sd is off by more than its uncertainty and its Monte Carlo error."""
        chance = self._chance(self._number("sd_error", "sd"), self.mcse_sd)
        return abs(self.sd - self.corrected_sd) > self.corrected_sd_uncertainty + chance

    def _chance(self, error: float, mcse: float) -> float:
        """What comes by chance on top of an uncertainty."""
        return (self.noise - NOISE) * error + self.noise * mcse

    @property
    def way(self) -> str:
        """Where the corrected numbers come from, "scores" or "lines", or "" for none."""
        found = self._from("sd") or self._from("mean")
        return "" if found is None else "scores" if found is self.by_scores else "lines"

    @property
    def reason(self) -> str:
        """Why there is no number where there is none; "" where both are given."""
        if np.isfinite(self.corrected_mean) and np.isfinite(self.corrected_sd):
            return ""
        return wording.summary_reason([self.by_scores.state, self.by_lines.state], self.agree)

    @property
    def verdict(self) -> str:
        """What is wrong with the mean and the sd, or why that cannot be said."""
        at_most = (
            abs(self.mean - self.corrected_mean) + self.corrected_mean_uncertainty,
            abs(self.sd - self.corrected_sd) + self.corrected_sd_uncertainty,
        )
        return wording.summary_verdict(
            self.reason,
            means=(self.mean, self.corrected_mean),
            sds=(self.sd, self.corrected_sd),
            at_most=(_ratio(at_most[0], self.corrected_sd), _ratio(at_most[1], self.corrected_sd)),
            mean_is_biased=self.mean_is_biased,
            sd_is_biased=self.sd_is_biased,
        )

    @property
    def badness(self) -> float:
        """The error of mean or sd in sds, which quantities are ordered by; -1 for those without."""
        unit = self.corrected_sd if np.isfinite(self.corrected_sd) else self.sd
        ratio = np.log(self.sd_ratio) if self.sd_ratio > 0 else np.nan
        errors = [abs(_ratio(self.mean - self.corrected_mean, unit)), abs(ratio)]
        return max((error for error in errors if np.isfinite(error)), default=-1.0)

    def to_dict(self) -> dict[str, Any]:
        """As plain Python objects."""
        return asdict(self) | {name: getattr(self, name) for name in DERIVED}


COLUMNS = (
    "mean",
    "sd",
    "mcse_mean",
    "mcse_sd",
    "corrected_mean",
    "corrected_mean_uncertainty",
    "corrected_sd",
    "corrected_sd_uncertainty",
    "mean_error",
    "mean_error_uncertainty",
    "mean_error_se",
    "sd_ratio",
    "sd_ratio_uncertainty",
    "sd_ratio_se",
)
DERIVED = (*COLUMNS[4:], "agree", "way", "mean_is_biased", "sd_is_biased", "verdict")


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Shown):
    """The answer of `sw.summary`."""

    quantities: tuple[Quantity, ...]  # coordinates, then functions
    shares: tuple[float, ...]  # the probabilities of the quantiles
    n: int
    refreshed: int  # draws that were refreshed
    sweeps: int
    seed: Any
    split: ModeSplit | None  # a mode with a wrong share of the draws: then no number is given
    notes: tuple[str, ...]
    version: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantities", Listing.of(self.quantities, _table))

    def __getitem__(self, name: str) -> Quantity:
        """A quantity by its name."""
        for quantity in self.quantities:
            if quantity.name == name:
                return quantity
        names = [quantity.name for quantity in self.quantities]
        raise InputError(
            f"there is no quantity {name!r}; there are {listed(names, most=10)}."
            f"{near_names(name, names)}"
        )

    @property
    def worst_first(self) -> tuple[Quantity, ...]:
        """The quantities by their errors; those that cannot be corrected come last."""
        return tuple(sorted(self.quantities, key=lambda quantity: -quantity.badness))

    def _columns(self) -> dict[str, list[Any]]:
        table: dict[str, list[Any]] = {
            column: [getattr(quantity, column) for quantity in self.quantities]
            for column in COLUMNS
        }
        for k, share in enumerate(self.shares):
            label = f"q{100 * share:g}"
            table[label] = [q.quantiles[k] for q in self.quantities]
            table[f"corrected_{label}"] = [q.corrected_quantiles[k] for q in self.quantities]
            uncertainty = [q.quantile_uncertainties[k] for q in self.quantities]
            table[f"corrected_{label}_uncertainty"] = uncertainty
        table["way"] = [q.way for q in self.quantities]
        table["verdict"] = [q.verdict for q in self.quantities]
        return table

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per quantity, indexed by its name; NaN where nothing can be given. Needs pandas.

        The names are those of ``az.summary``: ``az.summary(idata).join(frame, rsuffix="_drawn")``.
        """
        pandas = require("pandas", "io", "to_dataframe")
        names = pandas.Index([quantity.name for quantity in self.quantities], name="name")
        return pandas.DataFrame(self._columns(), index=names)

    def to_dataset(self) -> "xr.Dataset":
        """The same as an xarray Dataset along the dimension `quantity`. Needs xarray."""
        xarray = require("xarray", "io", "to_dataset")
        variables = {
            name: ("quantity", np.array(column, dtype=object if _is_text(column) else float))
            for name, column in self._columns().items()
        }
        names = np.array([quantity.name for quantity in self.quantities], dtype=object)
        attributes = {
            "schema_version": SCHEMA_VERSION,
            "version": self.version,
            "seed": plain_seed(self.seed),
            "sweeps": self.sweeps,
            "refreshed": self.refreshed,
            "notes": "\n".join(self.notes),
        }
        return xarray.Dataset(variables, {"quantity": names}, attributes)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain Python objects."""
        return {
            "schema_version": SCHEMA_VERSION,
            "version": self.version,
            "n": self.n,
            "refreshed": self.refreshed,
            "sweeps": self.sweeps,
            "seed": plain_seed(self.seed),
            "shares": list(self.shares),
            "split": None if self.split is None else self.split.to_dict(),
            "notes": list(self.notes),
            "quantities": [quantity.to_dict() for quantity in self.quantities],
        }

    def to_json(self) -> str:
        """`to_dict` as JSON; a number that JSON does not have as a string."""
        return json_text(self.to_dict())

    def plot(self) -> "Figure":
        """Means with one sd to either side, as drawn and corrected, the worst on top."""
        rows = [
            AnswerRow(
                q.name, q.mean, q.sd, q.corrected_mean, q.corrected_sd, q.corrected_mean_uncertainty
            )
            for q in self.worst_first
        ]
        return plot_answers(rows)

    def to_html(self, source: Mapping[str, str] | None = None) -> str:
        """The table and the picture as one self-contained HTML page. Needs matplotlib.

        `source` says where the draws come from, as names and values that the page shows.
        """
        return summary_html.page(self.html_part(), page_source(source), self.version)

    def html_part(self) -> Iterator[str]:
        """What a page shows of it, by itself or as part of a check's: `check.to_html(summary)`."""
        return summary_html.part(self._rows(), *self._frame(), self.plot)

    def _repr_html_(self) -> str:
        """What a notebook shows: the table and the picture."""
        rows = [
            (row.wrong, (row.name, *(cell.shown for cell in row.numbers), row.verdict))
            for row in self._rows()
        ]
        return compact_html.summary(rows, *self._frame(), self.plot)

    def __str__(self) -> str:
        rows = [
            # why rows have no number is said once for all of them, in the closing
            (row.name, *(cell.shown for cell in row.numbers), row.verdict if q.way else "")
            for q, row in zip(self.worst_first, self._rows(), strict=True)
        ]
        return text.summary(rows, *self._frame())

    def _rows(self) -> list[summary_html.Row]:
        return [
            summary_html.Row(q.name, _cells(q), q.verdict, q.mean_is_biased or q.sd_is_biased)
            for q in self.worst_first
        ]

    def _frame(self) -> tuple[str, tuple[str, ...], str]:
        """How the numbers were obtained, what must be said first, and how to read them."""
        missing: dict[str, list[str]] = {}
        for q in self.worst_first:
            if not q.way:
                missing.setdefault(q.reason, []).append(q.name)
        agree = [q.agree for q in self.quantities if q.agree is not None]
        states = {q.by_lines.state for q in self.quantities}
        unsettled = self.sweeps if states & set(wording.UNSETTLED) else None
        shown = [cell.shown for row in self._rows() for cell in row.numbers]
        closing = wording.summary_closing(
            len(self.quantities), missing, agree, unsettled, any("+-" in cell for cell in shown)
        )
        return wording.summary_fact(self.n, self.refreshed, self.sweeps), self.notes, closing


def _ratio(value: float, unit: float) -> float:
    """In a unit; NaN where that is 0, as the sd of a constant."""
    return value / unit if unit else np.nan


def _is_text(column: list[Any]) -> bool:
    return isinstance(column[0], str)


def _cells(q: Quantity) -> tuple[summary_html.Cell, ...]:
    corrected = wording.with_uncertainty
    unit = q.corrected_sd if np.isfinite(q.corrected_sd) else q.sd
    mean = corrected(q.corrected_mean, q.corrected_mean_uncertainty, unit)
    sd = corrected(q.corrected_sd, q.corrected_sd_uncertainty, unit)
    return (
        summary_html.Cell(q.mean, f"{q.mean:.4g}"),
        summary_html.Cell(q.corrected_mean, mean),
        summary_html.Cell(q.sd, f"{q.sd:.4g}"),
        summary_html.Cell(q.corrected_sd, sd),
    )


def _table(quantities: Sequence[Quantity]) -> list[tuple[str, ...]]:
    rows = [(q.name, *(cell.shown for cell in _cells(q)), q.verdict) for q in quantities]
    return [tuple(wording.SUMMARY_COLUMNS), *rows]
