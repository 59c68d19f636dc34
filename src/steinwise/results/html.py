"""The page of a check: one HTML file that opens offline."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from steinwise._internal.escaping import html_text
from steinwise.results import pit_plots, plots, wording
from steinwise.results.check_text import (
    MAIN_SIZES,
    check_facts,
    dominance,
    flag_meaning,
    judged_tolerance,
    nothing_found,
    size_columns,
    sizes_meaning,
)
from steinwise.results.coordinate import CoordinateResult
from steinwise.results.mode_plots import plot_mode_path
from steinwise.results.page_parts import (
    ROWS,
    definitions,
    document,
    inline_svg,
    note_paragraph,
    searchable_table,
)
from steinwise.results.record import CheckRecord
from steinwise.results.wording import PAGE

HISTOGRAMS = 300  # of the worst coordinates
BINS = 20
QUALITY = ("ESS", "R-hat")
WIDTH, HEIGHT = 120, 28  # of a small histogram, in pixels


def page(record: CheckRecord, answers: Iterable[str], source: Mapping[str, str]) -> str:
    """The whole page of a check.

    `answers` is the part of a summary of the same draws, `source` says where they come from.
    """
    return document(
        [
            f"<h1>{PAGE['title']}</h1>",
            *definitions(source.items()),
            verdict(record),
            *tolerance_and_notes(record),
            *_few_draws(record),
            *_modes(record),
            *answers,
            *_table(record),
            *_advice(record),
            *_pictures(record),
            f"<h2>{PAGE['facts']}</h2>",
            *definitions(
                [
                    *check_facts(record),
                    ("level", f"{record.alpha:g}"),
                    ("steinwise", record.version),
                ]
            ),
        ]
    )


def verdict(record: CheckRecord) -> str:
    """The verdict, as a paragraph."""
    p = wording.pvalue(record.pvalue)
    if record.rejected:
        modes = wording.misfit_of_modes(record.modes, record.alpha)
        word, rest = wording.misfit_with_names(
            p, [c.label for c in record.flagged], modes, bool(record.findings.coordinates)
        )
        text = f"<strong>{html_text(word)}</strong> {html_text(rest)}"
    else:
        text = html_text(f"{nothing_found(record)} {wording.pvalue_sentence(p)}")
    return f'<p class="verdict{" misfit" * record.rejected}" role="status">{text}</p>'


def tolerance_and_notes(record: CheckRecord) -> Iterator[str]:
    """What must be said with the verdict."""
    if record.tolerance is not None:
        yield f"<p>{html_text(judged_tolerance(record))}</p>"
    yield from map(note_paragraph, record.notes)


def _few_draws(record: CheckRecord) -> Iterator[str]:
    few = dominance(record)
    if few:
        yield f'<p class="note">{html_text(few)}</p>'


def _modes(record: CheckRecord) -> Iterator[str]:
    """What is said of modes, and the way between two of them."""
    if record.modes is None:
        return
    sentences = list(wording.modes_sentences(record.modes, record.alpha, record.findings.label))
    if sentences:
        yield f"<h2>{PAGE['modes']}</h2>"
    for sentence in sentences:
        yield f"<p>{html_text(sentence)}</p>"
    path = record.modes.path
    if path is not None:
        picture = inline_svg(lambda: plot_mode_path(path), PAGE["modes picture"])
        yield f'<div class="picture">{picture}</div>'


def _table(record: CheckRecord) -> Iterator[str]:
    if not record.findings.coordinates:
        return
    columns = [
        ("coordinate", ""),
        *((size.title, _size_class(k)) for k, size in enumerate(size_columns(record))),
        *((title, "number optional unbroken") for title in QUALITY if _has_quality(record)),
        ("adjusted p", "number"),
        ("verdict", "verdict-text"),
    ]
    if record.findings.pit is not None:
        columns.append((PAGE["place"], "optional histogram"))
    yield f"<h2>{PAGE['coordinates']}</h2>"
    total = len(record.findings.coordinates)
    yield from searchable_table(
        "coordinates", PAGE["coordinates"], total, columns, _rows(record, record.coordinates)
    )
    meaning = sizes_meaning(record)
    if meaning:
        yield f"<p>{html_text(meaning)}</p>"
    if len(size_columns(record)) > MAIN_SIZES:  # as the columns that it explains
        yield f'<p class="optional">{html_text(wording.both_meaning(record.draws.dim))}</p>'


def _size_class(k: int) -> str:
    return "number" if k < MAIN_SIZES else "number optional"


def _rows(record: CheckRecord, ordered: Sequence[CoordinateResult]) -> Iterator[str]:
    sizes, has_quality = size_columns(record), _has_quality(record)
    position = {c.name: k for k, c in enumerate(record.findings.coordinates)}
    flagged = {c.name for c in record.flagged}
    for row, c in enumerate(ordered[:ROWS]):
        wrong = c.name in flagged
        yield f'<tr class="{"misfit" * wrong}">'
        yield f'<th scope="row" class="name">{html_text(c.label)}</th>'
        for k, size in enumerate(sizes):
            number = size.of(c)
            value = "" if np.isnan(number) else f"{number:.6g}"
            yield f'<td class="{_size_class(k)}" data-value="{value}">{size.text(c)}</td>'
        if has_quality:
            yield from _quality_cells(c)
        p = c.adjusted_pvalue
        yield f'<td class="number" data-value="{p}">{wording.pvalue(p)}</td>'
        yield f'<td class="verdict-text">{html_text(c.verdict)}</td>'
        if record.findings.pit is not None:
            u = _place(record, position[c.name]) if row < HISTOGRAMS else None
            discrete = c.name in record.findings.outcomes
            small = "" if u is None or discrete else _histogram(u, c.label)
            yield f'<td class="optional">{small}</td>'
        yield "</tr>"


def _has_quality(record: CheckRecord) -> bool:
    return any(c.quality is not None for c in record.findings.coordinates)


def _quality_cells(c: CoordinateResult) -> Iterator[str]:
    """ESS and R-hat; nothing for a direction, which is no column of the draws."""
    for k, layout in enumerate((".0f", ".3f")):
        number = np.nan if c.quality is None else c.quality[k]
        value = "" if np.isnan(number) else f"{number:.6g}"
        text = "" if np.isnan(number) else f"{number:{layout}}"
        yield f'<td class="number optional" data-value="{value}">{text}</td>'


def _place(record: CheckRecord, k: int) -> np.ndarray | None:
    """The places of the draws in their conditionals, of a coordinate or along a direction."""
    pit, along = record.findings.pit, record.findings.direction_pit
    assert pit is not None
    if k < pit.shape[1]:
        return pit[:, k]
    k -= pit.shape[1]
    return along[:, k] if along is not None and k < along.shape[1] else None


def _histogram(u: np.ndarray, name: str) -> str:
    """Flat when the draws fit; the line is where the bars should end."""
    counts = np.histogram(u, BINS, (0.0, 1.0))[0] * BINS / max(len(u), 1)
    tall = max(2.0, float(counts.max()))
    step = WIDTH / BINS
    bars = "".join(
        f"M{k * step:.0f} {HEIGHT}v-{HEIGHT * c / tall:.1f}h{step - 1:.0f}v{HEIGHT * c / tall:.1f}z"
        for k, c in enumerate(counts)
    )
    level = HEIGHT * (1 - 1 / tall)
    return (
        f'<svg width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{html_text(wording.histogram_label(name))}"><path class="bars" '
        f'd="{bars}"/><path class="flat" d="M0 {level:.1f}h{WIDTH}"/></svg>'
    )


def _advice(record: CheckRecord) -> Iterator[str]:
    if not record.flagged:
        return
    misfits = ((c.misfit, c.effect, c.marginal) for c in record.flagged if c.misfit is not None)
    keys = {key for one in misfits for key in wording.advice_keys(*one)}
    yield f"<h2>{PAGE['advice']}</h2>"
    meaning = flag_meaning(record)
    if meaning:
        yield f"<p>{html_text(meaning)}</p>"
    advice = [pair for key, pair in wording.ADVICE.items() if key in keys]
    if advice:
        yield "<ul>"
        for title, text in advice:
            yield f"<li><strong>{html_text(title)}.</strong> {html_text(text)}</li>"
        yield "</ul>"


def _pictures(record: CheckRecord) -> Iterator[str]:
    yield f"<h2>{PAGE['statistic']}</h2>"
    picture = inline_svg(lambda: plots.plot_check(record), PAGE["picture"])
    yield f'<div class="picture">{picture}</div>'
    worst = plots.with_marginals(record)
    if worst:
        yield f"<h2>{PAGE['marginals']}</h2>"
        drawn = inline_svg(lambda: plots.plot_marginals(record, worst), PAGE["marginals picture"])
        yield f'<div class="picture">{drawn}</div>'
    pair = pit_plots.worst_pair(record)
    if pair is not None:
        yield f"<h2>{PAGE['pair']}</h2>"
        drawn = inline_svg(lambda: pit_plots.plot_pair(record, *pair), PAGE["pair picture"])
        yield f'<div class="picture one">{drawn}</div>'
