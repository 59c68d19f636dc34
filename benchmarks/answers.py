"""How far off answers are, as drawn and as `sw.summary` corrects them, and whether it knows.

Run with ``python -m benchmarks.answers``, or name some of the cells ("funnel / mean-field"). Draws
of six kinds, wrong in the ways of variational fits and samplers and right ones, of eight targets.
For every cell: the errors of means (in posterior sds) and of sds (as a ratio) as drawn, corrected
by scores, by lines and as reported; the share of numbers that are given; and how many of the 95 %
intervals, of means, sds and quantiles, cover the truth. Truths are in `answer_truths`; twice their
errors are added to the intervals. Every repetition is kept in ``out/`` until its cell is complete;
results go to ``benchmarks/results/answers.json``.
"""

import json
import time
import warnings
import zlib
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks import RESULTS
from benchmarks.answer_cases import METHODS, TARGETS, target
from benchmarks.answer_truths import SHARES, Truth, truth
from benchmarks.measuring import machine

PATH = RESULTS / "answers.json"
SCRATCH = Path(__file__).parents[1] / "out" / "answers"
CELLS = {f"{name} / {method}": (name, method) for name in TARGETS for method in METHODS}
SEEDS = 2  # a family of seeds: 0 and 1 are those on which rules of intervals were set
LEAST_COVERED = 0.9
INSIDE = (0.93, 0.97)  # of the corrections of correct draws, within 1.96 standard errors
MOST_LEFT = {True: 0.25, False: 0.5}  # of the error as drawn, for nearly normal targets and others
MOMENTS = ("mean", "sd")
ESTIMATES = ("drawn", "scores", "lines", "reported")


def repeat(cell: str, r: int, exact: Truth) -> dict[str, Any]:
    """One repetition of a cell: sums over coordinates."""
    import steinwise as sw

    name, method = CELLS[cell]
    draws = METHODS[method](name, np.random.default_rng([zlib.crc32(cell.encode()), r, SEEDS]))
    start = time.process_time()
    with warnings.catch_warnings(action="ignore", category=sw.SteinwiseWarning):
        independent = draws.ndim == 2
        options = {"seed": r, "independent": independent, "progress": False, "quantiles": SHARES}
        found = sw.summary(draws, target_of(name), **options).quantities
    outcome: dict[str, Any] = {"seconds": time.process_time() - start, "count": len(found)}
    for what in MOMENTS:
        drawn = np.array([getattr(q, what) for q in found])
        for way in ESTIMATES:
            values, reaches = np.array([_estimate(q, way, what) for q in found]).T
            compared = getattr(exact, what), getattr(exact, f"{what}_error"), exact.sd
            outcome[f"{what} {way}"] = _sums(drawn, values, reaches, *compared)
    drawn, values, reaches = (
        np.array([getattr(q, field) for q in found])
        for field in ("quantiles", "corrected_quantiles", "quantile_uncertainties")
    )
    compared = exact.quantiles, exact.quantile_error, exact.sd[:, None]
    outcome["quantiles"] = _sums(drawn, values, reaches, *compared)
    for what, errors, ses in (
        ("mean", [q.mean_error for q in found], [q.mean_error_se for q in found]),
        ("sd", [q.sd_ratio - 1 for q in found], [q.sd_ratio_se for q in found]),
    ):
        known = np.isfinite(errors) & np.isfinite(ses)
        inside = np.abs(np.array(errors)[known]) <= 1.96 * np.array(ses)[known]
        outcome[f"{what} inside"] = [int(inside.sum()), int(known.sum())]
    return outcome


def _sums(
    drawn: np.ndarray,
    values: np.ndarray,
    reaches: np.ndarray,
    exact: np.ndarray,
    exact_error: np.ndarray,
    sd: np.ndarray,
) -> list[float]:
    """Numbers given, their squared errors, those of the draws, and how many intervals cover."""
    given = np.isfinite(values) & np.isfinite(reaches)
    errors, drawn_errors = (values - exact) / sd, (drawn - exact) / sd
    covers = np.abs(errors) <= np.hypot(reaches, 2 * exact_error) / sd
    return [
        int(given.sum()),
        float((errors[given] ** 2).sum()),
        float((drawn_errors[given] ** 2).sum()),
        int(covers[given].sum()),
    ]


def _estimate(quantity: Any, way: str, what: str) -> tuple[float, float]:
    """A number, and half of its interval."""
    if way == "drawn":
        return getattr(quantity, what), 2 * getattr(quantity, f"mcse_{what}")
    if way == "reported":
        value = getattr(quantity, f"corrected_{what}")
        return value, getattr(quantity, f"corrected_{what}_uncertainty")
    one = getattr(quantity, f"by_{way}")
    return getattr(one, what), getattr(one, f"{what}_uncertainty")


_TARGETS: dict[str, Any] = {}


def target_of(name: str) -> Any:
    """One target object for all repetitions, so that it compiles once."""
    import steinwise as sw

    if name not in _TARGETS:
        _TARGETS[name] = sw.Target(target(name).log_density)
    return _TARGETS[name]


def summarised(outcomes: list[dict[str, Any]]) -> dict[str, Any]:
    """A cell: root mean square errors, shares that are given, shares that cover."""
    count = sum(outcome["count"] for outcome in outcomes)

    def pooled(key: str, of: int) -> dict[str, Any]:
        given, errors, drawn, covered = np.sum([outcome[key] for outcome in outcomes], axis=0)
        return {
            "given": round(given / of, 3),
            "error": round(float(np.sqrt(errors / given)), 4) if given else None,
            "of_drawn": round(float(np.sqrt(errors / drawn)), 3) if given else None,
            "covers": round(covered / given, 3) if given else None,
        }

    row: dict[str, Any] = {"repetitions": len(outcomes)}
    row["cpu_seconds"] = round(float(np.median([outcome["seconds"] for outcome in outcomes])), 2)
    row["quantiles"] = pooled("quantiles", count * len(SHARES))
    for what in MOMENTS:
        row |= {f"{what} {way}": pooled(f"{what} {way}", count) for way in ESTIMATES}
        inside, known = np.sum([outcome[f"{what} inside"] for outcome in outcomes], axis=0)
        row[f"{what} inside"] = round(inside / known, 3) if known else None
    return row


def run_cell(cell: str, repetitions: int, known: dict[str, Any]) -> dict[str, Any]:
    """All repetitions of a cell; those in the scratch file are not run again."""
    SCRATCH.mkdir(parents=True, exist_ok=True)
    scratch = SCRATCH / f"{cell.replace(' ', '_').replace('/', '-')}.jsonl"
    lines = scratch.read_text().splitlines() if scratch.exists() else []
    outcomes = [json.loads(line) for line in lines]
    exact = truth(CELLS[cell][0], known)
    with scratch.open("a") as file:
        for r in range(len(outcomes), repetitions):
            outcomes.append(repeat(cell, r, exact))
            file.write(json.dumps(outcomes[-1]) + "\n")
            file.flush()
    return summarised(outcomes[:repetitions])


def cost() -> dict[str, float]:
    """CPU seconds of a check and of a summary: logistic regression, n = 4000, d = 30."""
    import steinwise as sw
    from benchmarks.answer_cases import fitted

    mean, root = fitted("logistic, d 30", full_rank=False)
    draws = mean + np.random.default_rng(0).normal(size=(4000, len(mean))) @ root.T
    density = sw.Target(target("logistic, d 30").log_density)
    seconds: dict[str, float] = {}
    for name, verb in (("check", sw.check), ("summary", sw.summary)):
        times = []
        for _ in range(3):
            start = time.process_time()
            verb(draws, density, progress=False)
            times.append(time.process_time() - start)
        seconds[f"{name}, first"], seconds[name] = round(times[0], 2), round(min(times[1:]), 2)
    return seconds


def broken(cell: str, row: dict[str, Any]) -> list[str]:
    """The rules that a cell breaks."""
    found = []
    name, method = CELLS[cell]
    if row["quantiles"]["covers"] is not None and row["quantiles"]["covers"] < LEAST_COVERED:
        found.append(f"quantiles cover {row['quantiles']['covers']}")
    for what in MOMENTS:
        reported = row[f"{what} reported"]
        if reported["covers"] is not None and reported["covers"] < LEAST_COVERED:
            found.append(f"{what} covers {reported['covers']}")
        if method == "right":
            inside = row[f"{what} inside"]
            if inside is not None and not INSIDE[0] <= inside <= INSIDE[1]:
                found.append(f"{what} inside {inside}")
        elif (
            reported["of_drawn"] is not None
            and reported["of_drawn"] > MOST_LEFT[target(name).normal]
        ):
            found.append(f"{what} error {reported['of_drawn']} of drawn")
    return found


def table(cells: dict[str, Any]) -> str:
    """Per cell: errors as drawn and reported, shares given, and shares that cover."""
    lines = [
        f"{'':37}{'runs':>4}  {'mean: drawn':>11}{'reported':>9}{'given':>6}{'covers':>7}"
        f"  {'sd: drawn':>9}{'reported':>9}{'given':>6}{'covers':>7}"
        f"  {'quantiles: given':>16}{'covers':>7}"
    ]
    for cell, row in cells.items():
        line = f"{cell:37}{row['repetitions']:>4}"
        for what, width in (("mean", 11), ("sd", 9)):
            drawn, reported = row[f"{what} drawn"], row[f"{what} reported"]
            line += f"  {drawn['error']:>{width}}{_shown(reported['error']):>9}"
            line += f"{reported['given']:>6}{_shown(reported['covers']):>7}"
        line += f"  {row['quantiles']['given']:>16}{_shown(row['quantiles']['covers']):>7}"
        lines.append(f"{line}  {'; '.join(broken(cell, row))}")
    return "\n".join(lines)


def _shown(number: float | None) -> str:
    return "-" if number is None else f"{number:g}"


@click.command()
@click.argument("names", nargs=-1)
@click.option("--repetitions", default=200, show_default=True)
@click.option("--cost/--no-cost", "with_cost", default=False, help="Measure CPU seconds too.")
def main(names: tuple[str, ...], repetitions: int, with_cost: bool) -> None:
    """Run the cells that have fewer repetitions than asked for, and print all."""
    unknown = sorted(set(names) - set(CELLS))
    if unknown:
        raise click.BadParameter(f"no cell {unknown}; there are {list(CELLS)}")
    results = json.loads(PATH.read_text()) if PATH.exists() else {}
    results = {"machine": machine(), "references": {}, "cells": {}} | results
    if with_cost:
        results["cost"] = cost()
    for cell in names or CELLS:
        if results["cells"].get(cell, {}).get("repetitions", 0) < repetitions:
            results["cells"][cell] = run_cell(cell, repetitions, results["references"])
            PATH.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
            click.echo(table({cell: results["cells"][cell]}))
    PATH.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    click.echo(table({cell: results["cells"][cell] for cell in CELLS if cell in results["cells"]}))
    if "cost" in results:
        click.echo(results["cost"])


if __name__ == "__main__":
    main()
