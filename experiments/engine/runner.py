"""Run the tasks of panels on any executor, resuming from what is recorded."""

import contextlib
import importlib
import os
import sys
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path

from threadpoolctl import threadpool_limits

from experiments.engine.executors import ONE_THREAD, perform_calls
from experiments.engine.progress import Progress
from experiments.engine.records import Done, Store
from experiments.engine.tasks import Cell, Outcome, Outcomes, Panel, Task, Times

MERGE_EVERY = 600.0  # seconds: every merge writes all records of a study anew


def load(module: str) -> Panel:
    """The panel of a module."""
    return importlib.import_module(module).PANEL


def perform(module: str, task: Task) -> Done:
    """Run a task, here or in another process, and measure its CPU seconds."""
    if "jax" not in sys.modules:  # JAX reads the variables when it is imported
        os.environ.update(ONE_THREAD)
    panel = load(module)
    with threadpool_limits(1):  # if Dask started the process, NumPy has read its variables already
        if panel.timed:
            panel.run(task)  # compiles, so that the second run does not
        began = time.process_time()
        outcome = panel.run(task)
        return Done(outcome, round(time.process_time() - began, 4))


def wanted(
    panels: Sequence[Panel], repetitions: int | None = None, quick: bool = False
) -> dict[Task, Panel]:
    """All tasks, the first repetition of every cell before the second of any."""
    tasks = {
        Task(panel.study, cell, repetition): panel
        for panel in panels
        for cell, usual in panel.cells(quick).items()
        for repetition in range(repetitions or usual)
    }
    return {task: tasks[task] for task in sorted(tasks, key=lambda task: task.repetition)}


def run(
    panels: Sequence[Panel],
    folder: Path,
    executor: Executor,
    workers: int,
    *,
    repetitions: int | None = None,
    quick: bool = False,
) -> None:
    """Run the tasks that the folder has no record of; those of timed panels last, one by one."""
    tasks = wanted(panels, repetitions, quick)
    stores = {study: Store(folder, study) for study in sorted({task.study for task in tasks})}
    with contextlib.ExitStack() as stack:
        add = {study: stack.enter_context(store.adding()) for study, store in stores.items()}
        done = {
            task: result
            for store in stores.values()
            for task, result in store.read().items()
            if not (task in tasks and tasks[task].timed and result.seconds is None)
        }
        progress = Progress(tasks, done, workers)
        stack.callback(progress.bar.close)
        merged = time.monotonic()
        for timed in (False, True):
            missing = {
                task: (perform, panel.module, task)
                for task, panel in tasks.items()
                if panel.timed == timed and task not in done
            }
            for task, result in perform_calls(missing, executor, 1 if timed else 2 * workers):
                add[task.study](task, result)
                progress.count(task, result)
                if time.monotonic() - merged > MERGE_EVERY:
                    _merge(stores.values())
                    merged = time.monotonic()
        _merge(stores.values())


def _merge(stores: Iterable[Store]) -> None:
    for store in stores:
        store.merge()


def recorded(panel: Panel, folder: Path, quick: bool = False) -> tuple[Outcomes, Times]:
    """The recorded outcomes and CPU seconds of all cells of a panel, which may be empty lists."""
    outcomes: dict[Cell, list[Outcome]] = {cell: [] for cell in panel.cells(quick)}
    seconds: dict[Cell, list[float]] = {cell: [] for cell in outcomes}
    for task, done in Store(folder, panel.study).read().items():
        if task.cell in outcomes:
            outcomes[task.cell].append(done.outcome)
            seconds[task.cell] += [] if done.seconds is None else [done.seconds]
    return outcomes, seconds
