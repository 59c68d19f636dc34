"""Pictures whose words can be read: all of them inside of the figure, none over another panel."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from scipy import stats

import steinwise as sw
from steinwise.results.figures import _width, shortened
from steinwise.results.plots import Answer, plot_answers

CASES = ("3 short names", "3 names of 40 characters", "3 wide names", "40 names", "40 long names")
FONT = FontProperties(size=10)


def _names(case: str) -> list[str]:
    if case == "3 short names":
        return ["alpha", "beta", "log_tau"]
    if case == "3 wide names":
        return [f"WIDE_MODEL_OF_WOMEN_{k}_MEAN_WAGE_WEIGHT" for k in range(3)]
    if case == "40 names":
        return [f"x[{k}]" for k in range(40)]
    count = 3 if case.startswith("3 ") else 40
    return [f"population_level_effects.region[{k:02}].sd" for k in range(count)]


@pytest.fixture(scope="module", params=CASES)
def shifted(request: pytest.FixtureRequest) -> sw.CheckResult:
    """Draws that are off along the direction in which they are long, which is flagged."""
    names = _names(request.param)
    d = len(names)
    covariance = 0.3 * np.eye(d) + 0.7
    rng = np.random.default_rng(0)
    draws = rng.multivariate_normal(np.full(d, 2.0), covariance, size=200)
    target = sw.Gaussian(np.zeros(d), covariance)
    result = sw.check(draws, target, names=names, n_bootstrap=200)
    assert result["direction 1"].name.startswith("direction 1 (")
    assert result["direction 1"].adjusted_pvalue <= result.alpha
    return result


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


@pytest.mark.parametrize("size", [10, 13])
def test_the_overview_can_be_read(shifted: sw.CheckResult, size: int) -> None:
    """Catches names that run over the null's panel or off the figure, and labels that are cut."""
    with rc_context({"font.size": size}):
        figure = shifted.plot()
        assert_readable(figure)
    null, rows = figure.axes
    assert null.bbox.width == pytest.approx(rows.bbox.width)
    assert null.bbox.width > 3 * figure.dpi
    labels = [text.get_text() for text in rows.get_yticklabels()]
    assert len(labels) == len(set(labels)) == min(len(shifted.coordinates), 30)


def test_an_unknown_error_does_not_look_like_none(shifted: sw.CheckResult) -> None:
    """Catches a row without a bar, which is what an error of 0 looks like."""
    worst = shifted.coordinates[0].name
    coordinates = tuple(
        replace(c, marginal=None) if c.name == worst else c for c in shifted.findings.coordinates
    )
    partly = replace(shifted, findings=replace(shifted.findings, coordinates=coordinates))
    figure = partly.plot()
    assert_readable(figure)
    rows = figure.axes[1]
    (mark,) = rows.texts
    assert mark.get_text() == "?"
    at = [text.get_text() for text in rows.get_yticklabels()]
    assert mark.xy[1] == len(at) - 1  # type: ignore[attr-defined]  # the worst is on top
    assert rows.bbox.contains(*mark.get_window_extent().min)
    assert rows.bbox.contains(*mark.get_window_extent().max)
    (legend,) = figure.legends
    assert "not known from these draws" in [text.get_text() for text in legend.get_texts()]
    assert not shifted.plot().axes[1].texts


@pytest.mark.parametrize("known", [0, 2])
def test_an_answer_that_is_not_known_is_marked_in_its_row(known: int) -> None:
    """Catches a question mark on the frame, or above it, where no bar makes room for its row."""
    unknown = Answer("tau", 1.0, 2.0, np.nan, np.nan, np.nan)
    others = [Answer(f"x[{j}]", 0.2, 0.8, 0.0, 1.0, 0.1) for j in range(known)]
    figure = plot_answers([unknown, *others])
    assert_readable(figure)
    (ax,) = figure.axes
    (mark,) = [line for line in ax.lines if line.get_marker() == "$?$"]
    x, row = (float(np.ravel(values)[0]) for values in mark.get_data())
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    assert row == known
    assert low + 0.3 <= row <= high - 0.3
    assert left < x < right
    (legend,) = figure.legends
    assert "not known from these draws" in [text.get_text() for text in legend.get_texts()]


def test_no_legend_covers_the_bins_of_a_transform(shifted: sw.CheckResult) -> None:
    """Catches a legend over the first bins, where the misfit of most coordinates shows."""
    figure = shifted.plot_pit(shifted.findings.coordinates[0].name)
    assert figure.axes[0].get_legend() is None
    assert len(figure.legends) == 1
    assert_readable(figure)


def test_the_legend_has_the_colours_of_no_single_row(shifted: sw.CheckResult) -> None:
    """Catches a blue legend of orange bars, and one that covers rows."""
    figure = shifted.plot()
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["mean error, in sds", "sd ratio - 1", "flagged"]
    colours = [to_hex(patch.get_facecolor()) for patch in legend.get_patches()]
    assert colours[0] == colours[1] != colours[2] == "#d55e00"
    assert figure.axes[1].get_legend() is None


def test_the_overview_counts_what_is_flagged_and_not_only_what_is_shown() -> None:
    """Catches "30 flagged" of fifty."""
    draws = np.random.default_rng(0).normal(2.0, 1.0, size=(200, 50))
    result = sw.check(draws, sw.Gaussian(np.zeros(50), np.eye(50)), n_bootstrap=100)
    assert result.plot().axes[1].get_title() == "50 flagged; 30 of 50 shown"


def test_pictures_of_coordinates_can_be_read(shifted: sw.CheckResult) -> None:
    """Catches long names in labels, along both axes."""
    one, other = (c.name for c in shifted.findings.coordinates[:2])
    assert_readable(shifted.plot_pit(one))
    assert_readable(shifted.plot_pair(one, other))
    assert_readable(shifted.plot_witness(one))
    assert_readable(shifted.plot_witness(one, other))


def test_a_direction_can_be_shown(shifted: sw.CheckResult) -> None:
    """Catches a flag that no picture explains, and one drawn of the draws that chose it."""
    name, findings = shifted["direction 1"].name, shifted.findings
    figure = shifted.plot_pit(name)
    assert_readable(figure)
    assert figure.axes[0].get_xlabel().startswith("place along direction 1 (")
    assert findings.x is not None
    assert findings.direction_pit is not None
    assert len(findings.direction_pit) == 160  # of 200: a fifth is held out
    effect = shifted["direction 1"].effect
    assert effect is not None
    scores = stats.norm.ppf(findings.direction_pit[:, 0])
    assert scores.mean() == pytest.approx(effect.conditional_shift, abs=0.05)
    again = shifted.plot_pit("direction 1").axes[0]
    assert again.get_xlabel() == figure.axes[0].get_xlabel()
    with pytest.raises(sw.InputError, match=r"no coordinate 'direction 77'.*; and direction 1"):
        shifted.plot_pit("direction 77")
    with pytest.raises(sw.InputError, match="Only plot_pit shows directions"):
        shifted.plot_pair(name, shifted.findings.coordinates[0].name)


def test_the_band_of_a_direction_is_that_of_the_draws_it_shows() -> None:
    """Catches a band for all draws around a histogram of four fifths of them: it is too narrow."""
    covariance = 0.3 * np.eye(3) + 0.7
    draws = np.random.default_rng(3).multivariate_normal(np.zeros(3), covariance, size=1000)
    result = sw.check(draws, sw.Gaussian(np.zeros(3), covariance), n_bootstrap=100)
    low, high = stats.binom.ppf([0.05 / 40, 1 - 0.05 / 40], 800, 1 / 20)
    band = result.plot_pit("direction 1").axes[0].patches[0]
    assert isinstance(band, Rectangle)
    assert band.get_height() == pytest.approx((high - low) * 20 / 800)


def test_comparisons_can_be_read() -> None:
    draws = np.random.default_rng(1).normal(size=(200, 2))
    models = {
        f"hierarchical model with {k} levels and a prior that nobody has thought much about": (
            sw.Gaussian(np.full(2, 0.1 * k), np.eye(2))
        )
        for k in range(3)
    }
    found = sw.compare_models(draws, models)
    assert_readable(found.plot())
    assert all(name in str(found) for name in models)


def test_names_are_shortened_in_the_middle_and_only_where_they_must_be() -> None:
    name = "a_long_name_of_a_coordinate[17]"
    assert shortened([name, "b"], 5.0, FONT) == [name, "b"]
    (short,) = shortened([name], 1.2, FONT)
    front, back = short.split("…")
    assert name.startswith(front)
    assert name.endswith(back)
    assert abs(len(front) - len(back)) <= 1
    assert 1.0 < _width(short, FONT) <= 1.2
    assert shortened([name], 0.01, FONT) == ["…"]
    assert shortened(["", " ", "a\nb"], 1.0, FONT) == ["", " ", r"a\nb"]


def test_names_that_differ_stay_different() -> None:
    """Catches two rows with the same label: these names differ where the ellipsis would stand."""
    names = [f"coefficients_of_the_model[{k}].intercept_of_the_group" for k in range(3)]
    assert len(set(shortened(names, 2.4, FONT))) == 3
    alike = [f"{'a' * 50}{k}{'b' * 50}" for k in range(3)]  # nothing tells these apart: no matter
    assert all("…" in short for short in shortened(alike, 0.5, FONT))


def test_formulas_are_drawn_whole_or_as_they_are_written() -> None:
    r"""Catches half of a formula, which matplotlib refuses to draw."""
    formula = r"$\alpha_{12}$"
    assert shortened([formula], 1.0, FONT) == [formula]
    figure = Figure()
    (short,) = shortened([r"$\frac{\alpha_{12}}{\beta_{17} + \gamma_{23}} + \delta$"], 0.5, FONT)
    figure.text(0.1, 0.5, short)
    FigureCanvasAgg(figure).draw()
    assert short.startswith(r"\$")
