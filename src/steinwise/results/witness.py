"""Where among the draws a misfit lies."""

from typing import TYPE_CHECKING

import numpy as np

from steinwise._internal.escaping import listed, printable
from steinwise.draws.normal_scores import NormalScores
from steinwise.errors import InputError
from steinwise.results.figures import MISFIT, POINTS_SHOWN, REFERENCE, new_figure, set_label
from steinwise.results.pit_plots import pits, position
from steinwise.results.record import CheckRecord
from steinwise.results.wording import LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_witness(record: CheckRecord, coordinate: str, other: str | None = None) -> "Figure":
    """Where among the draws the misfit lies: along a coordinate, or over a pair.

    For the default check the height, or colour, of a draw is the surplus of draws there: how many
    more there are than the target has, as a share, by the terms of the check's own bases that stand
    out of their noise. For KCC-SD and KSD it is what the draw adds to the statistic, 0 on average
    where the draws fit.
    """
    x, names = record.findings.x, list(record.findings.x_names)
    if x is None or (record.findings.pit is None and record.findings.draw_contributions is None):
        raise InputError(
            f"the method {record.method!r} does not say where its misfit lies; the default check, "
            "'kccsd' and 'ksd' do."
        )
    j = position(names, coordinate)
    k = None if other is None else position(names, other)
    values, what = _witness_values(record, x, coordinate, k)
    figure, (ax,) = new_figure(1, 5.6)
    shown = slice(None, None, max(1, len(x) // POINTS_SHOWN))
    if k is None:
        ax.plot(x[shown, j], values[shown], ".", markersize=3, color="#999999", alpha=0.6)
        groups = np.array_split(np.argsort(x[:, j], kind="stable"), min(20, len(x)))
        middles = [np.median(x[group, j]) for group in groups]
        ax.plot(
            middles, [values[group].mean() for group in groups], color=MISFIT, label=LABELS["mean"]
        )
        ax.axhline(0.0, color=REFERENCE, linestyle="--", linewidth=0.8)
        ax.set_ylabel(what)
        ax.legend(frameon=False)
    else:
        reach = float(np.quantile(np.abs(values), 0.99)) or 1.0
        cloud = ax.scatter(
            x[shown, j], x[shown, k], c=values[shown], s=8, cmap="PuOr_r", vmin=-reach, vmax=reach
        )
        figure.colorbar(cloud, ax=ax, label=what)
        set_label(ax.yaxis, record.findings.label(names[k]))
    set_label(ax.xaxis, record.findings.label(coordinate))
    return figure


def _witness_values(
    record: CheckRecord, x: np.ndarray, coordinate: str, other: int | None
) -> tuple[np.ndarray, str]:
    contributions = record.findings.draw_contributions
    if contributions is None:
        pit, names = pits(record)
        context = None if other is None else x[:, other]
        u = pit[:, position(names, coordinate)]
        return surplus(u, context, record.draws.effective_draws), LABELS["surplus"]
    names = [c.name for c in record.findings.coordinates]
    if len(names) != contributions.shape[1]:  # one number for all coordinates
        return contributions.sum(axis=1), LABELS["contribution"]
    chosen = [coordinate] if other is None else [coordinate, record.findings.x_names[other]]
    hidden = [name for name in chosen if name not in names]
    if hidden:
        known = listed(names, most=10)
        raise InputError(
            f"{printable(hidden[0])} was not tested by itself: what draws add is known of {known}."
        )
    columns = [names.index(name) for name in chosen]
    return contributions[:, columns].sum(axis=1), LABELS["contribution"]


def surplus(u: np.ndarray, other: np.ndarray | None, effective: float) -> np.ndarray:
    r"""q / p - 1 at each draw, from products of cosines of u and polynomials of another coordinate.

    Only terms whose means are beyond twice their standard error are kept.
    """
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
