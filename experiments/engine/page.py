"""From records to what is committed: results, figures, and the page's measured parts."""

import json
import re
from pathlib import Path
from statistics import median

from experiments.engine import figures
from experiments.engine.records import replace_file
from experiments.engine.runner import recorded
from experiments.engine.tasks import Panel, Seconds

SLOT = "<!-- {name}: written by python -m experiments -->\n{text}<!-- end of {name} -->"


def publish(panel: Panel, folder: Path, quick: bool = False) -> str:
    """Write a panel's results and figure, fill its slot on the folder's page, and say so.

    A panel with a cell that has no record yet, or no time where that is shown, is left as it was.
    """
    found, seconds = recorded(panel, folder, quick)
    missing = sum(not shown for shown in (seconds if panel.timed else found).values())
    if missing:
        return f"{panel.name}: {missing} of {len(found)} cells have no record yet"
    summary = panel.summarise(found)
    _write_json(folder / "results" / f"{panel.name}.json", summary)
    _write_json(folder / "times" / f"{panel.name}.json", _typical(seconds))
    picture = f"figures/{panel.name}.png"
    figures.save(panel.figure(summary, seconds), folder / picture)
    page = folder / "README.md"
    if page.exists():
        text = f"\n![{panel.name}]({picture})\n\n{panel.measured(summary, seconds)}\n"
        replace_file(page, filled(page.read_text(), panel.name, text).encode())
    return f"{panel.name}: {folder / picture}"


def filled(page: str, name: str, text: str) -> str:
    """The page with the text in its slot.

    >>> page = SLOT.format(name="a", text="old") + " stays"
    >>> filled(page, "a", "new") == SLOT.format(name="a", text="new") + " stays"
    True
    """
    start, end = (re.escape(part) for part in SLOT.format(name=name, text="\0").split("\0"))
    pattern = re.compile(f"(?<={start}).*?(?={end})", re.DOTALL)
    if len(pattern.findall(page)) != 1:
        raise ValueError(
            f"the page has no slot for {name}, or several: expected once\n"
            + SLOT.format(name=name, text="")
        )
    return pattern.sub(lambda _: text, page)


def _typical(seconds: Seconds) -> dict[str, float]:
    """The median of the CPU seconds of every cell."""
    return {str(one): round(median(found), 4) for one, found in seconds.items() if found}


def _write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
