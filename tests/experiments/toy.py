"""A panel that costs nothing, and a script that runs it: ``python -m tests.experiments.toy``."""

import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax.numpy as jnp

from experiments.engine import executors, figures, runner
from experiments.engine.page import publish
from experiments.engine.tasks import Cell, Outcome, Outcomes, Panel, Task, Times, make_cell

LOG, HANG = "TOY_LOG", "TOY_HANG"  # environment variables: a file, any text


@dataclass(frozen=True)
class Toy(Panel):
    """Means of normal draws, by JAX, which must not be forked.

    Tasks are written to the file in LOG when they start. With HANG set, only the first repetition
    of every cell ends.
    """

    def cells(self, quick: bool) -> Mapping[Cell, int]:
        return {
            make_cell(m, n=n): 2 if quick else 5 for n in (10, 20) for m in ("KSD (RBF)", "KSDAgg")
        }

    def run(self, task: Task) -> Outcome:
        if LOG in os.environ:
            with open(os.environ[LOG], "a") as file:
                file.write(f"{task}\n")
        while HANG in os.environ and task.repetition > 0:
            time.sleep(1)
        draws = task.draws_generator().normal(size=task["n"])
        return {"mean": float(jnp.mean(draws)), "seed": task.seed(), "none": None}

    def summarise(self, outcomes: Outcomes) -> dict[str, Any]:
        return {
            str(cell): [outcome["mean"] for outcome in repetitions]
            for cell, repetitions in outcomes.items()
        }

    def figure(self, summary: dict[str, Any], seconds: Times):  # noqa: ARG002
        figure, ax = figures.new_axes("toy", "repetition", "mean")
        for name, means in summary.items():
            ax.plot(means, label=name)
        figures.legend(figure, "a note")
        return figure

    def measured(self, summary: dict[str, Any], seconds: Times) -> str:  # noqa: ARG002
        return f"{len(summary)} cells\n"


PANEL = Toy("tests.experiments.toy", "toys")


def run_in_processes(folder: Path, jobs: int) -> None:
    with executors.processes(jobs) as executor:
        runner.run([PANEL], folder, executor, jobs)
    publish(PANEL, folder)


if __name__ == "__main__":
    run_in_processes(Path(sys.argv[1]), jobs=2)
