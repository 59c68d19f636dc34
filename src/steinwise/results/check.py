"""`CheckResult`: a record that shows itself as text, page, table and picture."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steinwise.results import html, plots, tables, text, witness
from steinwise.results.record import CheckRecord

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr  # pyright: ignore[reportMissingImports]
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class CheckResult(CheckRecord):
    """The answer of `sw.check`."""

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

    def to_html(self) -> str:
        """A report as one self-contained HTML page. Needs matplotlib."""
        return html.page(self)

    def plot(self) -> "Figure":
        """The statistic against its null, and the coordinates sorted by their evidence."""
        return plots.plot_check(self)

    def plot_pit(self, coordinate: str) -> "Figure":
        """Where the draws of a coordinate, or direction, fall in the target's conditional."""
        return plots.plot_pit(self, coordinate)

    def plot_witness(self, coordinate: str, other: str | None = None) -> "Figure":
        """Where among the draws the misfit lies: along a coordinate, or over a pair of them."""
        return witness.plot_witness(self, coordinate, other)

    def plot_pair(self, coordinate: str, other: str) -> "Figure":
        """A coordinate's place in its conditional against another coordinate."""
        return plots.plot_pair(self, coordinate, other)

    def __str__(self) -> str:
        return text.plain(text.check_report(self))
