"""Pictures whose words can be read: all of them inside of the figure, none over another panel."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.colors import to_hex

import steinwise as sw
from tests.results.readable import assert_readable


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
