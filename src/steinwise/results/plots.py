"""Pictures of results, in plain matplotlib.

Names can be long, and matplotlib makes no room for a label that is longer than its axes. So names
are measured: a figure grows by the names beside its rows, and what is too long even then is
shortened in the middle. The report has the whole name.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from steinwise.errors import InputError
from steinwise.results.check import NO_MISFIT
from steinwise.results.text import worst_first

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties

    from steinwise.results.check import CheckResult
    from steinwise.results.comparison import Comparison

MISFIT, FIT, REFERENCE = "#D55E00", "#0072B2", "#555555"  # Okabe and Ito, colour-blind safe
LEGEND = {"framealpha": 0.8, "edgecolor": "none"}  # readable over bars and lines
COORDINATES_SHOWN = 30
ROW_ROOM = 3.0  # for a name beside its row, in inches
CONDITIONAL = "in the target's conditional"
LABEL_ROOM = {"x": 3.8, "y": 3.2}  # for a label of the axes of a figure of one panel


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
    if not shown:
        figure, (ax,) = new_figure(1, height=3.6)
        plot_null(result, ax)
        return figure
    figure, (left, right) = new_figure(2, 4.6, max(3.6, 1.2 + 0.2 * shown))
    plot_null(result, left)
    plot_coordinates(result, right)
    _make_room(figure, right)
    return figure


def plot_pit(result: "CheckResult", coordinate: str, bins: int = 20) -> "Figure":
    """Where the draws of a coordinate, or along a direction, fall in the target's conditional.

    The histogram of u = F(x_j) is flat when they fit. All of its bars stay inside the band with
    probability 1 - alpha if they do. The line is the smoothed ratio of the draws' law to the
    target's: above 1 the draws are too many, below 1 too few.

    A direction goes by its label or its number, "direction 1"; the draws that it was taken from
    are not among those shown.
    """
    from scipy import stats

    pit, names = _pits(result)
    if coordinate in names:
        before, u = "place of ", pit[:, names.index(coordinate)]
    else:
        before = "place along "
        coordinate, u = _direction(result, coordinate, names)
    figure, (ax,) = new_figure(1)
    effective = min(float(len(u)), result.draws.effective_draws * len(u) / len(pit))
    tail = result.alpha / (2 * bins)
    low, high = (stats.binom.ppf(q, int(effective), 1 / bins) for q in (tail, 1 - tail))
    scale = bins / int(effective)
    ax.axhspan(low * scale, high * scale, color="#DDDDDD", label=f"expected, level {result.alpha}")
    ax.hist(u, bins=bins, range=(0, 1), density=True, color=FIT, alpha=0.7, label="draws")
    grid = np.linspace(0, 1, 201)
    order = np.arange(1, 7)
    coefficients = np.sqrt(2) * np.cos(np.pi * u[:, None] * order).mean(axis=0)
    ratio = 1 + np.sqrt(2) * np.cos(np.pi * grid[:, None] * order) @ coefficients
    ax.plot(grid, ratio, color=MISFIT, label="smoothed ratio")
    _set_label(ax.xaxis, coordinate, before, CONDITIONAL)
    ax.set_ylabel("density of the draws")
    ax.legend(**LEGEND)
    return figure


def plot_pair(result: "CheckResult", coordinate: str, other: str) -> "Figure":
    """The place of a coordinate in its conditional against another coordinate.

    A cloud without structure when the draws fit; the lines are the quartiles of u in ten groups of
    the other coordinate, which lie at 0.25, 0.5 and 0.75 then.
    """
    pit, names = _pits(result)
    x = result.findings.x
    assert x is not None
    known = list(result.findings.x_names)
    u, t = pit[:, _position(names, coordinate)], x[:, _position(known, other)]
    figure, (ax,) = new_figure(1)
    shown = slice(None, None, max(1, len(u) // 5000))
    ax.plot(t[shown], u[shown], ".", markersize=3, color="#999999", alpha=0.6)
    groups = np.array_split(np.argsort(t), 10)
    middles = [np.median(t[group]) for group in groups]
    for level, style in ((0.25, "--"), (0.5, "-"), (0.75, "--")):
        ax.axhline(level, color=REFERENCE, linewidth=0.8, linestyle=":")
        ax.plot(middles, [np.quantile(u[g], level) for g in groups], style, color=MISFIT)
    _set_label(ax.xaxis, other)
    _set_label(ax.yaxis, coordinate, "place of ", CONDITIONAL)
    ax.set_ylim(0, 1)
    return figure


def plot_witness(result: "CheckResult", coordinate: str, other: str | None = None) -> "Figure":
    """Where among the draws the misfit lies: along a coordinate, or over a pair.

    For the default check the height, or colour, of a draw is the surplus of draws there: how many
    more there are than the target has, as a share, by the terms of the check's own bases that stand
    out of their noise. For KCC-SD and KSD it is what the draw adds to the statistic, 0 on average
    where the draws fit.
    """
    x, names = result.findings.x, list(result.findings.x_names)
    if x is None or (result.findings.pit is None and result.findings.parts is None):
        raise InputError(
            f"the method {result.method!r} does not say where its misfit lies; the default check, "
            "'kccsd' and 'ksd' do."
        )
    j = _position(names, coordinate)
    k = None if other is None else _position(names, other)
    values, what = _witness_values(result, x, coordinate, k)
    figure, (ax,) = new_figure(1, 5.6)
    shown = slice(None, None, max(1, len(x) // 5000))
    if k is None:
        ax.plot(x[shown, j], values[shown], ".", markersize=3, color="#999999", alpha=0.6)
        groups = np.array_split(np.argsort(x[:, j], kind="stable"), min(20, len(x)))
        middles = [np.median(x[group, j]) for group in groups]
        ax.plot(middles, [values[group].mean() for group in groups], color=MISFIT, label="mean")
        ax.axhline(0.0, color=REFERENCE, linestyle="--", linewidth=0.8)
        ax.set_ylabel(what)
        ax.legend(frameon=False)
    else:
        reach = float(np.quantile(np.abs(values), 0.99)) or 1.0
        cloud = ax.scatter(
            x[shown, j], x[shown, k], c=values[shown], s=8, cmap="PuOr_r", vmin=-reach, vmax=reach
        )
        figure.colorbar(cloud, ax=ax, label=what)
        _set_label(ax.yaxis, names[k])
    _set_label(ax.xaxis, coordinate)
    return figure


def _witness_values(
    result: "CheckResult", x: np.ndarray, coordinate: str, other: int | None
) -> tuple[np.ndarray, str]:
    parts = result.findings.parts
    if parts is None:
        pit, names = _pits(result)
        context = None if other is None else x[:, other]
        u = pit[:, _position(names, coordinate)]
        found = surplus(u, context, result.draws.effective_draws)
        return found, "surplus of draws, as a share"
    names = [c.name for c in result.coordinates]
    if len(names) != parts.shape[1]:  # one number for all coordinates
        return parts.sum(axis=1), "added to the statistic"
    chosen = [coordinate] if other is None else [coordinate, result.findings.x_names[other]]
    hidden = [name for name in chosen if name not in names]
    if hidden:
        raise InputError(
            f"{hidden[0]} was not tested by itself: what draws add is known of {_listed(names)}."
        )
    columns = [names.index(name) for name in chosen]
    return parts[:, columns].sum(axis=1), "added to the statistic"


def surplus(u: np.ndarray, other: np.ndarray | None, effective: float) -> np.ndarray:
    r"""q / p - 1 at each draw, from products of cosines of u and polynomials of another coordinate.

    Only terms whose means are beyond twice their standard error are kept.
    """
    from steinwise.methods.transported.line_sets import NormalScores

    order = np.arange(1, 7)
    waves = np.sqrt(2) * np.cos(np.pi * u[:, None] * order)
    contexts = np.ones((len(u), 1))
    if other is not None:
        z = NormalScores.among(other[:, None])(other[:, None])
        contexts = np.concatenate([contexts, z, (z**2 - 1) / np.sqrt(2)], axis=1)
    terms = (waves[:, :, None] * contexts[:, None]).reshape(len(u), -1)
    means = terms.mean(axis=0)
    clear = np.abs(means) > 2 * terms.std(axis=0) / np.sqrt(max(effective, 1.0))
    return terms[:, clear] @ means[clear]


def plot_comparison(comparison: "Comparison") -> "Figure":
    """The differences to the best, with intervals that all hold together.

    What is worse than the best has its own colour; a point without an interval has too few
    independent draws for one.
    """
    from steinwise.results.comparison import WORSE

    ranking = comparison.ranking[::-1]
    figure, (ax,) = new_figure(1, 5.2, max(2.4, 1.2 + 0.3 * len(ranking)))
    for row, one in enumerate(ranking):
        colour = MISFIT if one.verdict == WORSE else FIT
        error = one.difference_error
        if comparison.critical is not None and error is not None:
            reach = comparison.critical * error
            ax.plot([one.difference - reach, one.difference + reach], [row, row], color=colour)
        ax.plot(one.difference, row, "o", color=colour)
    ax.axvline(0.0, color=REFERENCE, linestyle="--", linewidth=0.8)
    _name_rows(ax, [one.name for one in ranking])
    _make_room(figure, ax)
    ax.set_xlabel("discrepancy, less that of the best")
    ax.set_title(f"simultaneous intervals, level {comparison.alpha:g}")
    return figure


def _pits(result: "CheckResult") -> tuple[np.ndarray, list[str]]:
    pit = result.findings.pit
    if pit is None:
        raise InputError(
            f"the method {result.method!r} has no conditional transforms to show; the default "
            "check has."
        )
    return pit, [c.name for c in result.coordinates][: pit.shape[1]]


def _position(names: list[str], name: str) -> int:
    if name not in names:
        hint = " Only plot_pit shows directions." if name.startswith("direction ") else ""
        raise InputError(f"there is no coordinate {name!r}; there are {_listed(names)}.{hint}")
    return names.index(name)


def _listed(names: list[str]) -> str:
    return ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")


def _direction(result: "CheckResult", name: str, others: list[str]) -> tuple[str, np.ndarray]:
    """The label of a direction and its transforms, by the label or what precedes its bracket."""
    labels = [c.name for c in result.coordinates][len(others) :]
    short = [label.split(" (")[0] for label in labels]
    if name not in labels + short:
        known = _listed(others) + (f"; and {_listed(short)}" if short else "")
        raise InputError(f"there is no coordinate {name!r}; there are {known}.")
    u = result.findings.direction_pit
    assert u is not None
    k = labels.index(name) if name in labels else short.index(name)
    return labels[k], u[:, k]


def plot_null(result: "CheckResult", ax: "Axes") -> None:
    """A histogram of the bootstrap with the statistic on it."""
    colour = MISFIT if result.rejected else FIT
    ax.hist(result.null, bins=40, color="#BBBBBB", label="null (bootstrap)")
    threshold = np.quantile(result.null, 1 - result.alpha)
    ax.axvline(threshold, color=REFERENCE, linestyle="--", label=f"level {result.alpha}")
    ax.axvline(result.observed, color=colour, linewidth=2.5, label="these draws")
    ax.set_xlabel("statistic, on the scale of its null")
    ax.set_ylabel("bootstraps")
    verdict = "misfit" if result.rejected else NO_MISFIT
    ax.set_title(f"{verdict}, p = {result.pvalue:.3g}")
    ax.legend(**LEGEND)


def plot_coordinates(result: "CheckResult", ax: "Axes") -> None:
    """The coordinates with the most evidence on top, flagged ones in their own colour."""
    ordered, flagged = worst_first(result), {c.name for c in result.flagged}
    shown = ordered[:COORDINATES_SHOWN][::-1]
    colours = [MISFIT if c.name in flagged else FIT for c in shown]
    evidence = [-np.log10(c.adjusted_pvalue) for c in shown]
    ax.barh(range(len(shown)), evidence, color=colours)
    _name_rows(ax, [c.name for c in shown])
    ax.axvline(-np.log10(result.alpha), color=REFERENCE, linestyle="--")
    ax.set_xlabel(f"evidence, -log10 of the adjusted p-value\n(dashed: level {result.alpha})")
    part = f"; {len(shown)} of {len(ordered)} shown" if len(shown) < len(ordered) else ""
    ax.set_title(f"{len(flagged)} flagged{part}")


def _name_rows(ax: "Axes", names: Sequence[str]) -> None:
    """Names beside the rows 0, 1, ... of a picture."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    font = FontProperties(size=rcParams["ytick.labelsize"])
    ax.set_yticks(range(len(names)), shortened(names, ROW_ROOM, font))


def _make_room(figure: "Figure", ax: "Axes") -> None:
    """Widen a figure by the names beside the rows of its axes."""
    widest = max(_width(one.get_text(), one.get_fontproperties()) for one in ax.get_yticklabels())
    figure.set_size_inches(figure.get_figwidth() + widest, figure.get_figheight())


def _set_label(axis: "XAxis | YAxis", name: str, before: str = "", after: str = "") -> None:
    """A label with a name in it, on two lines if one is too long."""
    font, room = axis.label.get_fontproperties(), LABEL_ROOM[axis.axis_name]
    (name,) = shortened([name], room - _width(before + "|", font), font)
    line = f"{before}{name} {after}".rstrip()
    axis.set_label_text(line if _width(line, font) <= room else f"{before}{name}\n{after}")


def shortened(names: Sequence[str], room: float, font: "FontProperties") -> list[str]:
    """Names that fit into so many inches, the long ones with an ellipsis for their middle.

    The ellipsis stands elsewhere if names would be the same without their middle.
    """
    tried = []
    for front in (0.5, 0.3, 0.7, 0.1, 0.9):
        tried.append([_cut_to(name, room, font, front) for name in names])
        if len(set(tried[-1])) == len(set(names)):
            return tried[-1]
    return tried[0]


def _cut_to(name: str, room: float, font: "FontProperties", front: float) -> str:
    if _width(name, font) <= room:
        return name

    def cut(kept: int) -> str:
        head = round(front * kept)
        text = name[:head].rstrip() + "…" + name[len(name) - kept + head :].lstrip()
        return text.replace("$", r"\$")  # half of a formula is none

    kept = bisect_right(range(len(name)), room, key=lambda k: _width(cut(k), font))
    return cut(max(kept - 1, 0))


def _width(text: str, font: "FontProperties") -> float:
    """Of text, in inches."""
    from matplotlib.cbook import is_math_text
    from matplotlib.textpath import text_to_path

    measure = text_to_path.get_text_width_height_descent
    lines = text.split("\n")
    return max(measure(line, font, is_math_text(line))[0] for line in lines) / 72
