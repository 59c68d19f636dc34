"""Lines of text and tables, laid out for a terminal."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from steinwise._internal.escaping import printable

WIDTH = 79
ROWS_SHOWN = 12  # of a table of coordinates
HANGING = " " * 6  # before the last column of a table on a line of its own

Role = Literal["", "misfit", "no misfit"]


class Line(NamedTuple):
    """A line of a report; its role decides its colour, its last column where it may be broken."""

    text: str
    role: Role = ""
    last_column: int | None = None  # where the last column of a table begins
    is_paragraph: bool = False

    def broken(self, width: int) -> list[str]:
        """A paragraph in lines; a row that is too long with its last column on lines of its own."""
        if self.is_paragraph:
            return textwrap.wrap(self.text, min(width, WIDTH))
        if self.last_column is None or len(self.text) <= width:
            return [self.text]
        last = textwrap.wrap(self.text[self.last_column :], width - len(HANGING))
        return [self.text[: self.last_column].rstrip(), *(HANGING + part for part in last)]


def plain(lines: Iterable[Line]) -> str:
    """The lines as they are printed where there is no terminal."""
    return "\n".join(part for line in lines for part in line.broken(WIDTH))


def paragraph(text: str, role: Role = "") -> list[Line]:
    """An empty line, and the text, which is broken where it is shown: what it calls an argument of
    a function has another name, and another length, on the command line.
    """
    return [Line(""), Line(printable(text), role, is_paragraph=True)]


def note_lines(notes: Iterable[str]) -> list[Line]:
    """A paragraph for each note."""
    return [line for note in notes for line in paragraph(f"Note: {note}")]


def indented(lines: Iterable[str]) -> list[Line]:
    return [Line(f"  {line}") for line in lines]


def wrapped_table(rows: Sequence[tuple[str, ...]], indent: str = "") -> list[Line]:
    """Aligned columns, the last of which may go to lines of its own."""
    last_column = len(indent) + sum(_widths(rows)[:-1]) + 2 * len(rows[0][1:])
    return [Line(f"{indent}{line}", last_column=last_column) for line in aligned(rows)]


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns padded to their widest entry; the last one is left ragged."""
    widths = _widths(rows)
    padded = (
        "  ".join(printable(cell).ljust(w) for cell, w in zip(row, widths, strict=True))
        for row in rows
    )
    return [line.rstrip() for line in padded]


def _widths(rows: Sequence[tuple[str, ...]]) -> list[int]:
    return [max(len(printable(row[i])) for row in rows) for i in range(len(rows[0]))]
