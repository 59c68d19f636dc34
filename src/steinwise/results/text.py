"""Other results than checks as text: comparisons, fits, summaries, points, discrepancies."""

from collections.abc import Sequence

import numpy as np

from steinwise._internal.escaping import printable
from steinwise.results import wording
from steinwise.results.layout import (
    ROWS_SHOWN,
    Line,
    aligned,
    indented,
    note_lines,
    paragraph,
    plain,
    wrapped_table,
)

PARAMETERS_SHOWN = 30
EVIDENCE_COLUMNS = ("p-value", "flagged", "mean error", "sd ratio", "largest error")
RANKING_COLUMNS = ("value", "se", "difference", "its se", "verdict")


def comparison(
    what: str,
    description: str,
    rows: Sequence[tuple[str, ...]],
    notes: Sequence[str],
    closing: str,
) -> str:
    """A ranking by a discrepancy: rows of a name and of `RANKING_COLUMNS`."""
    lines = [Line("steinwise comparison"), Line(f"  {description}"), Line("")]
    lines += indented(aligned([(what, *RANKING_COLUMNS), *rows]))
    for note in notes:
        lines += [Line(""), Line(printable(f"Note: {note}"))]
    return plain([*lines, Line(""), Line(closing)])


def set_comparison(
    description: str,
    rows: Sequence[tuple[str, ...]],
    notes: Sequence[str],
    closing: str,
    unknown: bool,
) -> str:
    """Sets of draws: rows of a name, of `EVIDENCE_COLUMNS` and of a verdict.

    `unknown` is whether there are errors that are not known.
    """
    lines = [Line("steinwise comparison"), Line(f"  {description}"), Line("")]
    lines += wrapped_table([("draws", *EVIDENCE_COLUMNS, "verdict"), *rows], indent="  ")
    lines += note_lines(notes)
    meaning = wording.SETS_MEANING + f" {wording.SETS_UNKNOWN}" * unknown
    for sentence in (closing, meaning, wording.SETS_ORDER):
        lines += paragraph(sentence)
    return plain(lines)


def fit(
    description: str,
    rows: Sequence[tuple[str, ...]],
    notes: Sequence[str],
    closing: str,
) -> str:
    """Fitted parameters: rows of (name, estimate, se, interval)."""
    shown = rows[:PARAMETERS_SHOWN]
    table = [("parameter", "estimate", "se", "95 % interval"), *shown]
    lines = [Line("steinwise fit"), Line(f"  {description}"), Line("")]
    lines += indented([*aligned(table), *wording.more_rows(len(rows), PARAMETERS_SHOWN)])
    lines += note_lines(notes)
    return plain([*lines, Line(""), Line(closing)])


def refreshed(
    rows: Sequence[tuple[str, ...]], sweeps: int, notes: Sequence[str], closing: str
) -> str:
    """Draws that were moved: rows of (name, mean, refreshed mean, sd, refreshed sd, state)."""
    table = [wording.REFRESHED_COLUMNS, *rows[:PARAMETERS_SHOWN]]
    lines = [Line("steinwise refresh"), Line(f"  {wording.sweeps_fact(sweeps)}"), Line("")]
    lines += indented([*aligned(table), *wording.more_rows(len(rows), PARAMETERS_SHOWN)])
    lines += note_lines(notes)
    return plain([*lines, *paragraph(closing)])


def summary(rows: Sequence[tuple[str, ...]], fact: str, notes: Sequence[str], closing: str) -> str:
    """Answers: rows of (name, mean, corrected mean, sd, corrected sd, verdict)."""
    table = [wording.SUMMARY_COLUMNS, *rows[:PARAMETERS_SHOWN]]
    lines = [Line("steinwise summary"), Line(f"  {fact}"), Line("")]
    lines += wrapped_table(table, indent="  ")
    lines += indented(wording.more_rows(len(rows), PARAMETERS_SHOWN))
    lines += note_lines(notes)
    return plain([*lines, *paragraph(closing)])


def facts(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """A title, and names with their values below it."""
    return plain([Line(title), *indented(aligned(rows))])


def discrepancy(
    description: str,
    value: float,
    standard_error: float | None,
    names: Sequence[str],
    per_coordinate: np.ndarray | None,
) -> str:
    error = "" if standard_error is None else f" +- {standard_error:.3g}"
    lines = [Line(f"{description}: {value:.6g}{error}")]
    if per_coordinate is not None:
        order = np.argsort(-per_coordinate)[:ROWS_SHOWN]
        rows = [(names[int(j)], f"{per_coordinate[j]:.6g}") for j in order]
        lines.append(Line(""))
        lines += map(Line, aligned([("coordinate", "value"), *rows]))
        lines += map(Line, wording.more_rows(len(names), ROWS_SHOWN))
    return plain(lines)
