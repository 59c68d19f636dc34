"""What must be said with a result: a kind and its numbers, put into words by `results.wording`."""

from typing import Any, NamedTuple


class Note(NamedTuple):
    """One thing that a user should know before reading a verdict."""

    kind: str
    values: dict[str, Any]


def note(kind: str, **values: Any) -> Note:
    """A note of a kind that `results.wording.NOTES` has a sentence for."""
    return Note(kind, values)
