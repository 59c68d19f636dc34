"""How often the default check finds wrong draws, compared with KSD and univariate KSDs.

Run with ``python -m benchmarks.power [NAME ...]``; a required power counts as reached when the
lower 95 % confidence bound of the rate reaches it. Other suites:

- ``--suite size``: correct draws from the same targets;
- ``--suite scores-size``: the same for the check by scores alone;
- ``--suite efforts``: the wrong draws at every level of effort, and with more draws;
- ``--suite uniform``: correct draws again, and whether their p-values are uniform;
- ``--suite rivals`` and ``--suite rivals-size``: all other discrepancies next to the default;
- ``--suite polynomials`` and ``--suite polynomials-size``: polynomial Stein discrepancies;
- ``--suite learned`` and ``--suite learned-size``: KCC-SD with learned conditionals;
- ``--suite graphical``: KSD on Markov blankets;
- ``--suite linear`` and ``--suite linear-size``: approximations whose cost is linear in n;
- ``--suite support`` and ``--suite support-size``: bounded, discrete and mixed targets;
- ``--suite modes`` and ``--suite modes-size``: densities with several modes;
- ``--suite tolerance``: answers to ``tolerance=`` for draws at its very edge;
- ``--suite models``: the claims of `sw.compare_models`;
- ``--suite fits``: the intervals of `sw.fit_parameters`.

Each case is written to a JSON file in ``benchmarks/results`` as soon as it is done. A case that is
already there with the same number of repetitions is not run again unless ``--again`` is given.
"""

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from benchmarks import RESULTS, case_runner
from benchmarks.case_runner import MARKS
from benchmarks.rates import lower_bound
from experiments.engine.executors import ONE_THREAD

COLUMNS = ("transported", "KSD, RBF", "KSD, IMQ", "univariate KSDs")
SUITES = {  # the file of the results, and the usual number of repetitions
    "power": ("power", 100),
    "size": ("power_size", 1000),
    "scores-size": ("scores_size", 1000),
    "efforts": ("efforts", 100),
    "uniform": ("uniform", 2000),
    "rivals": ("rivals", 100),
    "rivals-size": ("rivals_size", 1000),
    "polynomials": ("polynomials", 100),
    "polynomials-size": ("polynomials_size", 1000),
    "learned": ("learned", 100),
    "learned-size": ("learned_size", 1000),
    "models": ("models", 300),
    "fits": ("fits", 300),
    "graphical": ("graphical", 100),
    "linear": ("linear", 200),
    "linear-size": ("linear_size", 300),
    "modes": ("modes", 100),
    "modes-size": ("modes_size", 1000),
    "support": ("support", 200),
    "support-size": ("support_size", 1000),
    "tolerance": ("tolerance", 1000),
}


def table(names: Sequence[str], results: dict[str, Any]) -> str:
    """One line per case: the rates, the lower 95 % bound of the first, and the required rate."""
    head = f"{'rate of rejections':<18} {COLUMNS[0]:>12} {'(bound)':>7} {'required':>9}   "
    lines = [head + " ".join(f"{column:>15}" for column in COLUMNS[1:])]
    for name in names:
        rows = results[name]["rows"]
        others = " ".join(f"{rows[column]['rate']:>15.2f}" for column in COLUMNS[1:])
        lines.append(f"{name:<18} {_rate_and_bound(rows[COLUMNS[0]])} {others}")
        lines += [
            f"  {row_name:<16} {_rate_and_bound(row)} of {row['verdicts']}"
            for row_name, row in rows.items()
            if row_name not in COLUMNS
        ]
    return "\n".join(lines)


def _rate_and_bound(row: dict[str, Any]) -> str:
    bound = lower_bound(row["rate"], row["verdicts"])
    required = row["rule"].removeprefix("surely at least ").replace("shown", "-")
    return f"{row['rate']:>12.2f} ({bound:.3f}) {required:>9} {MARKS[row['passes']]:>2}"


@click.command()
@click.argument("names", nargs=-1)
@click.option(
    "--suite",
    type=click.Choice(list(SUITES)),
    default="power",
    show_default=True,
)
@click.option("--repetitions", type=int, help="By default the usual number of the suite.")
@click.option("--jobs", default=2, show_default=True, help="Number of processes.")
@click.option("--again", is_flag=True, help="Run cases that are already in the file.")
def main(
    names: tuple[str, ...], suite: str, repetitions: int | None, jobs: int, again: bool
) -> None:
    """Measure rejection rates; NAMES are cases, by default all of them."""
    os.environ.update(ONE_THREAD)  # before JAX starts, here and in the processes
    from benchmarks.suites import CASES, repeat

    file, usual = SUITES[suite]
    options = {"jobs": jobs, "again": again, "repetitions": repetitions or usual}
    print_table = table if suite == "power" else case_runner.table
    case_runner.run_cases(
        names, CASES[suite], partial(repeat, suite), RESULTS / f"{file}.json", print_table, options
    )


if __name__ == "__main__":
    main()
