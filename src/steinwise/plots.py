"""Pictures of results, in plain matplotlib."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from steinwise.results import CheckResult

MISFIT, FIT, REFERENCE = "#D55E00", "#0072B2", "#555555"  # Okabe and Ito, colour-blind safe
COORDINATES_SHOWN = 30


def new_figure(columns: int, width: float = 5.0, height: float = 4.0) -> tuple["Figure", list]:
    """A figure with one row of axes, or an error that names the extra."""
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "plots need matplotlib: pip install 'steinwise[plots]'"
        ) from error
    figure = Figure(figsize=(width * columns, height), layout="constrained")
    axes = [figure.add_subplot(1, columns, i + 1) for i in range(columns)]
    return figure, axes


def plot_check(result: "CheckResult") -> "Figure":
    """The statistic against its null, and the coordinates sorted by their contribution."""
    shown = min(len(result.coordinates), COORDINATES_SHOWN)
    figure, axes = new_figure(2 if shown else 1, height=max(3.6, 1.2 + 0.2 * shown))
    plot_null(result, axes[0])
    if shown:
        plot_coordinates(result, axes[1])
    return figure


def plot_null(result: "CheckResult", ax: "Axes") -> None:
    """A histogram of the bootstrap with the statistic on it."""
    colour = MISFIT if result.rejected else FIT
    ax.hist(result.null, bins=40, color="#BBBBBB", label="null (bootstrap)")
    threshold = np.quantile(result.null, 1 - result.alpha)
    ax.axvline(threshold, color=REFERENCE, linestyle="--", label=f"level {result.alpha}")
    ax.axvline(result.observed, color=colour, linewidth=2.5, label="these draws")
    ax.set_xlabel("statistic, in standard deviations of its null")
    ax.set_ylabel("bootstraps")
    verdict = "misfit" if result.rejected else "no misfit found"
    ax.set_title(f"{verdict}, p = {result.pvalue:.3g}")
    ax.legend(frameon=False)


def plot_coordinates(result: "CheckResult", ax: "Axes") -> None:
    """The largest contributions, largest on top, flagged ones in their own colour."""
    ordered = sorted(result.coordinates, key=lambda c: -c.value)[:COORDINATES_SHOWN][::-1]
    flagged = [c.adjusted_pvalue <= result.alpha for c in ordered]
    colours = [MISFIT if flag else FIT for flag in flagged]
    ax.barh([c.name for c in ordered], [c.value for c in ordered], color=colours)
    ax.axvline(0, color=REFERENCE, linewidth=0.8)
    ax.set_xlabel("contribution to the statistic")
    left_out = len(result.coordinates) - len(ordered)
    more = f" ({left_out} smaller ones not shown)" if left_out else ""
    ax.set_title(f"{sum(flagged)} flagged{more}")
