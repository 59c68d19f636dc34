"""Pictures of where draws fall in the target's conditionals."""

from typing import TYPE_CHECKING

import numpy as np

from steinwise._internal.escaping import listed
from steinwise.errors import InputError
from steinwise.results import wording
from steinwise.results.figures import (
    FIT,
    LEGEND,
    MISFIT,
    POINTS_SHOWN,
    REFERENCE,
    new_figure,
    set_label,
)
from steinwise.results.record import CheckRecord
from steinwise.results.wording import LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VALUES_SHOWN = 40  # of a discrete coordinate
VALUES_NAMED, CHARACTERS_NAMED = 15, 50  # of these, on the axis


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
    """Observed and expected shares of the values of a discrete coordinate, with their band.

    Many values are shown in groups of neighbours.
    """
    from scipy.special import ndtri

    every = record.findings.outcomes[coordinate]
    shares = every.in_groups(VALUES_SHOWN)
    total = max(float(every.counts.sum()), 1.0)
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
    names = [wording.value_text(float(value)) for value in shares.values]
    longest = max(map(len, names)) + 1
    named = at[:: -(-len(at) // min(VALUES_NAMED, max(2, CHARACTERS_NAMED // longest)))]
    ax.set_xticks(named, [names[k] for k in named])
    grouped = int(np.searchsorted(every.values, shares.values[:2]) @ [-1, 1])
    set_label(ax.xaxis, coordinate, "", wording.bar_label(grouped))
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
    """The places of the draws in their conditionals, and the coordinates of the columns."""
    pit = record.findings.pit
    if pit is None:
        raise InputError(
            f"the method {record.method!r} has no conditional transforms to show; the default "
            "check has."
        )
    return pit, [c.name for c in record.findings.coordinates][: pit.shape[1]]


def position(names: list[str], name: str) -> int:
    """The number of a coordinate."""
    if name not in names:
        hint = " Only plot_pit shows directions." if str(name).startswith("direction ") else ""
        known = listed(names, most=10)
        raise InputError(f"there is no coordinate {name!r}; there are {known}.{hint}")
    return names.index(name)


def _direction_pit(record: CheckRecord, name: str, others: list[str]) -> tuple[str, np.ndarray]:
    """The label of a direction and its transforms, by the label or what precedes its bracket."""
    labels = [c.name for c in record.findings.coordinates][len(others) :]
    short = [label.split(" (")[0] for label in labels]
    if name not in labels + short:
        known = listed(others, most=10) + (f"; and {listed(short, most=10)}" if short else "")
        raise InputError(f"there is no coordinate {name!r}; there are {known}.")
    u = record.findings.direction_pit
    assert u is not None
    k = labels.index(name) if name in labels else short.index(name)
    return labels[k], u[:, k]
