"""Results as lines of text: what is worded in `wording`, laid out for a terminal."""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from steinwise._internal.random import plain_seed
from steinwise.results import wording
from steinwise.results.record import CheckRecord

ROWS_SHOWN = 12
PARAMETERS_SHOWN = 30
DRAWS_NAMED = 5
WIDTH = 79

Role = Literal["", "misfit", "no misfit"]


class Line(NamedTuple):
    """A line of a report; its role decides its colour, its last column where it may be broken."""

    text: str
    role: Role = ""
    last_column: int | None = None  # where the last column of a table begins


def plain(lines: Iterable[Line]) -> str:
    """The lines as they are printed where there is no terminal."""
    return "\n".join(line.text for line in lines)


def check_facts(record: CheckRecord) -> list[tuple[str, str]]:
    """How the result was obtained, as names and values."""
    findings = record.findings
    facts = [("method", record.description)]
    if findings.evaluations is not None:
        lines = len(record.coordinates)
        facts.append(("target", wording.evaluations_fact(findings.evaluations, lines)))
    facts.append(("draws", wording.draws_fact(record.draws)))
    if findings.learning is not None:
        learning = findings.learning
        models = [row.model for row in learning.rows]
        counts = learning.train, learning.validation, learning.splits
        facts.append(("learned", wording.learning_fact(models, *counts)))
    p = wording.pvalue_fact(record.pvalue, record.n_bootstrap, plain_seed(record.seed))
    facts += [
        ("batches", wording.batches_fact(record.draws)),
        ("statistic", f"{record.statistic:.6g}"),
        ("p-value", p),
    ]
    if record.dtype != "float64":
        facts.append(("precision", wording.precision_fact(record.dtype)))
    return facts


def check_report(record: CheckRecord) -> list[Line]:
    """The whole report of a check."""
    lines = [Line("steinwise check"), *_indented(aligned(check_facts(record)))]
    lines += [line for note in record.notes for line in _paragraph(f"Note: {note}")]
    if record.rejected:
        lines += [Line(""), Line(wording.misfit(record.alpha), "misfit")]
    else:
        lines += _paragraph(
            wording.no_misfit(record.alpha, record.findings.detectable), "no misfit"
        )
    if record.coordinates:
        lines += [Line(""), *_coordinate_table(record)]
    if record.dominating:
        lines += _paragraph(dominance(record))
    meaning = wording.FLAG_MEANINGS[record.findings.flag_meaning]
    if record.flagged and meaning:
        lines += _paragraph(meaning)
    return lines


def dominance(record: CheckRecord) -> str:
    """The draws that a misfit rests on; nothing where it is one of all draws."""
    draws = [str(draw) for draw in record.dominating]
    if not draws:
        return ""
    far_out = record.findings.draw_contributions is None
    return wording.dominating(draws, DRAWS_NAMED, far_out=far_out)


def _coordinate_table(record: CheckRecord) -> Iterator[Line]:
    ordered = record.worst_first
    sized = ordered[0].effect is not None
    rows = [("coordinate", *(("shift", "sd") if sized else ("value",)), "adjusted p", "verdict")]
    for c in ordered[:ROWS_SHOWN]:
        size = (f"{c.value:.4g}",)
        if c.effect is not None:
            size = (f"{c.effect.shift:+.2f}", f"{c.effect.spread:.2f}")
        rows.append((c.name, *size, f"{c.adjusted_pvalue:.3f}", c.verdict))
    yield from _indented(
        aligned(rows), last_column=2 + sum(_widths(rows)[:-1]) + 2 * len(rows[0][1:])
    )
    yield from _indented(wording.more_rows(len(ordered), ROWS_SHOWN))


def comparison(
    what: str,
    description: str,
    rows: Sequence[tuple[str, ...]],
    notes: Sequence[str],
    alpha: float,
) -> str:
    """A ranking: rows of (name, value, se, difference, se, verdict)."""
    table = [(what, "value", "se", "difference", "se", "verdict"), *rows]
    lines = [Line("steinwise comparison"), Line(f"  {description}"), Line("")]
    lines += _indented(aligned(table))
    lines += [Line(f"\nNote: {note}") for note in notes]
    lines.append(Line(f"\n{wording.comparison_closing(alpha)}"))
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
    lines += _indented([*aligned(table), *wording.more_rows(len(rows), PARAMETERS_SHOWN)])
    lines += [line for note in notes for line in _paragraph(f"Note: {note}")]
    return plain([*lines, Line(""), Line(closing)])


def facts(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """A title, and names with their values below it."""
    return plain([Line(title), *_indented(aligned(rows))])


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


def failed_assertion(record: CheckRecord, most: int) -> str:
    """The message of `sw.assert_fits`, which names at most this many coordinates."""
    p = wording.pvalue(record.pvalue, record.n_bootstrap)
    flagged = record.flagged
    lines = [wording.failed_assertion(p, record.alpha)]
    for c in flagged[:most]:
        lines.append(f"  {c.name}: {c.verdict}, adjusted p = {c.adjusted_pvalue:.2g}")
    lines += [f"  {line}" for line in wording.more_rows(len(flagged), most)]
    if not flagged:
        lines.append(f"  {wording.NO_CULPRIT} ({record.description})")
    lines += [f"  note: {note}" for note in record.notes]
    return "\n".join(lines)


def _paragraph(text: str, role: Role = "") -> list[Line]:
    """An empty line, and the text in lines as wide as the report."""
    return [Line(""), *(Line(line, role) for line in textwrap.wrap(text, WIDTH))]


def _indented(lines: Iterable[str], last_column: int | None = None) -> list[Line]:
    return [Line(f"  {line}", last_column=last_column) for line in lines]


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns padded to their widest entry; the last one is left ragged."""
    widths = _widths(rows)
    padded = ("  ".join(cell.ljust(w) for cell, w in zip(r, widths, strict=True)) for r in rows)
    return [line.rstrip() for line in padded]


def _widths(rows: Sequence[tuple[str, ...]]) -> list[int]:
    return [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
