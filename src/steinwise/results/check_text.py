"""The report of a check as lines of text, and the tables in it."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from steinwise._internal.escaping import printable
from steinwise._internal.random import plain_seed
from steinwise.results import wording
from steinwise.results.coordinate import CoordinateResult
from steinwise.results.influence import InfluentialDraw
from steinwise.results.layout import (
    ROWS_SHOWN,
    Line,
    aligned,
    indented,
    note_lines,
    paragraph,
    wrapped_table,
)
from steinwise.results.record import CheckRecord

DRAWS_NAMED = 5
VALUE = "value"  # the title where a method has no sizes that people can read
MAIN_SIZES = 2  # the most telling ones, which fit into any table


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
    lines = [Line("steinwise check"), *indented(aligned(check_facts(record)))]
    lines += note_lines(record.notes)
    if record.rejected:
        lines += [Line(""), Line(wording.misfit(record.alpha), "misfit")]
        of_modes = wording.misfit_of_modes(record.modes, record.alpha)
        if record.coordinates and not record.flagged and not of_modes:
            lines += paragraph(wording.NO_ROW_ALONE)
    else:
        lines += paragraph(nothing_found(record), "no misfit")
    if record.tolerance is not None:
        role = "misfit" if record.tolerance.answer == "beyond" else ""
        lines += paragraph(judged_tolerance(record), role)
    if record.modes is not None:
        role = "misfit" if record.modes.flagged(record.alpha) else ""
        for sentence in wording.modes_sentences(record.modes, record.alpha, record.findings.label):
            lines += paragraph(sentence, role)
    if record.findings.coordinates:
        lines += [Line(""), *_coordinate_table(record)]
    sizes = sizes_meaning(record)
    if sizes:
        lines += paragraph(sizes)
    if record.dominating:
        lines += paragraph(dominance(record))
    meaning = flag_meaning(record)
    if record.flagged and meaning:
        lines += paragraph(meaning)
    shown = {c.name for c in record.coordinates[:ROWS_SHOWN]} & record.direction_names
    if shown:
        named = [c.name for c in record.findings.coordinates if c.name in shown]
        lines += paragraph(wording.directions_meaning(named))
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


def judged_tolerance(record: CheckRecord) -> str:
    """The answer to `tolerance=`; "" where none was given."""
    if record.tolerance is None:
        return ""
    may_help = _summary_may_help(record)
    label = record.findings.label
    return wording.tolerance_sentence(record.tolerance, label, summary_may_help=may_help)


def _summary_may_help(record: CheckRecord) -> bool:
    """Whether `sw.summary` may know what a check does not.

    It gives no numbers of draws that miss a mode.
    """
    split = record.modes is not None and bool(record.modes.flagged(record.alpha))
    return record.findings.has_summary and not split


def sizes_meaning(record: CheckRecord) -> str:
    """How to read the columns of sizes that a report shows."""
    known = [c.marginal is not None for c in record.findings.coordinates]
    if known and all(known):
        return wording.MARGINAL_MEANING
    elsewhere = f" {wording.SUMMARY_MAY_HELP}" if _summary_may_help(record) else ""
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
    yield from indented(wording.more_rows(len(ordered), ROWS_SHOWN))


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


def failed_assertion(record: CheckRecord, most: int) -> str:
    """The message of `sw.assert_fits`, which names at most this many coordinates."""
    p = wording.pvalue(record.pvalue)
    flagged = record.flagged
    lines = [wording.failed_assertion(p, record.alpha)]
    if record.tolerance is not None:
        judged = judged_tolerance(record)
        lines = [judged] if record.tolerance.answer == "beyond" else [*lines, f"  {judged}"]
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
