"""One style for all figures: a method has the same colour and marker everywhere."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY = "#555555"
REFERENCE_LINE = {"color": GREY, "linewidth": 1.0, "linestyle": (0, (4, 3)), "zorder": 1}


class Style(NamedTuple):
    """How a method is drawn; the markers distinguish methods even without colour."""

    color: str
    marker: str
    label: str


STYLES = {  # the colour-blind safe palette of Okabe and Ito, with grey in place of yellow
    "approximate KCC-SD": Style("#D55E00", "o", "approximate KCC-SD"),
    "exact KCC-SD": Style("#E69F00", "X", "exact KCC-SD"),
    "default check": Style("#0072B2", "s", "steinwise, default check"),
    "KSD": Style("#009E73", "^", "KSD"),
    "RPhiSD": Style("#CC79A7", "v", "R$\\Phi$SD"),
    "FSSD-opt": Style("#56B4E9", "D", "FSSD-opt"),
    "sliced KSD, axes": Style("#000000", "P", "sliced KSD on the axes"),
    "KSDAgg": Style("#777777", "*", "KSDAgg"),
    # samplers, in Tol's muted palette, which is colour-blind safe too
    "Gibbs": Style("#882255", "o", "Gibbs sampler"),
    "frozen": Style("#999933", "s", "frozen at the start, only y drawn"),
    "inverse ESS": Style("#332288", "h", "inverse effective sample size"),
    "HMC": Style("#44AA99", "s", "Hamiltonian Monte Carlo"),
}


def base_name(method: str) -> str:
    """The name of a method without its kernel.

    >>> base_name("KSD (IMQ)"), base_name("KSDAgg")
    ('KSD', 'KSDAgg')
    """
    return method.partition(" (")[0]


def style(method: str) -> Style:
    """The style of a method, whatever its kernel."""
    name = base_name(method)
    if name not in STYLES:
        raise KeyError(f"{name!r} has no style: add it to experiments/engine/figures.py.")
    return STYLES[name]


def line_style(method: str) -> dict[str, Any]:
    """Keyword arguments for `Axes.plot` and `Axes.errorbar`."""
    color, marker, _ = style(method)
    return {"color": color, "marker": marker, "markersize": 5, "linewidth": 1.4}


def new_axes(title: str, x: str, y: str) -> tuple["Figure", "Axes"]:
    """A figure with one pair of axes, in a size for print; the legend goes to its right."""
    figure, ((ax,),) = new_grid(1, 1, 7.2, 4.0)
    label_axes(ax, title, x, y)
    return figure, ax


def new_grid(
    rows: int, columns: int, width: float, height: float, **shared: Any
) -> tuple["Figure", "np.ndarray"]:
    """A figure with rows and columns of axes; sizes are in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def label_axes(ax: "Axes", title: str, x: str, y: str) -> None:
    """Set title and labels, in the style of all axes."""
    ax.set_title(title, fontsize=11)
    ax.set_xlabel(x, fontsize=11)
    ax.set_ylabel(y, fontsize=11)
    ax.tick_params(labelsize=10)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)


def legend(figure: "Figure", note: str) -> None:
    """Put the legend next to the axes, and a note on what the figure is based on below it."""
    figure.legend(loc="outside right upper", fontsize=9, frameon=False)
    # a legend without entries, as mere text would get no room of its own
    below = figure.legend(
        handles=[], loc="outside right lower", title=note, title_fontsize=8, frameon=False
    )
    below.get_title().set_color(GREY)


def log_ticks(ax: "Axes", values: Sequence[int]) -> None:
    """Make the x axis logarithmic, with ticks at the measured values only."""
    ax.set_xscale("log")
    ax.set_xticks(list(values), [str(value) for value in values])
    ax.minorticks_off()


def dodge(value: float, curve: int, count: int) -> float:
    """The value, shifted on a logarithmic axis so that equal curves do not hide each other."""
    return value * 1.03 ** (curve - (count - 1) / 2)


def save(figure: "Figure", path: Path) -> None:
    """Save as PNG: equal figures give equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, metadata={"Software": None})
