"""What a prompt and a notebook show of a result: the report that it prints."""

import html
from typing import Any

from steinwise.results.notebook_style import framed


class Shown:
    """A result that shows itself as `print` does, not by all of its fields.

    A dataclass needs `repr=False` to inherit that.

    >>> class Verdict(Shown):
    ...     def __str__(self):
    ...         return "p < 0.001"
    >>> Verdict()
    p < 0.001
    >>> "<pre>p &lt; 0.001</pre>" in Verdict()._repr_html_()
    True
    """

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return framed(f"<pre>{html.escape(str(self))}</pre>")

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What IPython shows in a terminal."""
        del cycle
        printer.text(str(self))
