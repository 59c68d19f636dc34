"""Pictures of numbers with intervals."""

import numpy as np
import pytest

import steinwise as sw
from steinwise.results.interval_plots import AnswerRow, plot_answers
from tests.results.readable import assert_readable


@pytest.mark.parametrize("known", [0, 2])
def test_an_answer_that_is_not_known_is_marked_in_its_row(known: int) -> None:
    """Catches a question mark on the frame, or above it, where no bar makes room for its row."""
    unknown = AnswerRow("tau", 1.0, 2.0, np.nan, np.nan, np.nan)
    others = [AnswerRow(f"x[{j}]", 0.2, 0.8, 0.0, 1.0, 0.1) for j in range(known)]
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
