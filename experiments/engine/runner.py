"""Run the tasks of panels on any executor, resume, and say how long it will take."""

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
from experiments.engine.tasks import Cell, Found, Panel, Seconds, Task

MERGE_EVERY = 600.0  # seconds


def load(module: str) -> Panel:
    """The panel of a module."""
    return importlib.import_module(module).PANEL


def perform(module: str, task: Task) -> Done:
    """Run a task, here or in another process, and measure its CPU seconds."""
    if "jax" not in sys.modules:  # it reads them when it starts
        os.environ.update(ONE_THREAD)
    panel = load(module)
    with threadpool_limits(1):  # NumPy has read its own by now where Dask started the process
        if panel.timed:
            panel.run(task)  # compiles
        began = time.process_time()
        outcome = panel.run(task)
        return Done(outcome, round(time.process_time() - began, 4))


def wanted(
    panels: Sequence[Panel], repetitions: int | None = None, quick: bool = False
) -> dict[Task, Panel]:
    """All tasks, the first repetition of every cell before the second of any."""
    found = {
        Task(panel.study, cell, repetition): panel
        for panel in panels
        for cell, usual in panel.cells(quick).items()
        for repetition in range(repetitions or usual)
    }
    return {task: found[task] for task in sorted(found, key=lambda task: task.repetition)}


def run(
    panels: Sequence[Panel],
    folder: Path,
    executor: Executor,
    workers: int,
    *,
    repetitions: int | None = None,
    quick: bool = False,
) -> None:
    """Run what is not recorded yet below the folder; tasks of timed panels one at a time, last."""
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


def recorded(panel: Panel, folder: Path, quick: bool = False) -> tuple[Found, Seconds]:
    """Outcomes and CPU seconds of all cells of a panel, as far as there are any."""
    found: dict[Cell, list] = {one: [] for one in panel.cells(quick)}
    seconds: dict[Cell, list[float]] = {one: [] for one in found}
    for task, done in Store(folder, panel.study).read().items():
        if task.cell in found:
            found[task.cell].append(done.outcome)
            seconds[task.cell] += [] if done.seconds is None else [done.seconds]
    return found, seconds
