"""Whether all words of a picture can be read."""

from collections.abc import Iterator
from itertools import combinations

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox


def _words(ax: Axes) -> Iterator[Text]:
    """The texts of axes that are drawn."""
    yield from (ax.title, ax.xaxis.label, ax.yaxis.label)
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)
    legend = ax.get_legend()
    yield from () if legend is None else legend.get_texts()


def _overlap(one: Bbox, other: Bbox) -> bool:
    """By more than a pixel."""
    common = Bbox.intersection(one, other)
    return common is not None and min(common.width, common.height) > 1


def assert_readable(figure: Figure) -> None:
    """No word is cut, over another word, or in a panel that is not its own."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = {}
    for ax in figure.axes:
        for text in _words(ax):
            if text.get_visible() and text.get_text():
                boxes[text] = box = text.get_window_extent(canvas.get_renderer())
                assert box.padded(-1).x0 >= 0, text
                assert box.padded(-1).y0 >= 0, text
                assert box.padded(-1).x1 <= figure.bbox.width, text
                assert box.padded(-1).y1 <= figure.bbox.height, text
                for other in figure.axes:
                    assert other is ax or not _overlap(box, other.bbox), text
    for legend in figure.legends:
        for text in legend.get_texts():
            boxes[text] = box = text.get_window_extent(canvas.get_renderer())
            assert 0 <= box.padded(-1).x0 <= box.padded(-1).x1 <= figure.bbox.width, text
            assert not any(_overlap(box, ax.bbox) for ax in figure.axes), text
    for one, other in combinations(boxes, 2):
        assert not _overlap(boxes[one], boxes[other]), (one, other)
