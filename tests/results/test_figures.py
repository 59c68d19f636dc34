"""Names that fit into pictures."""

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from steinwise.results.figures import _width, shortened

FONT = FontProperties(size=10)


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
