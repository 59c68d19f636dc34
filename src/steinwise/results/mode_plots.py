"""A picture of two modes: the log density on the line between them, and the draws along it."""

from typing import TYPE_CHECKING

import numpy as np

from steinwise.results.figures import FIT, LEGEND, MISFIT, new_figure
from steinwise.results.modes import ModePath
from steinwise.results.wording import LABELS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DEEPEST = 60.0  # nats of a valley that are shown
BINS = 60


def plot_mode_path(path: ModePath) -> "Figure":
    """The log density from one peak to another, over a histogram of the draws along the way.

    Draws are moved straight onto it. Those beyond its ends are at its ends.
    """
    figure, (ax,) = new_figure(1, height=3.6)
    ends = float(path.steps[0]), float(path.steps[-1])
    counts = ax.twinx()
    counts.hist(
        np.clip(path.draws, *ends),
        bins=BINS,
        range=ends,
        color=FIT,
        alpha=0.5,
        label=LABELS["draws"],
    )
    counts.set_ylabel(LABELS["draws"])
    ax.plot(path.steps, path.log_density, color=MISFIT, label=LABELS["log density"])
    ax.set_ylim(bottom=max(float(np.nanmin(path.log_density)), -DEEPEST) - 1)
    ax.set_xlabel(LABELS["path"])
    ax.set_ylabel(LABELS["log density"])
    figure.legend(loc="outside upper left", ncols=2, **LEGEND)  # inside, it would hide a peak
    return figure
