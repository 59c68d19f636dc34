"""A result inside a notebook: compact, with a style of its own that changes nothing around it."""

from collections.abc import Iterator
from importlib.util import find_spec

from steinwise.results import plots, wording
from steinwise.results.html import inline_svg, shown_text, tolerance_and_notes, verdict
from steinwise.results.record import CheckRecord
from steinwise.results.text import ROWS_SHOWN, coordinate_rows, sizes_meaning

# colours come from the notebook: light or dark
STYLE = (
    "<style>.steinwise{max-width:60rem}.steinwise table{border-collapse:collapse;margin:.5rem 0}"
    ".steinwise th,.steinwise td{padding:.2rem .6rem;text-align:left;vertical-align:top}"
    ".steinwise .verdict{border-left:.4rem solid #0072B2;padding:.4rem .8rem;margin:.3rem 0}"
    ".steinwise .verdict.misfit{border-color:#D55E00}"
    ".steinwise tr.misfit td:last-child{font-weight:600}"
    ".steinwise .picture{background:#fff;max-width:46rem}"
    ".steinwise .picture svg{width:100%;height:auto}</style>"
)


def check(record: CheckRecord) -> str:
    """The verdict, the table of the worst coordinates, and the picture where it can be drawn."""
    return "\n".join(
        [
            '<div class="steinwise">',
            STYLE,
            verdict(record),
            *tolerance_and_notes(record),
            *_table(record),
            *_picture(record),
            "</div>",
        ]
    )


def _table(record: CheckRecord) -> Iterator[str]:
    if not record.findings.coordinates:
        return
    ordered, flagged = record.coordinates, {c.name for c in record.flagged}
    titles, *rows = coordinate_rows(record, ordered[:ROWS_SHOWN])
    yield "<table><thead><tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr></thead>"
    yield "<tbody>"
    for c, row in zip(ordered[:ROWS_SHOWN], rows, strict=True):
        cells = "".join(f"<td>{shown_text(cell)}</td>" for cell in row)
        yield f'<tr class="{"misfit" * (c.name in flagged)}">{cells}</tr>'
    yield "</tbody></table>"
    below = [*wording.more_rows(len(ordered), ROWS_SHOWN), sizes_meaning(record)]
    yield from (f"<p>{shown_text(line)}</p>" for line in below if line)


def _picture(record: CheckRecord) -> Iterator[str]:
    if find_spec("matplotlib") is not None:
        drawn = inline_svg(lambda: plots.plot_check(record), wording.PAGE["picture"])
        yield f'<div class="picture">{drawn}</div>'
