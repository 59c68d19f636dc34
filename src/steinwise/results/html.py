"""A result as one HTML file that opens offline: nothing in it asks the network for anything."""

import io
import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files

import numpy as np

from steinwise.results import plots, wording
from steinwise.results.record import CheckRecord
from steinwise.results.text import check_facts, dominance
from steinwise.results.wording import PAGE

ROWS = 1000  # the worst ones; more make a page that no browser likes
HISTOGRAMS = 300
BINS = 20
WIDTH, HEIGHT = 120, 28  # of a small histogram, in pixels


def page(record: CheckRecord) -> str:
    """The whole page."""
    assets = files("steinwise.results") / "assets"
    style, script = ((assets / name).read_text("utf-8") for name in ("report.css", "report.js"))
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            "<title>steinwise report</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            "<main>",
            f"<h1>{PAGE['title']}</h1>",
            *_verdict(record),
            *_table(record),
            *_advice(record),
            *_pictures(record),
            *_obtained(record),
            "</main>",
            f"<script>\n{script}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _verdict(record: CheckRecord) -> Iterator[str]:
    p = wording.pvalue(record.pvalue, record.n_bootstrap)
    if record.rejected:
        word, rest = wording.misfit_with_names(p, [c.name for c in record.flagged])
        text = f"<strong>{escape(word)}</strong> {escape(rest)}"
    else:
        sentence = wording.no_misfit(record.alpha, record.findings.detectable)
        text = escape(f"{sentence} {wording.pvalue_sentence(p)}")
    yield f'<p class="verdict{" misfit" * record.rejected}" role="status">{text}</p>'
    for note in record.notes:
        yield f'<p class="note"><strong>Note:</strong> {escape(note)}</p>'
    few = dominance(record)
    if few:
        yield f'<p class="note">{escape(few)}</p>'


def _table(record: CheckRecord) -> Iterator[str]:
    if not record.coordinates:
        return
    ordered = record.worst_first
    sized = ordered[0].effect is not None
    sizes = ["shift", "sd"] if sized else ["value"]
    yield f"<h2>{PAGE['coordinates']}</h2>"
    if len(ordered) > ROWS:
        yield f'<p class="quiet">{wording.worst_shown(ROWS, len(ordered))}</p>'
    yield f'<label for="search">{PAGE["search"]}</label><br>'
    yield '<input type="search" id="search" autocomplete="off">'
    yield '<span id="shown" class="quiet" role="status"></span>'
    yield f'<div class="scroll" tabindex="0" role="region" aria-label="{PAGE["coordinates"]}">'
    yield '<table id="coordinates"><thead><tr>'
    columns = [
        ("coordinate", ""),
        *((s, "number optional") for s in sizes),
        ("adjusted p", "number"),
    ]
    for name, kind in [*columns, ("verdict", "")]:
        yield f'<th scope="col" class="{kind}"><button type="button">{name}</button></th>'
    if record.findings.pit is not None:
        yield f'<th scope="col" class="optional">{PAGE["place"]}</th>'
    yield "</tr></thead><tbody>"
    position = {c.name: k for k, c in enumerate(record.coordinates)}
    flagged = {c.name for c in record.flagged}
    for row, c in enumerate(ordered[:ROWS]):
        wrong = c.name in flagged
        yield f'<tr class="{"misfit" * wrong}">'
        yield f'<th scope="row" class="name">{escape(c.name)}</th>'
        numbers = [c.value] if c.effect is None else list(c.effect)
        signed = c.effect is not None
        for k, number in enumerate(numbers):
            text = f"{number:+.2f}" if signed and k == 0 else f"{number:#.3g}"
            yield f'<td class="number optional" data-value="{number:.6g}">{text}</td>'
        p = c.adjusted_pvalue
        yield f'<td class="number" data-value="{p:.6g}">{p:.3f}</td>'
        yield f'<td class="verdict-text">{escape(c.verdict)}</td>'
        if record.findings.pit is not None:
            shown = row < HISTOGRAMS and position[c.name] < record.findings.pit.shape[1]
            small = _histogram(record.findings.pit[:, position[c.name]], c.name) if shown else ""
            yield f'<td class="optional">{small}</td>'
        yield "</tr>"
    yield "</tbody></table></div>"


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
        f'aria-label="{escape(wording.histogram_label(name))}"><path class="bars" '
        f'd="{bars}"/><path class="flat" d="M0 {level:.1f}h{WIDTH}"/></svg>'
    )


def _advice(record: CheckRecord) -> Iterator[str]:
    if not record.flagged:
        return
    keys = {
        wording.advice_key(c.kind, c.effect.spread if c.effect else 1.0) for c in record.flagged
    }
    yield f"<h2>{PAGE['advice']}</h2>"
    meaning = wording.FLAG_MEANINGS[record.findings.flag_meaning]
    if meaning:
        yield f"<p>{escape(meaning)}</p>"
    advice = [pair for key, pair in wording.ADVICE.items() if key in keys]
    if advice:
        yield "<ul>"
        for title, text in advice:
            yield f"<li><strong>{escape(title)}.</strong> {escape(text)}</li>"
        yield "</ul>"


def _pictures(record: CheckRecord) -> Iterator[str]:
    yield f"<h2>{PAGE['statistic']}</h2>"
    yield f'<div class="picture">{_svg(record)}</div>'


def _svg(record: CheckRecord) -> str:
    """The plot as inline SVG: no declaration of its own, and the same for the same record."""
    from matplotlib import rc_context

    out = io.StringIO()
    with rc_context({"svg.hashsalt": "steinwise", "svg.fonttype": "path"}):
        plots.plot_check(record).savefig(
            out, format="svg", metadata={"Date": None, "Creator": None}
        )
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    label = f'<svg role="img" aria-label="{PAGE["picture"]}"'
    return text.replace("<svg", label, 1)


def _obtained(record: CheckRecord) -> Iterator[str]:
    yield f"<h2>{PAGE['facts']}</h2><dl>"
    rows = [*check_facts(record), ("level", f"{record.alpha:g}"), ("steinwise", record.version)]
    for name, value in rows:
        yield f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
    yield "</dl>"
