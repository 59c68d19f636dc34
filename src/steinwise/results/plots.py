"""Pictures of results, in plain matplotlib."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from steinwise._internal.escaping import listed
from steinwise.errors import InputError
from steinwise.results import wording
from steinwise.results.coordinate import CoordinateResult
from steinwise.results.figures import make_room, name_rows, new_figure, set_label
from steinwise.results.record import CheckRecord
from steinwise.results.wording import LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

MISFIT, FIT, REFERENCE = "#D55E00", "#0072B2", "#555555"  # Okabe and Ito, colour-blind safe
SOLID, PALE = 1.0, 0.45  # bars of the first and of the second size of a coordinate
LEGEND = {"framealpha": 0.8, "edgecolor": "none"}  # readable over bars and lines
COORDINATES_SHOWN = 30
MARGINALS_SHOWN = 3
POINTS_SHOWN = 5000
VALUES_SHOWN = 40  # of a discrete coordinate
ARROW_ROOM = 0.15  # beside the farthest interval, as a share of the axis
VALUES_NAMED = 15  # of these, on the axis
MOST_TICKS = 6  # of sizes, whose labels, such as -0.075, are long
UNKNOWN_MARK = f"${wording.UNKNOWN}$"
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


def plot_pit(record: CheckRecord, coordinate: str, bins: int = 20) -> "Figure":
    """Where the draws of a coordinate, or along a direction, fall in the target's conditional.

    The histogram of u = F(x_j) is flat when they fit. All of its bars stay inside the band with
    probability 1 - alpha if they do. The line is the smoothed ratio of the draws' density to the
    target's: above 1 the draws are too many, below 1 too few.

    Of a discrete coordinate, the share of the draws that take each value, and the share expected.

    A direction goes by its label or its number, "direction 1"; the draws that it was taken from
    are not among those shown.
    """
    from scipy import stats

    pit, names = pits(record)
    if isinstance(coordinate, str) and coordinate in record.findings.outcomes:
        return _plot_outcomes(record, coordinate)
    if coordinate in names:
        before, u = LABELS["place of"], pit[:, names.index(coordinate)]
    else:
        before = LABELS["place along"]
        coordinate, u = _direction_pit(record, coordinate, names)
    figure, (ax,) = new_figure(1)
    effective = min(float(len(u)), record.draws.effective_draws * len(u) / len(pit))
    tail = record.alpha / (2 * bins)
    low, high = (stats.binom.ppf(q, int(effective), 1 / bins) for q in (tail, 1 - tail))
    scale = bins / int(effective)
    ax.axhspan(
        low * scale, high * scale, color="#DDDDDD", label=wording.expected_label(record.alpha)
    )
    ax.hist(u, bins=bins, range=(0, 1), density=True, color=FIT, alpha=0.7, label=LABELS["draws"])
    grid = np.linspace(0, 1, 201)
    order = np.arange(1, 7)
    coefficients = np.sqrt(2) * np.cos(np.pi * u[:, None] * order).mean(axis=0)
    ratio = 1 + np.sqrt(2) * np.cos(np.pi * grid[:, None] * order) @ coefficients
    ax.plot(grid, ratio, color=MISFIT, label=LABELS["ratio"])
    set_label(ax.xaxis, record.findings.label(coordinate), before, LABELS["conditional"])
    ax.set_ylabel(LABELS["density of draws"])
    figure.legend(loc="outside upper left", ncols=3, **LEGEND)  # the first bins show most misfits
    return figure


def _plot_outcomes(record: CheckRecord, coordinate: str) -> "Figure":
    """Observed and expected shares of the values of a discrete coordinate, with their band."""
    from scipy.special import ndtri

    shares = record.findings.outcomes[coordinate].most_likely(VALUES_SHOWN)
    total = max(float(record.findings.outcomes[coordinate].counts.sum()), 1.0)
    expected = shares.expected / total
    # as in a chain, where draws count for less than their number
    effective = min(total, record.draws.effective_draws)
    reach = -ndtri(record.alpha / (2 * len(shares.values)))
    reach = reach * np.sqrt(shares.variances / total / effective)
    figure, (ax,) = new_figure(1)
    at = np.arange(len(shares.values))
    ax.bar(at, shares.counts / total, color=FIT, alpha=0.7, label=LABELS["draws"])
    ax.errorbar(
        at,
        expected,
        yerr=np.stack([np.minimum(reach, expected), reach]),
        fmt="_",
        color=MISFIT,
        label=wording.expected_label(record.alpha),
    )
    named = at[:: -(-len(at) // VALUES_NAMED)]
    ax.set_xticks(named, [wording.value_text(float(shares.values[k])) for k in named])
    set_label(ax.xaxis, coordinate)
    ax.set_ylabel(LABELS["share of draws"])
    figure.legend(loc="outside upper left", ncols=2, **LEGEND)
    return figure


def plot_pair(record: CheckRecord, coordinate: str, other: str) -> "Figure":
    """The place of a coordinate in its conditional against another coordinate.

    A cloud without structure when the draws fit; the lines are the quartiles of u in ten groups of
    the other coordinate, which lie at 0.25, 0.5 and 0.75 then.
    """
    pit, names = pits(record)
    x = record.findings.x
    assert x is not None
    known = list(record.findings.x_names)
    u, t = pit[:, position(names, coordinate)], x[:, position(known, other)]
    figure, (ax,) = new_figure(1)
    shown = slice(None, None, max(1, len(u) // POINTS_SHOWN))
    ax.plot(t[shown], u[shown], ".", markersize=3, color="#999999", alpha=0.6)
    groups = np.array_split(np.argsort(t), 10)
    middles = [np.median(t[group]) for group in groups]
    for level, style in ((0.25, "--"), (0.5, "-"), (0.75, "--")):
        ax.axhline(level, color=REFERENCE, linewidth=0.8, linestyle=":")
        ax.plot(middles, [np.quantile(u[g], level) for g in groups], style, color=MISFIT)
    set_label(ax.xaxis, record.findings.label(other))
    set_label(
        ax.yaxis, record.findings.label(coordinate), LABELS["place of"], LABELS["conditional"]
    )
    ax.set_ylim(0, 1)
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
        handles.append(_unknown_mark())
    ax.figure.legend(handles=handles, loc="outside lower right", ncols=len(handles), **LEGEND)


def _unknown_mark() -> "Line2D":
    """A question mark, for a legend."""
    from matplotlib.lines import Line2D

    mark = Line2D([], [], marker=UNKNOWN_MARK, linestyle="", color=REFERENCE)
    mark.set_label(LABELS["unknown"])
    return mark


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


def worst_pair(record: CheckRecord) -> tuple[str, str] | None:
    """The flagged coordinate with the most evidence that depends on another one wrongly."""
    pit = record.findings.pit
    if pit is None or record.findings.x is None:
        return None
    own = {c.name for c in record.findings.coordinates[: pit.shape[1]]} - set(
        record.findings.outcomes
    )
    for c in record.flagged:
        partners = [name for name in c.partners if name in record.findings.x_names]
        if c.name in own and partners:
            return c.name, partners[0]
    return None


def pits(record: CheckRecord) -> tuple[np.ndarray, list[str]]:
    pit = record.findings.pit
    if pit is None:
        raise InputError(
            f"the method {record.method!r} has no conditional transforms to show; the default "
            "check has."
        )
    return pit, [c.name for c in record.findings.coordinates][: pit.shape[1]]


def position(names: list[str], name: str) -> int:
    if name not in names:
        hint = " Only plot_pit shows directions." if str(name).startswith("direction ") else ""
        raise InputError(f"there is no coordinate {name!r}; there are {listed_names(names)}.{hint}")
    return names.index(name)


def listed_names(names: list[str]) -> str:
    return listed(names, most=10)


def _direction_pit(record: CheckRecord, name: str, others: list[str]) -> tuple[str, np.ndarray]:
    """The label of a direction and its transforms, by the label or what precedes its bracket."""
    labels = [c.name for c in record.findings.coordinates][len(others) :]
    short = [label.split(" (")[0] for label in labels]
    if name not in labels + short:
        known = listed_names(others) + (f"; and {listed_names(short)}" if short else "")
        raise InputError(f"there is no coordinate {name!r}; there are {known}.")
    u = record.findings.direction_pit
    assert u is not None
    k = labels.index(name) if name in labels else short.index(name)
    return labels[k], u[:, k]


class Interval(NamedTuple):
    """A number with an interval; None where it, or an end, is not known."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    stands_out: bool


def plot_intervals(intervals: Sequence[Interval], label: str, alpha: float) -> "Figure":
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


def _explain_unknown(ax: "Axes", unknown: Sequence[Interval]) -> None:
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
        handles.append(_unknown_mark())
    if handles:
        ax.figure.legend(handles=handles, loc="outside lower left", **LEGEND)


class Answer(NamedTuple):
    """A mean and an sd, as drawn and corrected; NaN where they cannot be."""

    name: str
    mean: float
    sd: float
    corrected_mean: float
    corrected_sd: float
    uncertainty: float


def plot_answers(answers: Sequence[Answer]) -> "Figure":
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
