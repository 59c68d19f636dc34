"""Pictures of a check: its statistic, and how far off the coordinates are."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from steinwise.results import wording
from steinwise.results.coordinate import CoordinateResult
from steinwise.results.figures import (
    COORDINATES_SHOWN,
    FIT,
    LEGEND,
    MISFIT,
    REFERENCE,
    make_room,
    name_rows,
    new_figure,
    set_label,
    unknown_mark,
)
from steinwise.results.record import CheckRecord
from steinwise.results.wording import LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SOLID, PALE = 1.0, 0.45  # bars of the first and of the second size of a coordinate
MARGINALS_SHOWN = 3
MOST_TICKS = 6  # of sizes, whose labels, such as -0.075, are long
UNKNOWN_ROOM = 0.06  # next to the axis, as a share of what is shown


def plot_check(record: CheckRecord) -> "Figure":
    """The statistic against its null, and the coordinates sorted by their contribution."""
    shown = min(len(record.findings.coordinates), COORDINATES_SHOWN)
    if not shown:
        figure, (ax,) = new_figure(1, height=3.6)
        plot_null(record, ax)
        return figure
    figure, (left, right) = new_figure(2, 4.6, max(3.6, 1.2 + 0.2 * shown))
    plot_null(record, left)
    plot_coordinates(record, right)
    make_room(figure, right)
    return figure


def plot_null(record: CheckRecord, ax: "Axes") -> None:
    """A histogram of the bootstrap with the statistic on it."""
    colour = MISFIT if record.rejected else FIT
    ax.hist(record.null, bins=40, color="#BBBBBB", label=LABELS["null"])
    level = wording.level_label(record.alpha)
    ax.axvline(record.threshold, color=REFERENCE, linestyle="--", label=level)
    label = wording.observed_label(record.statistic)
    ax.axvline(record.statistic, color=colour, linewidth=2.5, label=label)
    ax.set_xlabel(LABELS["statistic"])
    ax.set_ylabel(LABELS["bootstraps"])
    ax.set_title(wording.null_title(record.rejected, record.pvalue))
    # in a free corner; the best one is looked for among all bars, which may take seconds
    ax.legend(loc="upper center" if record.rejected else "upper right", **LEGEND)


def plot_coordinates(record: CheckRecord, ax: "Axes") -> None:
    """How far off the coordinates are, the most evidence on top, flagged ones in their own colour.

    Where a method has no sizes, the evidence itself.
    """
    ordered, flagged = record.coordinates, {c.name for c in record.flagged}
    shown = ordered[:COORDINATES_SHOWN][::-1]
    colours = [MISFIT if c.name in flagged else FIT for c in shown]
    rows = np.arange(len(shown))
    first, second = _sizes(shown)
    if first is None or second is None:
        ax.barh(rows, [-np.log10(c.adjusted_pvalue) for c in shown], color=colours)
        ax.axvline(-np.log10(record.alpha), color=REFERENCE, linestyle="--")
        ax.set_xlabel(wording.evidence_label(record.alpha))
    else:
        for (_, sizes), at, alpha in ((first, 0.2, SOLID), (second, -0.2, PALE)):
            ax.barh(rows + at, sizes, 0.38, color=colours, alpha=alpha)
        unknown = np.isnan(first[1]) | np.isnan(second[1])
        if unknown.any():  # neither a missing bar nor text makes room for itself
            ax.set_ylim(-0.6, len(rows) - 0.4)
            ax.use_sticky_edges = False
            ax.margins(x=UNKNOWN_ROOM)
        for row in rows[unknown]:  # no bar would look like no error
            ax.annotate(
                wording.UNKNOWN,
                (0.0, row),
                (4, 0),
                textcoords="offset points",
                va="center",
                color=colours[row],
            )
        ax.axvline(0.0, color=REFERENCE, linewidth=0.8)
        ax.locator_params("x", nbins=MOST_TICKS)
        ax.set_xlabel(LABELS["size"])
        _explain_sizes(ax, (first[0], second[0]), bool(flagged), bool(unknown.any()))
    name_rows(ax, [c.label for c in shown])
    ax.set_title(wording.flagged_title(len(flagged), len(shown), len(ordered)))


def _explain_sizes(ax: "Axes", labels: tuple[str, str], flagged: bool, unknown: bool) -> None:
    """A legend below the panels, where no row is."""
    from matplotlib.artist import Artist
    from matplotlib.patches import Patch

    handles: list[Artist] = [
        Patch(facecolor=REFERENCE, alpha=alpha, label=label)
        for label, alpha in zip(labels, (SOLID, PALE), strict=True)
    ]
    if flagged:
        handles.append(Patch(facecolor=MISFIT, label=LABELS["flagged"]))
    if unknown:
        handles.append(unknown_mark())
    ax.figure.legend(handles=handles, loc="outside lower right", ncols=len(handles), **LEGEND)


_Size = tuple[str, np.ndarray]  # what it is, and its values, NaN where they are not known


def _sizes(coordinates: Sequence[CoordinateResult]) -> tuple[_Size | None, _Size | None]:
    """How far mean and spread are off: of coordinates by themselves, or else given the others."""
    if any(c.marginal is not None for c in coordinates):
        marginals = [c.marginal for c in coordinates]
        means = [np.nan if m is None else m.mean_error for m in marginals]
        sds = [np.nan if m is None else m.sd_ratio - 1 for m in marginals]
        return (LABELS["mean errors"], np.array(means)), (LABELS["sd errors"], np.array(sds))
    if any(c.effect is not None for c in coordinates):
        effects = [c.effect for c in coordinates]
        shifts = [np.nan if e is None else e.conditional_shift for e in effects]
        spreads = [np.nan if e is None else e.conditional_spread - 1 for e in effects]
        return (LABELS["shifts"], np.array(shifts)), (LABELS["spreads"], np.array(spreads))
    return None, None


def with_marginals(record: CheckRecord) -> list[CoordinateResult]:
    """The worst of the flagged coordinates whose mean and sd are known, as drawn and expected."""
    known = record.findings.x_names if record.findings.x is not None else ()
    found = [c for c in record.flagged if c.name in known and c.marginal is not None]
    return [c for c in found if c.marginal and np.isfinite(c.marginal).all()][:MARGINALS_SHOWN]


def plot_marginals(record: CheckRecord, coordinates: Sequence[CoordinateResult]) -> "Figure":
    """Histograms of coordinates, with mean and sd as drawn and as the target's are expected."""
    x = record.findings.x
    assert x is not None
    figure, axes = new_figure(len(coordinates), 3.2, 3.0)
    for ax, c in zip(axes, coordinates, strict=True):
        own = c.marginal
        assert own is not None
        drawn = x[:, record.findings.x_names.index(c.name)]
        heights, _, _ = ax.hist(drawn, bins=30, density=True, color="#BBBBBB")
        bars = (
            (own.mean, own.sd, 1.12, MISFIT, LABELS["drawn marginal"]),
            (own.expected_mean, own.expected_sd, 1.25, FIT, LABELS["expected marginal"]),
        )
        for centre, sd, at, colour, label in bars:
            style = {"fmt": "o", "color": colour, "linewidth": 2, "capsize": 4}
            ax.errorbar(centre, at * float(np.max(heights)), xerr=sd, label=label, **style)
        ax.set_yticks([])
        set_label(ax.xaxis, c.label)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=2, **LEGEND)
    return figure
