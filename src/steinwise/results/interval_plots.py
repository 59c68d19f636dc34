"""Pictures of numbers with intervals, a row each: a ranking, and answers as drawn and corrected."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from steinwise.results import wording
from steinwise.results.figures import (
    COORDINATES_SHOWN,
    FIT,
    LEGEND,
    MISFIT,
    REFERENCE,
    UNKNOWN_MARK,
    make_room,
    name_rows,
    new_figure,
    unknown_mark,
)
from steinwise.results.wording import LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ARROW_ROOM = 0.15  # beyond the farthest interval, as a share of the axis


class IntervalRow(NamedTuple):
    """A number with an interval; None where it, or an end, is not known."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    stands_out: bool


def plot_intervals(intervals: Sequence[IntervalRow], label: str, alpha: float) -> "Figure":
    """Numbers with intervals that all hold together, the first at the top.

    What stands out has its own colour. A number that is not known has an arrow from its least
    value, or a question mark where that is not known either.
    """
    rows = intervals[::-1]
    figure, (ax,) = new_figure(1, 5.2, max(2.4, 1.2 + 0.3 * len(rows)))
    for row, interval in enumerate(rows):
        colour = MISFIT if interval.stands_out else FIT
        if interval.low is not None and interval.high is not None:
            ax.plot([interval.low, interval.high], [row, row], color=colour)
        elif interval.low is not None:
            ax.plot(interval.low, row, "|", color=colour)
            ax.annotate(
                "",
                xy=(1.0, row),
                xytext=(interval.low, row),
                xycoords=("axes fraction", "data"),
                textcoords="data",
                arrowprops={"arrowstyle": "->", "color": colour, "linestyle": ":"},
            )
        if interval.value is not None:
            ax.plot(interval.value, row, "o", color=colour)
        elif interval.low is None:
            ax.text(0.0, row, wording.UNKNOWN, color=colour, va="center")
    ax.set_ylim(-0.5, len(rows) - 0.5)
    ax.axvline(0.0, color=REFERENCE, linestyle="--", linewidth=0.8)
    name_rows(ax, [interval.name for interval in rows])
    make_room(figure, ax)
    ax.set_xlabel(label)
    ax.set_title(wording.intervals_title(alpha))
    _explain_unknown(ax, [interval for interval in rows if interval.value is None])
    return figure


def _explain_unknown(ax: "Axes", unknown: Sequence[IntervalRow]) -> None:
    """A legend below the axes for numbers that are not known, and room for their arrows."""
    from matplotlib.lines import Line2D

    handles = []
    if any(interval.low is not None for interval in unknown):
        left, right = ax.get_xlim()
        ax.set_xlim(left, right + ARROW_ROOM * (right - left))
        arrow = Line2D([], [], marker=">", linestyle=":", color=REFERENCE)
        arrow.set_label(LABELS["at least"])
        handles.append(arrow)
    if any(interval.low is None for interval in unknown):
        handles.append(unknown_mark())
    if handles:
        ax.figure.legend(handles=handles, loc="outside lower left", **LEGEND)


class AnswerRow(NamedTuple):
    """A mean and an sd, as drawn and corrected; NaN where they cannot be."""

    name: str
    mean: float
    sd: float
    corrected_mean: float
    corrected_sd: float
    uncertainty: float


def plot_answers(answers: Sequence[AnswerRow]) -> "Figure":
    """Means with one sd to either side, as drawn and corrected, in the order given from the top.

    In units of the corrected mean and sd; a question mark, where these cannot be corrected.
    """
    rows = answers[:COORDINATES_SHOWN][::-1]
    figure, (ax,) = new_figure(1, 5.6, max(2.4, 1.2 + 0.35 * len(rows)))
    labels = {key: LABELS[key] for key in ("as drawn", "corrected", "unknown")}  # each once
    for row, answer in enumerate(rows):
        centre, unit = answer.corrected_mean, answer.corrected_sd
        if not (np.isfinite(centre) and np.isfinite(unit) and unit > 0):
            label = labels.pop("unknown", None)
            ax.plot(0, row, marker=UNKNOWN_MARK, linestyle="", color=MISFIT, label=label)
            continue
        drawn, width = (answer.mean - centre) / unit, answer.sd / unit
        ax.plot([drawn - width, drawn + width], [row + 0.15] * 2, color=MISFIT, linewidth=2)
        ax.plot(drawn, row + 0.15, "o", color=MISFIT, label=labels.pop("as drawn", None))
        ax.plot([-1, 1], [row - 0.15] * 2, color=FIT, linewidth=2)
        bar = ax.errorbar(0, row - 0.15, xerr=answer.uncertainty / unit, fmt="o", color=FIT)
        bar.set_label(labels.pop("corrected", "_"))
    ax.set_ylim(-0.5, len(rows) - 0.5)
    name_rows(ax, [answer.name for answer in rows])
    make_room(figure, ax)
    ax.set_xlabel(LABELS["one sd"])
    figure.legend(loc="outside upper left", ncols=3, **LEGEND)
    return figure
