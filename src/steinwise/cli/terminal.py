"""A report on a terminal: the verdict in colour, and no row of the table broken inside a word."""

import shutil
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

import click

from steinwise.cli.answers import as_options

if TYPE_CHECKING:
    from steinwise.results.layout import Line, Role

STYLES: "dict[Role, dict[str, Any]]" = {
    "misfit": {"fg": "red", "bold": True},
    "no misfit": {"fg": "green"},
    "": {"reset": False},
}
NARROWEST = 20  # columns: on less, a terminal breaks lines no worse than we would


def for_a_terminal(lines: "Iterable[Line]", out: TextIO) -> str:
    """The lines of a report as they go to `out`: a file gets those of `print(result)`."""
    from steinwise.results.layout import WIDTH

    width = max(shutil.get_terminal_size().columns, NARROWEST) if out.isatty() else WIDTH
    shown = []
    for given in lines:
        in_table = given.last_column is not None
        line = given if in_table else given._replace(text=as_options(given.text))
        shown += [click.style(part, **STYLES[line.role]) for part in line.broken(width)]
    return "\n".join(shown)
