"""`CheckResult`: a record that shows itself as text, page, table and picture."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from steinwise._internal.coordinates import near_names
from steinwise._internal.escaping import listed, printable
from steinwise.errors import InputError
from steinwise.results import check_text, compact_html, html, pit_plots, plots, tables, witness
from steinwise.results.coordinate import CoordinateResult
from steinwise.results.influence import InfluentialDraw
from steinwise.results.layout import plain
from steinwise.results.listing import Listing
from steinwise.results.page_source import NO_FILE, page_source
from steinwise.results.record import CheckRecord
from steinwise.results.shown import Shown
from steinwise.results.summary import Summary
from steinwise.results.wording import PAGE

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class CheckResult(Shown, CheckRecord):
    """The answer of `sw.check`.

    `statistic` is the printed number, which is compared with `threshold`. `discrepancy` is the
    squared KSD, FSSD, ... of a method that has one, in its own units; None for the default check.
    """

    @property
    def coordinates(self) -> Listing[CoordinateResult]:
        """The verdict on each coordinate and direction, the worst first, as they are printed.

        ``result["tau"]`` is the verdict on one of them.
        """
        return self._listed(super().coordinates)

    def __getitem__(self, name: str) -> CoordinateResult:
        """The verdict on a coordinate by its name or label, or on a direction by its number."""
        known = {c.name: c for c in self.findings.coordinates}
        known |= {name.split(" (")[0]: known[name] for name in self.direction_names}
        name = self.findings.name_of(name)
        if not isinstance(name, str) or name not in known:
            names = [c.name for c in self.findings.coordinates]
            raise InputError(
                f"there is no coordinate {name!r}; there are {listed(names, most=10)}."
                f"{near_names(name, names)}"
            )
        return known[name]

    @property
    def flagged(self) -> Listing[CoordinateResult]:
        """The coordinates whose adjusted p-value is at most alpha, the worst first."""
        return self._listed(super().flagged)

    def influential(self, k: int = 10, coordinate: str | None = None) -> Listing[InfluentialDraw]:
        """The k draws that add most to the misfit, of all coordinates or of one.

        For KCC-SD what a draw adds is its contribution, for KSD its mean over pairs with other
        draws. For the default check it is how far out it lies where it lies farthest: -log10 of
        the probability to do so, in the target's conditional.
        """
        draws = super().influential(k, coordinate)
        return Listing.of(draws, partial(check_text.influence_rows, self))

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a result is neither true nor false: take result.rejected for the verdict, or "
            "sw.assert_fits(draws, target) to raise an AssertionError where draws do not fit."
        )

    def _listed(self, coordinates: tuple[CoordinateResult, ...]) -> Listing[CoordinateResult]:
        return Listing.of(coordinates, partial(check_text.coordinate_rows, self))

    def to_dataframe(self) -> "pd.DataFrame":
        """One row per coordinate, indexed by its name. Needs pandas."""
        return tables.dataframe(self)

    def to_dataset(self) -> "xr.Dataset":
        """The same as an xarray Dataset, with version, method, seed and p-value as attributes.

        It fits next to the draws in the user's own file or container, as a group of its own::

            stein = result.to_dataset()
            stein.to_netcdf("run.nc", mode="a", group="stein", engine="h5netcdf")
            stein.to_zarr("run.zarr", mode="w", group="stein", consolidated=False)
            zarr.consolidate_metadata("run.zarr")    # if the file has consolidated metadata
            idata.add_groups(stein=stein)            # InferenceData
            tree["stein"] = xarray.DataTree(stein)   # DataTree
        """
        return tables.dataset(self)

    def to_html(
        self, summary: Summary | None = None, source: Mapping[str, str] | None = None
    ) -> str:
        """A report as one self-contained HTML page. Needs matplotlib.

        With a `sw.summary` of the same draws, the page also shows how far off the answers are.
        `source` says where the draws come from, as names and values that the page shows:
        ``{"draws": "run7.npz", "date": "2026-11-17"}``.
        """
        answers = self._answers(summary)
        # nobody is sent to a summary that is on the page
        findings = replace(self.findings, has_summary=self.findings.has_summary and not answers)
        return html.page(replace(self, findings=findings), answers, page_source(source))

    def _answers(self, summary: Summary | None) -> list[str]:
        """The part of the page that is a summary of the same draws."""
        if summary is None:
            return []
        if isinstance(summary, str | Path):
            raise InputError(
                f"summary is {str(summary)!r}: expected what sw.summary(draws, target) returns. "
                f"{NO_FILE}"
            )
        if not isinstance(summary, Summary):
            raise InputError(
                f"summary is of type {type(summary).__name__}: expected what sw.summary(draws, "
                "target) returns."
            )
        names = {quantity.name for quantity in summary.quantities}
        own = self.findings.coordinates[: self.draws.dim]
        missing = [c.name for c in own if c.name not in names]
        if missing:
            raise InputError(
                f"the summary has no {printable(missing[0])}, a coordinate of this check: expected "
                "a summary of the same draws."
            )
        return [f"<h2>{PAGE['summary']}</h2>", *summary.html_part()]

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, the table, the picture."""
        return compact_html.check(self)

    def plot(self) -> "Figure":
        """The statistic against its null, and the coordinates sorted by their evidence."""
        return plots.plot_check(self)

    def plot_pit(self, coordinate: str) -> "Figure":
        """Where the draws of a coordinate, or direction, fall in the target's conditional."""
        return pit_plots.plot_pit(self, self.findings.name_of(coordinate))

    def plot_witness(self, coordinate: str, other: str | None = None) -> "Figure":
        """Where among the draws the misfit lies: along a coordinate, or over a pair of them."""
        other = None if other is None else self.findings.name_of(other)
        return witness.plot_witness(self, self.findings.name_of(coordinate), other)

    def plot_pair(self, coordinate: str, other: str) -> "Figure":
        """A coordinate's place in its conditional against another coordinate."""
        return pit_plots.plot_pair(
            self, self.findings.name_of(coordinate), self.findings.name_of(other)
        )

    def __str__(self) -> str:
        return plain(check_text.check_report(self))
