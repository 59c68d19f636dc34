"""What all pictures share: their colours, and names that fit.

Names can be long, and matplotlib makes no room for a label that is longer than its axes. So names
are measured: a figure grows by the names next to its rows, and what is too long even then is
shortened in the middle. The text of a result has the whole name.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

from steinwise._internal.escaping import printable
from steinwise.results.wording import LABELS, UNKNOWN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.lines import Line2D

MISFIT, FIT, REFERENCE = "#D55E00", "#0072B2", "#555555"  # Okabe and Ito, colour-blind safe
LEGEND = {"framealpha": 0.8, "edgecolor": "none"}  # readable over bars and lines
UNKNOWN_MARK = f"${UNKNOWN}$"
COORDINATES_SHOWN = 30
POINTS_SHOWN = 5000
ROW_ROOM = 3.0  # for a name next to its row, in inches
LONGEST = 500  # characters that could fit into that room; measuring takes time for each
LABEL_ROOM = {"x": 3.8, "y": 3.2}  # for a label of the axes of a figure of one panel


def new_figure(columns: int, width: float = 5.0, height: float = 4.0) -> tuple["Figure", list]:
    """A figure with one row of axes, or an error that names the extra."""
    try:
        from steinwise.results.picture import Picture
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "plots need matplotlib: pip install 'steinwise[plots]'"
        ) from error
    figure = Picture(figsize=(width * columns, height), layout="constrained")
    axes = [figure.add_subplot(1, columns, i + 1) for i in range(columns)]
    return figure, axes


def unknown_mark() -> "Line2D":
    """A question mark, for a legend."""
    from matplotlib.lines import Line2D

    mark = Line2D([], [], marker=UNKNOWN_MARK, linestyle="", color=REFERENCE)
    mark.set_label(LABELS["unknown"])
    return mark


def name_rows(ax: "Axes", names: Sequence[str]) -> None:
    """Names next to the rows 0, 1, ... of a picture."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties

    font = FontProperties(size=rcParams["ytick.labelsize"])
    ax.set_yticks(range(len(names)), shortened(names, ROW_ROOM, font), usetex=False)


def make_room(figure: "Figure", ax: "Axes") -> None:
    """Widen a figure by the names next to the rows of its axes."""
    widest = max(_width(one.get_text(), one.get_fontproperties()) for one in ax.get_yticklabels())
    figure.set_size_inches(figure.get_figwidth() + widest, figure.get_figheight())


def set_label(axis: "XAxis | YAxis", name: str, before: str = "", after: str = "") -> None:
    """A label with a name in it, on two lines if one is too long."""
    font, room = axis.label.get_fontproperties(), LABEL_ROOM[axis.axis_name]
    (name,) = shortened([name], room - _width(before + "|", font), font)
    line = f"{before}{name} {after}".rstrip()
    label = line if _width(line, font) <= room else f"{before}{name}\n{after}"
    axis.set_label_text(label, usetex=False)


def shortened(names: Sequence[str], room: float, font: "FontProperties") -> list[str]:
    """Names that fit into `room` inches; in long ones an ellipsis replaces the middle.

    The ellipsis stands elsewhere if names would be the same without their middle.
    """
    names, tried = [_drawable(name) for name in names], []
    for front in (0.5, 0.3, 0.7, 0.1, 0.9):
        tried.append([_cut_to(name, room, font, front) for name in names])
        if len(set(tried[-1])) == len(set(names)):
            return tried[-1]
    return tried[0]


def _drawable(name: str) -> str:
    """A name that matplotlib can draw: $...$ is a formula only if it understands it."""
    from matplotlib.cbook import is_math_text
    from matplotlib.mathtext import MathTextParser

    name = printable(name)
    if not is_math_text(name):
        return name
    try:
        if len(name) <= LONGEST:
            MathTextParser("path").parse(name)
            return name
    except Exception:  # its parser has no error of its own
        pass
    return name.replace("$", r"\$")


def _cut_to(name: str, room: float, font: "FontProperties", front: float) -> str:
    if len(name) <= LONGEST and _width(name, font) <= room:
        return name

    def cut(kept: int) -> str:
        head = round(front * kept)
        text = name[:head].rstrip() + "…" + name[len(name) - kept + head :].lstrip()
        return text.replace("$", r"\$")  # half of a formula is none

    kept = bisect_right(range(min(len(name), LONGEST)), room, key=lambda k: _width(cut(k), font))
    return cut(max(kept - 1, 0))


def _width(text: str, font: "FontProperties") -> float:
    """Of text, in inches."""
    from matplotlib.cbook import is_math_text
    from matplotlib.textpath import text_to_path

    measure = text_to_path.get_text_width_height_descent
    lines = text.split("\n")
    return max(measure(line, font, is_math_text(line))[0] for line in lines) / 72
