"""Run the tasks of panels on any executor, resume, and say how long it will take."""

import contextlib
import importlib
import multiprocessing
import os
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from multiprocessing.connection import wait as wait_for_end
from pathlib import Path
from statistics import median

from tqdm import tqdm

from experiments.engine.records import Done, Store
from experiments.engine.tasks import Cell, Found, Panel, Seconds, Task

ONE_THREAD = {  # a sum over threads has no fixed order, and processes are what we count
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
MERGE_EVERY = 600.0  # seconds


def load(module: str) -> Panel:
    """The panel of a module."""
    return importlib.import_module(module).PANEL


def perform(module: str, task: Task) -> Done:
    """Run a task, here or in another process, and measure its CPU seconds."""
    if "jax" not in sys.modules:  # it reads them when it starts
        os.environ.update(ONE_THREAD)
    panel = load(module)
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
        done = {task: result for store in stores.values() for task, result in store.read().items()}
        progress = _Progress(tasks, done, workers)
        stack.callback(progress.bar.close)
        merged = time.monotonic()
        for timed in (False, True):
            missing = [
                (panel.module, task)
                for task, panel in tasks.items()
                if panel.timed == timed and task not in done
            ]
            for task, result in _performed(missing, executor, 1 if timed else 2 * workers):
                add[task.study](task, result)
                progress.count(task, result)
                if time.monotonic() - merged > MERGE_EVERY:
                    _merge(stores.values())
                    merged = time.monotonic()
        _merge(stores.values())


def _merge(stores: Iterable[Store]) -> None:
    for store in stores:
        store.merge()


def _performed(
    missing: Sequence[tuple[str, Task]], executor: Executor, in_flight: int
) -> Iterator[tuple[Task, Done]]:
    """Each task with what came of it, when it is done."""
    queue, running = deque(missing), {}
    try:
        while queue or running:
            while queue and len(running) < in_flight:
                module, task = queue.popleft()
                running[executor.submit(perform, module, task)] = task
            done = wait(running, return_when=FIRST_COMPLETED).done
            for future in sorted(done, key=lambda one: one.exception() is not None):  # errors last
                yield running[future], _result(future, running.pop(future))
    finally:
        for future in running:
            future.cancel()


def _result(future: Future, task: Task) -> Done:
    try:
        return future.result()
    except Exception as error:
        error.add_note(f"in {task}; what was finished before is recorded, and a new run goes on.")
        raise


class _Progress:
    """A bar over all tasks with the time that is left, from the CPU seconds of each cell."""

    def __init__(
        self, tasks: Mapping[Task, Panel], done: Mapping[Task, Done], workers: int
    ) -> None:
        self.left = Counter(task.cell for task in tasks if task not in done)
        self.seconds: dict[Cell, list[float]] = {}
        for task, result in done.items():
            self._learn(task.cell, result.seconds)
        self.began, self.spent, self.workers = time.monotonic(), 0.0, workers
        self.bar = tqdm(
            total=len(tasks),
            initial=len(tasks) - self.left.total(),
            unit="task",
            mininterval=2,
            bar_format="{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed} spent{postfix}]",
        )
        self.bar.set_postfix_str(self.estimate(), refresh=False)

    def count(self, task: Task, result: Done) -> None:
        self.left[task.cell] -= 1
        self._learn(task.cell, result.seconds)
        self.spent += result.seconds or 0.0
        self.bar.set_postfix_str(self.estimate(), refresh=False)
        self.bar.update()

    def _learn(self, cell: Cell, seconds: float | None) -> None:
        if seconds is not None:
            self.seconds.setdefault(cell, []).append(seconds)

    def estimate(self) -> str:
        needed = seconds_needed(self.left, self.seconds)
        if needed is None:
            return "no estimate yet"
        # how much longer a CPU second takes here: other processes, compiling, one task at a time
        elapsed = time.monotonic() - self.began
        slowness = max(1 / self.workers, elapsed / self.spent) if self.spent else 1 / self.workers
        return f"about {_words(needed * slowness)} left"


def seconds_needed(
    left: Mapping[Cell, int], seconds: Mapping[Cell, Sequence[float]]
) -> float | None:
    """CPU seconds of the tasks that are left; None while nothing at all is known.

    A cell that has not been run takes the mean of its method's others, or of all.

    >>> from experiments.engine.tasks import cell
    >>> near, far, other = cell("a", d=2), cell("a", d=3), cell("b", d=2)
    >>> seconds_needed({near: 10, far: 1, other: 1}, {near: [2.0, 4.0, 3.0], other: [1.0]})
    34.0
    """
    known = {one: median(times) for one, times in seconds.items() if times}
    if not known:
        return None
    by_method: dict[str, list[float]] = {}
    for one, typical in known.items():
        by_method.setdefault(one.method, []).append(typical)
    total = 0.0
    for one, count in left.items():
        alike = [known[one]] if one in known else by_method.get(one.method, list(known.values()))
        total += count * sum(alike) / len(alike)
    return total


def _words(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def recorded(panel: Panel, folder: Path, quick: bool = False) -> tuple[Found, Seconds]:
    """Outcomes and CPU seconds of a panel's cells, as far as there are any."""
    found: dict[Cell, list] = {one: [] for one in panel.cells(quick)}
    seconds: dict[Cell, list[float]] = {one: [] for one in found}
    for task, done in Store(folder, panel.study).read().items():
        if task.cell in found:
            found[task.cell].append(done.outcome)
            seconds[task.cell] += [] if done.seconds is None else [done.seconds]
    some = [one for one, outcomes in found.items() if outcomes]
    return {one: found[one] for one in some}, {one: seconds[one] for one in some}


@contextlib.contextmanager
def processes(jobs: int) -> Iterator[Executor]:
    """Processes that start afresh (JAX must not be forked), and end when this one does."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent) as executor:
        yield executor


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for tasks for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait_and_end, args=(parent.sentinel,), daemon=True).start()


def _wait_and_end(sentinel: int) -> None:
    wait_for_end([sentinel])
    os._exit(1)


@contextlib.contextmanager
def cluster(address: str) -> Iterator[tuple[Executor, int]]:
    """A Dask cluster's executor, and how many tasks it runs at a time."""
    try:
        from dask.distributed import Client
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("--dask needs dask: pip install 'steinwise[cluster]'") from error
    with Client(address) as client:
        threads = client.nthreads()
        assert isinstance(threads, dict)  # not a coroutine: the client is not asynchronous
        yield client.get_executor(), sum(threads.values())
