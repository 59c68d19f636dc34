"""Findings that print as a table: a tuple whose items keep their fields."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from steinwise._internal.escaping import html_text
from steinwise.results.layout import plain, wrapped_table
from steinwise.results.notebook_style import framed

_Item = TypeVar("_Item")


class Listing(tuple[_Item, ...]):
    """A tuple of findings, printed as a table with a row for each.

    >>> print(Listing.of([1, 2], lambda items: [("number",), *((str(item),) for item in items)]))
    number
    1
    2
    """

    rows: Callable[[Sequence[_Item]], Sequence[tuple[str, ...]]]  # titles, and a row per item

    @classmethod
    def of(
        cls, items: Iterable[_Item], rows: Callable[[Sequence[_Item]], Sequence[tuple[str, ...]]]
    ) -> "Listing[_Item]":
        """The items, and what makes the table that they are shown as, its titles first."""
        listing = cls(items)
        listing.rows = rows
        return listing

    def __repr__(self) -> str:
        return plain(wrapped_table(self.rows(self))) if self else "()"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        titles, *rows = self.rows(self)
        table = "".join(
            [
                "<table><thead><tr>",
                *(f"<th>{html_text(title)}</th>" for title in titles),
                "</tr></thead><tbody>",
                *(
                    "<tr>" + "".join(f"<td>{html_text(cell)}</td>" for cell in row) + "</tr>"
                    for row in rows
                ),
                "</tbody></table>",
            ]
        )
        return framed(table)
