"""A summary as one HTML file that opens offline, in the style of a check's."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from steinwise._internal.escaping import html_text
from steinwise.results import wording
from steinwise.results.page_parts import (
    ROWS,
    definitions,
    document,
    inline_svg,
    note_paragraph,
    searchable_table,
)
from steinwise.results.wording import PAGE

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Cell(NamedTuple):
    """A number to sort by, and how it is shown."""

    value: float
    shown: str


class Row(NamedTuple):
    """A quantity: mean and sd, as drawn and corrected."""

    name: str
    numbers: tuple[Cell, ...]
    verdict: str
    wrong: bool


def page(content: Iterable[str], source: Mapping[str, str], version: str) -> str:
    """A page of its own, with where the draws come from, and what `part` gives."""
    facts = [*source.items(), ("steinwise", version)]
    return document([f"<h1>{PAGE['summary']}</h1>", *definitions(facts), *content])


def part(
    rows: Sequence[Row],
    fact: str,
    notes: Sequence[str],
    closing: str,
    plot: "Callable[[], Figure]",
) -> Iterator[str]:
    """The table and the picture; rows in their order, the worst first."""
    yield f"<p>{html_text(fact)}</p>"
    yield from map(note_paragraph, notes)
    kinds = ["", *["number"] * (len(wording.SUMMARY_COLUMNS) - 2), ""]
    titles = [name or PAGE["quantity"] for name in wording.SUMMARY_COLUMNS]
    columns = zip(titles, kinds, strict=True)
    yield from searchable_table("answers", PAGE["summary"], len(rows), columns, _rows(rows))
    yield f"<p>{html_text(closing)}</p>"
    yield f"<h2>{PAGE['intervals']}</h2>"
    yield f'<div class="picture">{inline_svg(plot, PAGE["intervals"])}</div>'


def _rows(rows: Sequence[Row]) -> Iterator[str]:
    for row in rows[:ROWS]:
        yield f'<tr class="{"misfit" * row.wrong}">'
        yield f'<th scope="row" class="name">{html_text(row.name)}</th>'
        for cell in row.numbers:
            value = "" if cell.value != cell.value else f"{cell.value:.6g}"
            yield f'<td class="number" data-value="{value}">{html_text(cell.shown)}</td>'
        yield f'<td class="verdict-text">{html_text(row.verdict)}</td></tr>'
