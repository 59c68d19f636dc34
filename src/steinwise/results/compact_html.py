"""A result inside a notebook: compact, with a style of its own that changes nothing around it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from steinwise._internal.escaping import html_text
from steinwise.results import plots, wording
from steinwise.results.check_text import coordinate_rows, sizes_meaning
from steinwise.results.html import tolerance_and_notes, verdict
from steinwise.results.layout import ROWS_SHOWN
from steinwise.results.notebook_style import framed
from steinwise.results.page_parts import inline_svg, note_paragraph
from steinwise.results.record import CheckRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = tuple[bool, tuple[str, ...]]  # whether something is wrong, and the cells


def check(record: CheckRecord) -> str:
    """The verdict, the table of the worst coordinates, and the picture where it can be drawn."""
    return _compact(
        [
            verdict(record),
            *tolerance_and_notes(record),
            *_coordinates(record),
            *_picture(lambda: plots.plot_check(record), wording.PAGE["picture"]),
        ]
    )


def summary(
    rows: Sequence[Row],
    fact: str,
    notes: Sequence[str],
    closing: str,
    plot: "Callable[[], Figure]",
) -> str:
    """The table of the worst quantities, and the picture where it can be drawn."""
    return _compact(
        [
            f"<p>{html_text(fact)}</p>",
            *map(note_paragraph, notes),
            *_table(wording.SUMMARY_COLUMNS, rows, closing),
            *_picture(plot, wording.PAGE["intervals"]),
        ]
    )


def _compact(content: Iterable[str]) -> str:
    return framed("\n".join(content))


def _coordinates(record: CheckRecord) -> Iterator[str]:
    if not record.findings.coordinates:
        return
    ordered, flagged = record.coordinates, {c.name for c in record.flagged}
    titles, *rows = coordinate_rows(record, ordered)
    marked = [(c.name in flagged, row) for c, row in zip(ordered, rows, strict=True)]
    yield from _table(titles, marked, sizes_meaning(record))


def _table(titles: Sequence[str], rows: Sequence[Row], meaning: str) -> Iterator[str]:
    """The first rows, and below them how many more there are and how to read them."""
    yield "<table><thead><tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr></thead>"
    yield "<tbody>"
    for wrong, row in rows[:ROWS_SHOWN]:
        cells = "".join(f"<td>{html_text(cell)}</td>" for cell in row)
        yield f'<tr class="{"misfit" * wrong}">{cells}</tr>'
    yield "</tbody></table>"
    below = [*wording.more_rows(len(rows), ROWS_SHOWN), meaning]
    yield from (f"<p>{html_text(line)}</p>" for line in below if line)


def _picture(plot: "Callable[[], Figure]", shows: str) -> Iterator[str]:
    if find_spec("matplotlib") is not None:
        yield f'<div class="picture">{inline_svg(plot, shows)}</div>'
