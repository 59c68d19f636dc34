"""Text from elsewhere, such as a name in a file, that cannot change what is shown around it."""

import html
from collections.abc import Sequence


def printable(text: str) -> str:
    r"""The text with its control characters, line breaks and directional marks escaped.

    They could hide text, reverse it, or start a line that looks like a verdict. What is escaped is
    what `repr` escapes, so two names that differ look different.

    >>> printable("mu\nNo misfit found")
    'mu\\nNo misfit found'
    >>> printable("σ[1, ‮x]")
    'σ[1, \\u202ex]'
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def html_text(text: str) -> str:
    """The text on a page: neither markup nor control.

    >>> html_text("<b>mu</b>")
    '&lt;b&gt;mu&lt;/b&gt;'
    """
    return html.escape(printable(text))


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first names, and how many more there are.

    >>> listed(["mu", "tau"]), listed(["a", "b", "c"], most=1)
    ('mu, tau', 'a and 2 more')
    """
    shown = ", ".join(map(printable, names[:most]))
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def message_of(error: BaseException) -> str:
    """The message of an error that somebody else's code raised, even if it cannot be shown."""
    try:
        return str(error)
    except Exception:
        return "its message cannot be shown"


def clause_of(error: BaseException) -> str:
    """The message of an error within a sentence of ours, which has its own full stop.

    >>> clause_of(ValueError("shapes (3,) and (4,)."))
    'shapes (3,) and (4,)'
    """
    return message_of(error).rstrip().removesuffix(".")
