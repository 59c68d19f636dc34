"""Results as lines of text: what is worded in `wording`, laid out for a terminal."""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

import numpy as np

from steinwise._internal.escaping import printable
from steinwise._internal.random import plain_seed
from steinwise.results import wording
from steinwise.results.coordinate import CoordinateResult
from steinwise.results.influence import InfluentialDraw
from steinwise.results.record import CheckRecord

ROWS_SHOWN = 12
PARAMETERS_SHOWN = 30
DRAWS_NAMED = 5
WIDTH = 79
VALUE = "value"  # the title where a method has no sizes that people can read
EVIDENCE_COLUMNS = ("p-value", "flagged", "mean error", "sd ratio", "largest error")
RANKING_COLUMNS = ("value", "se", "difference", "its se", "verdict")
MAIN_SIZES = 2  # the most telling ones, which fit into any table
HANGING = " " * 6  # before a verdict on a line of its own

Role = Literal["", "misfit", "no misfit"]


class Line(NamedTuple):
    """A line of a report; its role decides its colour, its last column where it may be broken."""

    text: str
    role: Role = ""
    last_column: int | None = None  # where the last column of a table begins

    def broken(self, width: int) -> list[str]:
        """Where the line is too long, its last column on lines of its own."""
        if self.last_column is None or len(self.text) <= width:
            return [self.text]
        last = textwrap.wrap(self.text[self.last_column :], width - len(HANGING))
        return [self.text[: self.last_column].rstrip(), *(HANGING + part for part in last)]


def plain(lines: Iterable[Line]) -> str:
    """The lines as they are printed where there is no terminal."""
    return "\n".join(part for line in lines for part in line.broken(WIDTH))


def check_facts(record: CheckRecord) -> list[tuple[str, str]]:
    """How the result was obtained, as names and values."""
    findings = record.findings
    facts = [("method", record.description)]
    if findings.evaluations is not None:
        lines = len(record.findings.coordinates)
        facts.append(("target", wording.evaluations_fact(findings.evaluations, lines)))
    if findings.effort is not None:
        facts.append(("effort", wording.effort_fact(*findings.effort)))
    facts.append(("draws", wording.draws_fact(record.draws)))
    if findings.learning is not None:
        learning = findings.learning
        models = [row.model for row in learning.rows]
        counts = learning.train, learning.validation, learning.splits
        facts.append(("learned", wording.learning_fact(models, *counts)))
    has_sizes = size_columns(record)[0].title != VALUE
    of_method = None if has_sizes else record.discrepancy
    p = wording.pvalue_fact(record.pvalue, record.n_bootstrap, plain_seed(record.seed))
    facts += [
        ("batches", wording.batches_fact(record.draws)),
        *([] if of_method is None else [("discrepancy", f"{of_method:.6g}")]),
        ("statistic", wording.statistic_fact(record.statistic, record.threshold, record.alpha)),
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
        of_modes = wording.misfit_of_modes(record.modes, record.alpha)
        if record.coordinates and not record.flagged and not of_modes:
            lines += _paragraph(wording.NO_ROW_ALONE)
    else:
        lines += _paragraph(nothing_found(record), "no misfit")
    if record.tolerance is not None:
        role = "misfit" if record.tolerance.answer == "beyond" else ""
        lines += _paragraph(
            wording.tolerance_sentence(record.tolerance, record.findings.label), role
        )
    if record.modes is not None:
        role = "misfit" if record.modes.flagged(record.alpha) else ""
        for sentence in wording.modes_sentences(record.modes, record.alpha, record.findings.label):
            lines += _paragraph(sentence, role)
    if record.findings.coordinates:
        lines += [Line(""), *_coordinate_table(record)]
    sizes = sizes_meaning(record)
    if sizes:
        lines += _paragraph(sizes)
    if record.dominating:
        lines += _paragraph(dominance(record))
    meaning = flag_meaning(record)
    if record.flagged and meaning:
        lines += _paragraph(meaning)
    shown = {c.name for c in record.coordinates[:ROWS_SHOWN]} & record.direction_names
    if shown:
        named = [c.name for c in record.findings.coordinates if c.name in shown]
        lines += _paragraph(wording.directions_meaning(named))
    return lines


class SizeColumn(NamedTuple):
    """A number that says how far off a coordinate is."""

    title: str
    of: Callable[[CoordinateResult], float]  # NaN where it is not known
    layout: str = "+.2f"

    def text(self, coordinate: CoordinateResult) -> str:
        number = self.of(coordinate)
        if np.isnan(number):
            return wording.UNKNOWN
        shown = f"{number:{self.layout}}"
        return shown if float(shown) else shown.lstrip("+-")


def size_columns(record: CheckRecord) -> list[SizeColumn]:
    """How far off coordinates are: by themselves, where that is known, then given the others."""
    columns = []
    if any(c.marginal is not None for c in record.findings.coordinates):
        columns += [
            SizeColumn("mean error", lambda c: c.marginal.mean_error if c.marginal else np.nan),
            SizeColumn("sd ratio", lambda c: c.marginal.sd_ratio if c.marginal else np.nan, ".2f"),
        ]
    if any(c.effect is not None for c in record.findings.coordinates):
        columns += [
            SizeColumn(
                "conditional shift", lambda c: c.effect.conditional_shift if c.effect else np.nan
            ),
            SizeColumn(
                "conditional spread",
                lambda c: c.effect.conditional_spread if c.effect else np.nan,
                ".2f",
            ),
        ]
    return columns or [SizeColumn(VALUE, lambda c: c.value, ".4g")]


def sizes_meaning(record: CheckRecord) -> str:
    """How to read the columns of sizes that a report shows."""
    known = [c.marginal is not None for c in record.findings.coordinates]
    if known and all(known):
        return wording.MARGINAL_MEANING
    # a summary gives no numbers of draws that miss a mode
    split = record.modes is not None and bool(record.modes.flagged(record.alpha))
    may_help = record.findings.has_summary and not split
    elsewhere = f" {wording.SUMMARY_MAY_HELP}" if may_help else ""
    if any(known):
        return f"{wording.MARGINAL_MEANING} {wording.MARGINAL_UNKNOWN}{elsewhere}"
    has_effects = any(c.effect is not None for c in record.findings.coordinates)
    return f"{wording.conditional_meaning(record.draws.dim)}{elsewhere}" if has_effects else ""


def nothing_found(record: CheckRecord) -> str:
    """What it means that there is no misfit of all rows together, and what single rows say."""
    text = wording.no_misfit(record.alpha, record.findings.detectable, record.draws.dim)
    return f"{text} {wording.rows_alone(len(record.flagged))}" if record.flagged else text


def flag_meaning(record: CheckRecord) -> str:
    """What it means that one of several coordinates is flagged."""
    return wording.FLAG_MEANINGS[record.findings.flag_meaning] if record.draws.dim > 1 else ""


def dominance(record: CheckRecord) -> str:
    """The draws that a misfit rests on; nothing where it is one of all draws."""
    draws = [
        wording.draw_name(
            draw.chain if record.draws.n_chains > 1 else None,
            draw.draw,
            record.findings.label(draw.coordinate),
        )
        for draw in record.dominating
    ]
    if not draws:
        return ""
    far_out = record.findings.draw_contributions is None
    chains, has_others = not record.draws.independent, record.draws.dim > 1
    return wording.dominating(
        draws, DRAWS_NAMED, far_out=far_out, chains=chains, has_others=has_others
    )


def _coordinate_table(record: CheckRecord) -> Iterator[Line]:
    ordered = record.coordinates
    titles, *rows = coordinate_rows(record, ordered[:ROWS_SHOWN])
    # what a direction is would push all verdicts to lines of their own: it is said below
    named = [
        (_number_of(c) if c.name in record.direction_names else row[0], *row[1:])
        for c, row in zip(ordered, rows, strict=False)
    ]
    yield from wrapped_table([titles, *named], indent="  ")
    yield from _indented(wording.more_rows(len(ordered), ROWS_SHOWN))


def _number_of(direction: CoordinateResult) -> str:
    """Of a direction, without what it is a sum of."""
    return direction.name.split(" (")[0]


def coordinate_rows(
    record: CheckRecord, coordinates: Sequence[CoordinateResult]
) -> list[tuple[str, ...]]:
    """The table of some coordinates, its titles first."""
    sizes = size_columns(record)[:MAIN_SIZES]
    rows = [("coordinate", *(size.title for size in sizes), "adjusted p", "verdict")]
    for c in coordinates:
        numbers = (size.text(c) for size in sizes)
        rows.append((c.label, *numbers, wording.pvalue(c.adjusted_pvalue), c.verdict))
    return rows


def influence_rows(record: CheckRecord, draws: Sequence[InfluentialDraw]) -> list[tuple[str, ...]]:
    """The table of some draws, its titles first; without columns of which nothing is known."""
    far_out = record.findings.draw_contributions is None
    columns = {
        "chain": [str(one.chain) for one in draws],
        "draw": [str(one.draw) for one in draws],
        "coordinate": [record.findings.label(one.coordinate) for one in draws],
        wording.LABELS["far out" if far_out else "contribution"]: [f"{d.value:.3g}" for d in draws],
        wording.LABELS["share of all"]: [
            "" if d.share is None else f"{d.share:.2f}" for d in draws
        ],
    }
    filled = {title: cells for title, cells in columns.items() if any(cells)}
    return [tuple(filled), *zip(*filled.values(), strict=True)]


def comparison(
    what: str,
    description: str,
    rows: Sequence[tuple[str, ...]],
    notes: Sequence[str],
    closing: str,
) -> str:
    """A ranking by a discrepancy: rows of a name and of `RANKING_COLUMNS`."""
    lines = [Line("steinwise comparison"), Line(f"  {description}"), Line("")]
    lines += _indented(aligned([(what, *RANKING_COLUMNS), *rows]))
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
    lines += [line for note in notes for line in _paragraph(f"Note: {note}")]
    meaning = wording.SETS_MEANING + f" {wording.SETS_UNKNOWN}" * unknown
    for sentence in (closing, meaning, wording.SETS_ORDER):
        lines += _paragraph(sentence)
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


def refreshed(
    rows: Sequence[tuple[str, ...]], sweeps: int, notes: Sequence[str], closing: str
) -> str:
    """Draws that were moved: rows of (name, mean, refreshed mean, sd, refreshed sd, state)."""
    table = [wording.REFRESHED_COLUMNS, *rows[:PARAMETERS_SHOWN]]
    lines = [Line("steinwise refresh"), Line(f"  {wording.sweeps_fact(sweeps)}"), Line("")]
    lines += _indented([*aligned(table), *wording.more_rows(len(rows), PARAMETERS_SHOWN)])
    lines += [line for note in notes for line in _paragraph(f"Note: {note}")]
    return plain([*lines, *_paragraph(closing)])


def summary(rows: Sequence[tuple[str, ...]], fact: str, notes: Sequence[str], closing: str) -> str:
    """Answers: rows of (name, mean, corrected mean, sd, corrected sd, verdict)."""
    table = [wording.SUMMARY_COLUMNS, *rows[:PARAMETERS_SHOWN]]
    lines = [Line("steinwise summary"), Line(f"  {fact}"), Line("")]
    lines += wrapped_table(table, indent="  ")
    lines += _indented(wording.more_rows(len(rows), PARAMETERS_SHOWN))
    lines += [line for note in notes for line in _paragraph(f"Note: {note}")]
    return plain([*lines, *_paragraph(closing)])


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
    p = wording.pvalue(record.pvalue)
    flagged = record.flagged
    lines = [wording.failed_assertion(p, record.alpha)]
    if record.tolerance is not None:
        judged = [wording.tolerance_sentence(record.tolerance, record.findings.label)]
        lines = judged if record.tolerance.answer == "beyond" else [*lines, f"  {judged[0]}"]
    for c in flagged[:most]:
        lines.append(f"  {printable(c.label)}: {c.verdict}, {wording.adjusted(c.adjusted_pvalue)}")
    lines += [f"  {line}" for line in wording.more_rows(len(flagged), most)]
    if record.modes is not None:
        wrong = record.modes.flagged(record.alpha)
        sentences = (wording.mode_verdict(m, record.modes, record.findings.label) for m in wrong)
        lines += [f"  {sentence}" for sentence in islice(sentences, most)]
    if not flagged and not wording.misfit_of_modes(record.modes, record.alpha):
        how = record.description
        looked_at = record.findings.coordinates
        lines.append(f"  {wording.NO_CULPRIT} ({how})" if looked_at else f"  {how}")
    lines += [f"  note: {note}" for note in record.notes]
    return "\n".join(lines)


def _paragraph(text: str, role: Role = "") -> list[Line]:
    """An empty line, and the text in lines as wide as the report."""
    return [Line(""), *(Line(line, role) for line in textwrap.wrap(printable(text), WIDTH))]


def _indented(lines: Iterable[str]) -> list[Line]:
    return [Line(f"  {line}") for line in lines]


def wrapped_table(rows: Sequence[tuple[str, ...]], indent: str = "") -> list[Line]:
    """Aligned columns, the last of which may go to lines of its own."""
    last_column = len(indent) + sum(_widths(rows)[:-1]) + 2 * len(rows[0][1:])
    return [Line(f"{indent}{line}", last_column=last_column) for line in aligned(rows)]


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns padded to their widest entry; the last one is left ragged."""
    widths = _widths(rows)
    padded = (
        "  ".join(printable(cell).ljust(w) for cell, w in zip(row, widths, strict=True))
        for row in rows
    )
    return [line.rstrip() for line in padded]


def _widths(rows: Sequence[tuple[str, ...]]) -> list[int]:
    return [max(len(printable(row[i])) for row in rows) for i in range(len(rows[0]))]
