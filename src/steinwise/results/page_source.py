"""Where the draws of a page come from, as the user says, and a path that was taken for it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steinwise.errors import InputError

NO_FILE = (
    "to_html returns the page as text and writes no file; "
    "Path('page.html').write_text(result.to_html(), encoding='utf-8') does."
)


def page_source(source: Any) -> Mapping[str, str]:
    """Names and values to show, from what was given as `source`."""
    if source is None:
        return {}
    expected = "expected a dict from text to text, such as {'draws': 'run7.npz'}."
    if isinstance(source, str | Path):
        raise InputError(f"source is {str(source)!r}: {expected} {NO_FILE}")
    if not _is_text(source):
        raise InputError(f"source is {source!r}: {expected}")
    return source


def _is_text(source: Any) -> bool:
    """Whether names and values are text."""
    parts = [*source, *source.values()] if isinstance(source, Mapping) else [source]
    return isinstance(source, Mapping) and all(isinstance(part, str) for part in parts)
