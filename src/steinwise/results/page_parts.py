"""The parts that pages are made of; nothing in them asks the network for anything."""

import io
import re
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from typing import TYPE_CHECKING

from steinwise._internal.escaping import html_text
from steinwise.results import wording
from steinwise.results.wording import PAGE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = 1000  # the worst ones; more make a page that no browser likes


def document(content: Iterable[str]) -> str:
    """A page with this content, and with its own style and script."""
    assets = files("steinwise.results") / "assets"
    style, script = ((assets / name).read_text("utf-8") for name in ("report.css", "report.js"))
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>steinwise report</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            "<main>",
            *content,
            "</main>",
            f"<script>\n{script}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def definitions(rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Names and values; nothing where there are none."""
    shown = [f"<dt>{html_text(name)}</dt><dd>{html_text(value)}</dd>" for name, value in rows]
    if shown:
        yield from ("<dl>", *shown, "</dl>")


def note_paragraph(note: str) -> str:
    return f'<p class="note"><strong>Note:</strong> {html_text(note)}</p>'


def searchable_table(
    name: str, region: str, total: int, columns: Iterable[tuple[str, str]], rows: Iterable[str]
) -> Iterator[str]:
    """A table whose rows can be searched, and sorted by any of its columns.

    Parameters
    ----------
    name, region
        The table's name in the page, and what it is called.
    total
        The number of rows that there are; the first `ROWS` are on the page.
    columns
        Their titles and classes; one of class "histogram" cannot be sorted by.
    rows
        Their markup.
    """
    yield '<section class="searchable">'
    if total > ROWS:
        yield f'<p class="quiet">{wording.worst_shown(ROWS, total)}</p>'
    yield f'<label for="search-{name}">{PAGE["search"]}</label><br>'
    yield f'<input type="search" id="search-{name}" autocomplete="off">'
    yield f'<span id="shown-{name}" class="quiet" role="status"></span>'
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{region}">'
    yield f'<table id="{name}"><thead><tr>'
    for title, kind in columns:
        shown = title if "histogram" in kind else f'<button type="button">{title}</button>'
        yield f'<th scope="col" class="{kind}">{shown}</th>'
    yield "</tr></thead><tbody>"
    yield from rows
    yield "</tbody></table></div></section>"


def inline_svg(plot: "Callable[[], Figure]", shows: str) -> str:
    """A plot as inline SVG: no declaration of its own, and the same for the same numbers."""
    from matplotlib import rc_context

    out = io.StringIO()
    with rc_context({"svg.hashsalt": "steinwise", "svg.fonttype": "path"}):
        plot().savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    label = f'<svg role="img" aria-label="{html_text(shows)}"'
    return text.replace("<svg", label, 1)
