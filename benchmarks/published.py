"""Published rejection rates next to ours, with the same draws, level and repetitions.

``python -m benchmarks.published [NAME ...]`` writes `results/published.json` case by case and
resumes; ``--table`` prints the file as Markdown tables. Brackets hold exact 95 % binomial
intervals. Published rates are quoted from their papers' repositories (`published_cases.py`).
"""

import os
from collections.abc import Sequence
from typing import Any

import click

from benchmarks import RESULTS, case_runner
from benchmarks.rates import confidence_interval
from experiments.engine.executors import ONE_THREAD

FILE = RESULTS / "published.json"


def table(names: Sequence[str], results: dict[str, Any]) -> str:
    """One Markdown table for each published table: ours, then what was published."""
    from benchmarks.published_cases import OURS, ROWS

    lines, heading = [], None
    for name in names:
        row, measured = ROWS[name], results[name]
        if row.case != heading:
            heading = row.case
            titles = [
                *(f"{ours} (ours)" for ours in OURS),
                *(f"{m} (published)" for m in row.rates),
            ]
            head = [heading, "repetitions, ours and theirs", *titles]
            lines += ["", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        ours = [(measured["rows"][one]["rate"], measured["repetitions"]) for one in OURS]
        theirs = [(rate, row.repetitions) for rate in row.rates.values()]
        cells = [row.setting, f"{measured['repetitions']}, {row.repetitions}"]
        cells += [_with_interval(*pair) for pair in (*ours, *theirs)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines[1:])


def _with_interval(rate: float, repetitions: int) -> str:
    low, high = confidence_interval(rate, repetitions)
    digits = 2 if repetitions <= 100 else 3  # as published
    return f"{rate:.{digits}f} ({low:.2f}-{high:.2f})"


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--repetitions", type=int, help="By default as many as were published.")
@click.option("--jobs", default=2, show_default=True, help="Number of processes.")
@click.option("--again", is_flag=True, help="Run cases that are already in the file.")
@click.option("--table", "show", is_flag=True, help="Print the tables of the file, and no more.")
def main(
    names: tuple[str, ...], repetitions: int | None, jobs: int, again: bool, show: bool
) -> None:
    os.environ.update(ONE_THREAD)  # before JAX starts, here and in the processes
    from benchmarks.published_cases import CASES, ROWS, repeat

    if show:
        results = case_runner.read(FILE)
        click.echo(table([name for name in ROWS if name in results], results))
        return
    case_runner.require_cases(names, CASES)
    for name in names or CASES:
        options = {
            "jobs": jobs,
            "again": again,
            "repetitions": repetitions or ROWS[name].repetitions,
        }
        case_runner.run_missing(name, CASES[name], repeat, FILE, table, options)


if __name__ == "__main__":
    main()
