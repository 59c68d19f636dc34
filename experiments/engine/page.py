"""From records to what is committed: results, figures, and the page's measured parts."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from experiments.engine import figures
from experiments.engine.runner import recorded
from experiments.engine.tasks import Panel, Seconds

SLOT = "<!-- {name}: written by python -m experiments -->\n{text}<!-- end of {name} -->"


def publish(panel: Panel, folder: Path, quick: bool = False) -> str | None:
    """Write a panel's results and figure, and give its part of the page; None without records."""
    found, seconds = recorded(panel, folder, quick)
    if not found:
        return None
    summary = panel.summarise(found)
    _write_json(folder / "results" / f"{panel.name}.json", summary)
    _write_json(folder / "times" / f"{panel.name}.json", _typical(seconds))
    figures.save(panel.figure(summary, seconds), folder / "figures" / f"{panel.name}.png")
    return f"\n![{panel.name}](figures/{panel.name}.png)\n\n{panel.measured(summary, seconds)}\n"


def publish_all(panels: Iterable[Panel], folder: Path, quick: bool = False) -> list[Path]:
    """Publish every panel, fill its slot on the folder's page if there is one; the figures."""
    page = folder / "README.md"
    written = []
    for panel in panels:
        text = publish(panel, folder, quick)
        if text is None:
            continue
        written.append(folder / "figures" / f"{panel.name}.png")
        if page.exists():
            page.write_text(filled(page.read_text(), panel.name, text))
    return written


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
