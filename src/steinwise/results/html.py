"""A result as one HTML file that opens offline: nothing in it asks the network for anything."""

import io
import re
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from steinwise.results.influence import dominance_note
from steinwise.results.text import facts, format_pvalue, no_misfit, worst_first

if TYPE_CHECKING:
    from steinwise.results.check import CheckResult, CoordinateResult

ROWS = 1000  # the worst ones; more make a page that no browser likes
HISTOGRAMS = 300
BINS = 20
WIDTH, HEIGHT = 120, 28  # of a small histogram, in pixels

ADVICE = {
    "too narrow": "The draws vary less than the density allows. Mean-field variational inference "
    "does this wherever coordinates are correlated; so does a sampler with too small a temperature "
    "or a chain that has not left its start. Try a full-rank family, NUTS, or a longer run.",
    "too wide": "The draws vary more than the density allows. Too large a step size without a "
    "Metropolis correction (Langevin, stochastic gradients) does this; so does a tempered or a "
    "prior-like law. Shorten the step, or add the correction.",
    "shifted": "The mean is off, given the other coordinates. Look for warm-up left in, a biased "
    "gradient, or draws and density in different parametrisations (a missing Jacobian).",
    "tails": "Centre and spread are right, extremes are not. A normal approximation of a law with "
    "heavier or lighter tails does this.",
    "next to no mass": "A few draws are far outside of what the density allows. Look at those "
    "draws: divergences, a chain that was stuck, or an error in the data.",
    "depends on": "Each coordinate may look right by itself, but their dependence is wrong. "
    "Factorised approximations do this. Plot the pair: result.plot_pair(coordinate, other).",
    "varies with": "The scale of a coordinate follows another one differently from the density, as "
    "in a funnel that a sampler does not enter. Reparametrise (non-centred), or shorten the steps.",
    "another shape": "The law of the coordinate, given the others, has another shape: skewness, or "
    "modes with wrong weights. Look at result.plot_pit(coordinate).",
}
FAULTS = {  # of the kinds of misfit, but for a spread, which is narrow or wide
    "shift": "shifted",
    "tails": "tails",
    "outliers": "next to no mass",
    "dependence": "depends on",
    "interaction": "depends on",
    "dependence on size": "varies with",
    "shape": "another shape",
}


def html(result: "CheckResult") -> str:
    """The whole page."""
    assets = files("steinwise") / "assets"
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
            "<h1>Do these draws come from this density?</h1>",
            *_verdict(result),
            *_table(result),
            *_advice(result),
            *_pictures(result),
            *_obtained(result),
            "</main>",
            f"<script>\n{script}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _verdict(result: "CheckResult") -> Iterator[str]:
    p = escape(format_pvalue(result.pvalue, result.n_bootstrap))
    if result.rejected:
        wrong = result.flagged
        which = "no coordinate stands out by itself."
        if wrong:
            named = ", ".join(escape(c.name) for c in wrong[:5])
            more = f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""
            which = f"wrong given the others: {named}{more}."
        text = f"<strong>Misfit.</strong> The draws do not fit the density with p = {p}; {which}"
    else:
        text = f"{escape(no_misfit(result))} The p-value is {p}."
    yield f'<p class="verdict{" misfit" * result.rejected}" role="status">{text}</p>'
    for note in result.notes:
        yield f'<p class="note"><strong>Note:</strong> {escape(note)}</p>'
    few = dominance_note(result)
    if few:
        yield f'<p class="note">{escape(few)}</p>'


def _table(result: "CheckResult") -> Iterator[str]:
    if not result.coordinates:
        return
    ordered = worst_first(result)
    sized = ordered[0].effect is not None
    sizes = ["shift", "sd"] if sized else ["value"]
    yield "<h2>Coordinates</h2>"
    if len(ordered) > ROWS:
        yield f'<p class="quiet">The {ROWS} worst of {len(ordered)} coordinates.</p>'
    yield '<label for="search">Find a coordinate or a verdict</label><br>'
    yield '<input type="search" id="search" autocomplete="off">'
    yield '<span id="shown" class="quiet" role="status"></span>'
    yield '<div class="scroll" tabindex="0" role="region" aria-label="Coordinates">'
    yield '<table id="coordinates"><thead><tr>'
    columns = [
        ("coordinate", ""),
        *((s, "number optional") for s in sizes),
        ("adjusted p", "number"),
    ]
    for name, kind in [*columns, ("verdict", "")]:
        yield f'<th scope="col" class="{kind}"><button type="button">{name}</button></th>'
    if result.findings.pit is not None:
        yield '<th scope="col" class="optional">place in the conditional</th>'
    yield "</tr></thead><tbody>"
    position = {c.name: k for k, c in enumerate(result.coordinates)}
    flagged = {c.name for c in result.flagged}
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
        if result.findings.pit is not None:
            shown = row < HISTOGRAMS and position[c.name] < result.findings.pit.shape[1]
            small = _histogram(result.findings.pit[:, position[c.name]], c.name) if shown else ""
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
        f'aria-label="histogram of {escape(name)} in its conditional"><path class="bars" '
        f'd="{bars}"/><path class="flat" d="M0 {level:.1f}h{WIDTH}"/></svg>'
    )


def _advice(result: "CheckResult") -> Iterator[str]:
    if not result.flagged:
        return
    named = {_fault(c) for c in result.flagged}
    faults = [fault for fault in ADVICE if fault in named]
    yield "<h2>What it means, and what to do next</h2>"
    if result.findings.flag_note:
        yield f"<p>{escape(result.findings.flag_note)}</p>"
    if faults:
        yield "<ul>"
        for fault in faults:
            yield f"<li><strong>{escape(fault.capitalize())}.</strong> {escape(ADVICE[fault])}</li>"
        yield "</ul>"


def _fault(coordinate: "CoordinateResult") -> str:
    """What there is advice on; nothing where the method names no kind of misfit."""
    if coordinate.kind != "spread":
        return FAULTS.get(coordinate.kind, "")
    assert coordinate.effect is not None
    return "too narrow" if coordinate.effect.spread < 1 else "too wide"


def _pictures(result: "CheckResult") -> Iterator[str]:
    yield "<h2>The statistic and its null</h2>"
    yield f'<div class="picture">{_svg(result)}</div>'


def _svg(result: "CheckResult") -> str:
    """The plot as inline SVG: no declaration of its own, and the same for the same result."""
    from matplotlib import rc_context

    out = io.StringIO()
    with rc_context({"svg.hashsalt": "steinwise", "svg.fonttype": "path"}):
        result.plot().savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    return text.replace("<svg", '<svg role="img" aria-label="the statistic against its null"', 1)


def _obtained(result: "CheckResult") -> Iterator[str]:
    yield "<h2>How the result was obtained</h2><dl>"
    rows = [*facts(result), ("level", f"{result.alpha:g}"), ("steinwise", result.version)]
    for name, value in rows:
        yield f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
    yield "</dl>"
