"""`Summary`: means, sds and quantiles of draws next to the target's, with the error of each."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from steinwise.results.quantity import COLUMNS, Quantity
from steinwise.results.record import SCHEMA_VERSION, json_text
from steinwise.results.shown import Shown

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure


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
