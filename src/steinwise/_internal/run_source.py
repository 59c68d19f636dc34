"""What a page says about the run that it comes from."""

import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime


def source_of_run(
    draws: str, density: Mapping[str, str], arguments: Sequence[str]
) -> dict[str, str]:
    """What a page says of a run of the command: its draws, its density, when and how it ran."""
    return {
        "draws": draws,
        **density,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "command": shlex.join(["steinwise", *arguments]),
    }
