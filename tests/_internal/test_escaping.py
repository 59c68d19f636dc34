"""Text that cannot change what is shown around it."""

import pytest

from steinwise._internal.escaping import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("theta[1, Köln]", "theta[1, Köln]"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[32mgreen", r"\x1b[32mgreen"),
        ("\u202eabc\u2066", r"\u202eabc\u2066"),
        ("zero\u200bwidth\u2028line", r"zero\u200bwidth\u2028line"),
        ("\ud800", r"\ud800"),
        ("\x9b31m", r"\x9b31m"),
    ],
)
def test_what_would_change_the_text_around_it_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown
    printable(text).encode("utf-8")
