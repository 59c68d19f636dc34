"""How often the default check finds draws that are wrong, beside KSD and univariate KSDs.

Run with ``python -m benchmarks.power [NAME ...]``; a figure counts as reached when the lower 95 %
bound of the rate does. ``--suite size`` does the same for draws that are right, on the same
targets; ``--suite rivals`` and ``--suite rivals-size`` put all other discrepancies beside it;
``--suite learned`` and ``--suite learned-size`` are for KCC-SD with learned conditionals,
``--suite graphical`` for KSD on Markov blankets, ``--suite linear`` and ``--suite linear-size`` for
approximations that are linear in n, ``--suite models`` for the claims of `sw.compare_models`,
``--suite fits`` for the intervals of `sw.fit_parameters`.
Results go to JSON files in ``benchmarks/results`` case by case; a case that is already there with
as many repetitions is not run again, unless ``--again`` says so.
"""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from benchmarks import size
from experiments.engine.executors import ONE_THREAD

COLUMNS = ("transported", "KSD, RBF", "KSD, IMQ", "univariate KSDs")
SUITES = {  # the file of the results, and how many repetitions
    "power": ("power", 100),
    "size": ("power_size", 1000),
    "rivals": ("rivals", 100),
    "rivals-size": ("rivals_size", 1000),
    "learned": ("learned", 100),
    "learned-size": ("learned_size", 1000),
    "models": ("models", 300),
    "fits": ("fits", 300),
    "graphical": ("graphical", 100),
    "linear": ("linear", 200),
    "linear-size": ("linear_size", 300),
}
MARKS = {True: "ok", False: "NO", None: ""}


def table(names: Sequence[str], results: dict[str, Any]) -> str:
    """One line per case: rates, the lower 95 % bound of the first, and what it must be."""
    head = f"{'rate of rejections':<18} {COLUMNS[0]:>12} {'(bound)':>7} {'required':>9}   "
    lines = [head + " ".join(f"{column:>15}" for column in COLUMNS[1:])]
    for name in names:
        rows = results[name]["rows"]
        others = " ".join(f"{rows[column]['rate']:>15.2f}" for column in COLUMNS[1:])
        lines.append(f"{name:<18} {_figure(rows[COLUMNS[0]])} {others}")
        lines += [
            f"  {row:<16} {_figure(found)} of {found['verdicts']}"
            for row, found in rows.items()
            if row not in COLUMNS
        ]
    return "\n".join(lines)


def _figure(found: dict[str, Any]) -> str:
    bound = size.lower_bound(found["rate"], found["verdicts"])
    required = found["rule"].removeprefix("surely at least ").replace("shown", "-")
    return f"{found['rate']:>12.2f} ({bound:.3f}) {required:>9} {MARKS[found['passes']]:>2}"


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--suite",
    type=click.Choice(list(SUITES)),
    default="power",
    show_default=True,
)
@click.option("--repetitions", type=int, help="By default as many as the suite has.")
@click.option("--jobs", default=2, show_default=True, help="Processes.")
@click.option("--again", is_flag=True, help="Run cases that are already in the file.")
def main(
    names: tuple[str, ...], suite: str, repetitions: int | None, jobs: int, again: bool
) -> None:
    """Measure rejection rates; NAME is a case, all of them by default."""
    os.environ.update(ONE_THREAD)  # before JAX starts, here and in the processes
    from benchmarks.suites import CASES, repeat

    file, usual = SUITES[suite]
    path = size.RESULTS.parent / f"{file}.json"
    options = {"jobs": jobs, "again": again, "repetitions": repetitions or usual}
    print_table = table if suite == "power" else size.table
    size.run_cases(names, CASES[suite], partial(repeat, suite), path, print_table, options)


if __name__ == "__main__":
    main()
