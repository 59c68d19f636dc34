"""Run the paper's experiments: ``python -m experiments [NAME ...]``."""

import contextlib
import os
from pathlib import Path

import click

from experiments import PANELS
from experiments.engine import executors, runner

FOLDER = Path(__file__).parent
QUICK_FOLDER = Path("out") / "experiments-quick"


@click.command(epilog=f"Panels: {', '.join(PANELS)}.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "--repetitions", type=click.IntRange(1), help="Of every cell; by default as the panel says."
)
@click.option("--quick", is_flag=True, help="One small setting of each panel, into out/.")
@click.option("--jobs", type=click.IntRange(1), help="Number of processes; by default one a core.")
@click.option("--dask", metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")
@click.option("--page", is_flag=True, help="Run nothing; make figures and page from the records.")
@click.option(
    "--into",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder for records, results and figures; by default experiments/.",
)
def main(
    names: tuple[str, ...],
    repetitions: int | None,
    quick: bool,
    jobs: int | None,
    dask: str | None,
    page: bool,
    into: Path | None,
) -> None:
    """Run panels of the paper, by default all of them.

    A run that was interrupted, in whatever way, resumes where it stopped.
    """
    unknown = sorted(set(names) - set(PANELS))
    if unknown:
        raise click.BadParameter(f"no panel {', '.join(unknown)}; there are {', '.join(PANELS)}")
    os.environ.update(executors.ONE_THREAD)  # before JAX starts, here and in the processes
    from experiments.engine.page import publish

    panels = [runner.load(f"experiments.{name}") for name in names or PANELS]
    folder = into or (QUICK_FOLDER if quick else FOLDER)
    if not page:
        with contextlib.ExitStack() as stack:
            if dask:
                executor, workers = stack.enter_context(executors.cluster(dask))
            else:
                workers = jobs or os.cpu_count() or 1
                executor = stack.enter_context(executors.processes(workers))
            runner.run(panels, folder, executor, workers, repetitions=repetitions, quick=quick)
    for panel in panels:
        click.echo(publish(panel, folder, quick))


if __name__ == "__main__":
    main()
