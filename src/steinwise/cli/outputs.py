"""What a command writes: a page and a picture, made when the answer has been printed."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from steinwise._internal.optional import require
from steinwise._internal.output_files import OutputFile
from steinwise.errors import InputError
from steinwise.results.check import CheckResult
from steinwise.results.summary import Summary

# a name without a suffix may be a pipe, as /dev/stdout is
PAGES = (".html", ".htm", ".xhtml", "")


@dataclass(frozen=True)
class Output:
    """A file, the option that asked for it, and how a result becomes its content."""

    option: str
    given: Path
    file: OutputFile
    content: Callable[[Any, Summary | None], bytes]

    def write(self, result: CheckResult | Summary, answers: Summary | None = None) -> None:
        """With the answers that go with a check."""
        self.file.write(self.content(result, answers))


def check_outputs(
    report: Path | None,
    plot: Path | None,
    inputs: Sequence[Path],
    source: Mapping[str, str],
) -> list[Output]:
    """The outputs that were asked for; an error, before anything is computed, if one is in vain.

    `source` is what the page says about where its draws come from.
    """
    outputs = []
    if report is not None:
        require("matplotlib", "plots", "--report")
        file = OutputFile.checked(report, "--report", inputs)
        outputs.append(Output("--report", report, file, partial(_page, source=source)))
    if plot is not None:
        kind = _picture_format(plot)
        file = OutputFile.checked(plot, "--plot", inputs)
        outputs.append(Output("--plot", plot, file, partial(_picture, kind=kind)))
    if len({output.file for output in outputs}) < len(outputs):
        raise InputError(f"--report and --plot are both {report}: expected two files.")
    if report is not None:
        _require_page(report)
    return outputs


def _require_page(path: Path) -> None:
    """Refuse the name of a file of another kind, which nothing would open as a page."""
    suffix = path.suffix.lower()
    if suffix not in PAGES:
        hint = " For a picture there is --plot." if suffix in (".png", ".svg") else ""
        raise InputError(f"--report ends in {suffix!r}: expected .html.{hint}")


def _picture_format(path: Path) -> str:
    """The format that the suffix of a picture stands for."""
    figure = require("matplotlib.figure", "plots", "--plot").Figure()
    known = figure.canvas.get_supported_filetypes()
    kind = path.suffix.lower().removeprefix(".")
    if kind not in known:
        suffixes = ", ".join(f".{name}" for name in sorted(known))
        ending = repr(path.suffix) if path.suffix else "nothing"
        raise InputError(f"--plot ends in {ending}: expected one of {suffixes}.")
    return kind


def _page(
    result: CheckResult | Summary, answers: Summary | None, source: Mapping[str, str]
) -> bytes:
    if isinstance(result, CheckResult):
        return result.to_html(answers, source).encode("utf-8")
    return result.to_html(source).encode("utf-8")


def _picture(result: CheckResult | Summary, _: Summary | None, kind: str) -> bytes:
    content = io.BytesIO()
    result.plot().savefig(content, format=kind, dpi=120)
    return content.getvalue()
