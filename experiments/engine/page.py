"""From records to what is committed: results, figures, and the measured parts of the page."""

import json
import re
from pathlib import Path
from statistics import median

from experiments.engine import figures
from experiments.engine.records import replace_file
from experiments.engine.runner import recorded
from experiments.engine.tasks import Panel, Times

SLOT = "<!-- {name}: written by python -m experiments -->\n{text}<!-- end of {name} -->"


def publish(panel: Panel, folder: Path, quick: bool = False) -> str:
    """Write a panel's results and figure, fill its slot on the page, and report that.

    A panel is left as it was while a cell has no record, or no CPU time if the panel shows times.
    """
    outcomes, seconds = recorded(panel, folder, quick)
    missing = sum(not records for records in (seconds if panel.timed else outcomes).values())
    if missing:
        return f"{panel.name}: {missing} of {len(outcomes)} cells have no record yet"
    summary = panel.summarise(outcomes)
    _write_json(folder / "results" / f"{panel.name}.json", summary)
    _write_json(folder / "times" / f"{panel.name}.json", _medians(seconds))
    picture = f"figures/{panel.name}.png"
    figures.save(panel.figure(summary, seconds), folder / picture)
    page = folder / "README.md"
    if page.exists():
        text = f"\n![{panel.name}]({picture})\n\n{panel.measured(summary, seconds)}\n"
        replace_file(page, fill_slot(page.read_text(), panel.name, text).encode())
    return f"{panel.name}: {folder / picture}"


def fill_slot(page: str, name: str, text: str) -> str:
    """The page with this text in the slot of a panel.

    >>> page = SLOT.format(name="a", text="old") + " stays"
    >>> fill_slot(page, "a", "new") == SLOT.format(name="a", text="new") + " stays"
    True
    """
    start, end = map(re.escape, SLOT.format(name=name, text="\0").split("\0"))
    pattern = re.compile(f"(?<={start}).*?(?={end})", re.DOTALL)
    if len(pattern.findall(page)) != 1:
        raise ValueError(
            f"the page has no slot for {name}, or several; expected exactly once:\n"
            + SLOT.format(name=name, text="")
        )
    return pattern.sub(lambda _: text, page)


def _medians(seconds: Times) -> dict[str, float]:
    """The median CPU seconds of every cell."""
    return {str(cell): round(median(times), 4) for cell, times in seconds.items() if times}


def _write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
