"""Notes that belong to a result: a kind and its numbers, put into words by `results.wording`."""

from typing import Any, NamedTuple


class Note(NamedTuple):
    """Something that a user should know before reading a verdict."""

    kind: str
    values: dict[str, Any]


def note(kind: str, **values: Any) -> Note:
    """A note whose kind has a sentence in `results.wording.NOTES`."""
    return Note(kind, values)
