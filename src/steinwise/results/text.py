"""Results in words: the report that a check prints, and what other texts share with it."""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from steinwise._internal.random import plain_seed
from steinwise.results.influence import dominance_note

if TYPE_CHECKING:
    from steinwise.results.check import CheckResult, CoordinateResult, Learning

ROWS_SHOWN = 12
WIDTH = 79


def format_pvalue(p: float, n_bootstrap: int) -> str:
    """A p-value; the smallest that this many bootstraps can give; or one that needs none.

    >>> format_pvalue(0.0313, 999), format_pvalue(0.001, 999), format_pvalue(2e-40, 999)
    ('0.031', '0.001 (the least possible)', '2e-40')
    """
    least = 1 / (n_bootstrap + 1)
    if p < least * (1 - 1e-9):
        return f"{p:.1g}"
    digits = max(3, round(-np.log10(least)))
    text = f"{p:.{digits}f}"
    return f"{text} (the least possible)" if p < 1.5 * least else text


def facts(result: "CheckResult") -> list[tuple[str, str]]:
    """How the result was obtained, as names and values."""
    draws = result.draws
    if draws.independent:
        shape = f"{draws.n_chains * draws.n_draws} independent draws"
    else:
        s = "s" * (draws.n_chains > 1)
        shape = (
            f"{draws.n_chains} chain{s} x {draws.n_draws} draws, worth about "
            f"{draws.effective_draws:.0f} independent ones"
        )
    if draws.held_out:
        shape += f" ({draws.held_out} more to learn from)"
    batches = f"{draws.n_batches} of {draws.batch_length} draw{'s' * (draws.batch_length > 1)}"
    if not draws.independent:
        assert draws.rhat is not None
        batches += f"; autocorrelation time {draws.autocorrelation_time:.3g}"
        batches += f", largest R-hat {draws.rhat:.3f}"
    p = format_pvalue(result.pvalue, result.n_bootstrap)
    found = [
        ("method", result.description),
        ("draws", f"{shape}; {draws.dim} coordinate{'s' * (draws.dim > 1)}"),
        ("batches", batches),
        ("statistic", f"{result.statistic:.6g}"),
        ("p-value", f"{p}, {result.n_bootstrap} bootstraps, seed {plain_seed(result.seed)}"),
    ]
    if result.findings.learning is not None:
        found.insert(2, ("learnt", _learnt(result.findings.learning)))
    if result.findings.evaluations is not None:
        cost, lines = result.findings.evaluations, len(result.coordinates)
        where = f"each of {lines} lines" if lines > 1 else "the line"
        found.insert(1, ("target", f"{cost} evaluations on {where} through a draw"))
    if result.dtype != "float64":
        found.append(("precision", f"the density was evaluated in {result.dtype}"))
    return found


def report(result: "CheckResult") -> list[str]:
    """The whole report, by line."""
    lines = ["steinwise check", *("  " + line for line in aligned(facts(result)))]
    lines += ["\n" + wrapped(f"Note: {note}") for note in result.notes]
    if result.rejected:
        lines.append(f"\nMisfit: the draws do not fit the density at level {result.alpha}.")
    else:
        lines.append("\n" + wrapped(no_misfit(result)))
    if result.coordinates:
        lines += ["", *("  " + line for line in _coordinate_table(result))]
    few = dominance_note(result)
    lines += ["", wrapped(few)] if few else []
    if result.flagged and result.findings.flag_note:
        lines += ["", wrapped(result.findings.flag_note)]
    return lines


def _learnt(learning: "Learning") -> str:
    """Which models, from how many draws."""
    models = [row.model for row in learning.rows]
    counted = ", ".join(
        f"{model} of {models.count(model)}" if len(set(models)) > 1 else model
        for model in dict.fromkeys(models)
    )
    split = f"{learning.train} draws, validated on {learning.validation}"
    several = f"; {learning.splits} splits averaged" if learning.splits > 1 else ""
    return f"{counted}; from {split}{several}"


def no_misfit(result: "CheckResult") -> str:
    """What it means that nothing was found."""
    text = f"No misfit found at level {result.alpha}. This does not prove the draws right."
    found = result.findings.detectable
    if found is None:
        return text
    return (
        f"{text} With probability 0.8 it would have found one coordinate shifted by "
        f"{found.shift:.2g} conditional standard deviations, or {found.spread:.2g} times as wide."
    )


def wrapped(text: str) -> str:
    """Lines as wide as the report's."""
    return textwrap.fill(text, WIDTH)


def worst_first(result: "CheckResult") -> list["CoordinateResult"]:
    """The coordinates by their p-values."""
    return sorted(result.coordinates, key=lambda c: (c.adjusted_pvalue, c.pvalue, -c.value))


def _coordinate_table(result: "CheckResult") -> list[str]:
    ordered = worst_first(result)
    sized = ordered[0].effect is not None
    rows = [("coordinate", *(("shift", "sd") if sized else ("value",)), "adjusted p", "verdict")]
    for c in ordered[:ROWS_SHOWN]:
        size = (f"{c.value:.4g}",)
        if c.effect is not None:
            size = (f"{c.effect.shift:+.2f}", f"{c.effect.spread:.2f}")
        rows.append((c.name, *size, f"{c.adjusted_pvalue:.3f}", c.verdict))
    return aligned(rows) + left_out(len(ordered))


def left_out(count: int) -> list[str]:
    """A line on the rows that a table does not show."""
    more = count - ROWS_SHOWN
    return [f"... and {more} more"] if more > 0 else []


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns padded to their widest entry; the last one is left ragged."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    padded = ("  ".join(cell.ljust(w) for cell, w in zip(r, widths, strict=True)) for r in rows)
    return [line.rstrip() for line in padded]
