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
from experiments.engine.tasks import Cell, Found, Outcome, Panel, Seconds, Task, cell

LOG, PAUSE = "TOY_LOG", "TOY_PAUSE"  # environment variables


@dataclass(frozen=True)
class Toy(Panel):
    """Means of normal draws, by JAX, which must not be forked."""

    def cells(self, quick: bool) -> Mapping[Cell, int]:
        return {cell(m, n=n): 2 if quick else 5 for n in (10, 20) for m in ("KSD (RBF)", "KSDAgg")}

    def run(self, task: Task) -> Outcome:
        if LOG in os.environ:
            with open(os.environ[LOG], "a") as file:
                file.write(f"{task}\n")
        time.sleep(float(os.environ.get(PAUSE, 0)))
        draws = task.draws_generator().normal(size=task["n"])
        return {"mean": float(jnp.mean(draws)), "seed": task.seed(), "none": None}

    def summarise(self, found: Found) -> dict[str, Any]:
        return {str(one): [outcome["mean"] for outcome in got] for one, got in found.items()}

    def figure(self, summary: dict[str, Any], seconds: Seconds):  # noqa: ARG002
        figure, ax = figures.new_axes("toy", "repetition", "mean")
        for name, means in summary.items():
            ax.plot(means, label=name)
        figures.legend(figure, "a note")
        return figure

    def measured(self, summary: dict[str, Any], seconds: Seconds) -> str:  # noqa: ARG002
        return f"{len(summary)} cells\n"


PANEL = Toy("tests.experiments.toy", "toys")


def run_in_processes(folder: Path, jobs: int) -> None:
    with executors.processes(jobs) as executor:
        runner.run([PANEL], folder, executor, jobs)
    publish(PANEL, folder)


if __name__ == "__main__":
    run_in_processes(Path(sys.argv[1]), jobs=2)
