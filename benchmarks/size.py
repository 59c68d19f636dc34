"""How often a test of level 0.05 rejects correct draws, for each kind of statistic.

Run with ``python -m benchmarks.size [NAME ...]``. A rate must lie inside the exact 99.9 % binomial
interval around the level. Each case is written to ``benchmarks/results/size.json`` as soon as it is
done. A case that is already there with the same number of repetitions is not run again unless
``--again`` is given; an interrupted case resumes from ``results/scratch``.
"""

import os

import click

from benchmarks import RESULTS, case_runner
from experiments.engine.executors import ONE_THREAD


@click.command()
@click.argument("names", nargs=-1)
@click.option("--repetitions", default=500, show_default=True)
@click.option("--jobs", default=2, show_default=True, help="Number of processes.")
@click.option("--again", is_flag=True, help="Run cases that are already in the file.")
def main(names: tuple[str, ...], repetitions: int, jobs: int, again: bool) -> None:
    """Measure rejection rates; NAMES are cases, by default all of them."""
    os.environ.update(ONE_THREAD)  # before JAX starts, here and in the processes
    from benchmarks.size_cases import CASES, repeat

    options = {"repetitions": repetitions, "jobs": jobs, "again": again}
    path = RESULTS / "size.json"
    case_runner.run_cases(names, CASES, repeat, path, case_runner.table, options)


if __name__ == "__main__":
    main()
