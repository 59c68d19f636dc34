"""How far a run has come, and how long the rest will take."""

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from statistics import median

from tqdm import tqdm

from experiments.engine.records import Done
from experiments.engine.tasks import Cell, Task


class Progress:
    """A bar over all tasks, with the time left as estimated from the CPU seconds of each cell."""

    def __init__(self, tasks: Collection[Task], done: Mapping[Task, Done], workers: int) -> None:
        self.left = Counter(task.cell for task in tasks if task not in done)
        self.seconds: dict[Cell, list[float]] = {}
        for task, result in done.items():
            self._add(task.cell, result.seconds)
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
        self._add(task.cell, result.seconds)
        self.spent += result.seconds or 0.0
        self.bar.set_postfix_str(self.estimate(), refresh=False)
        self.bar.update()

    def _add(self, cell: Cell, seconds: float | None) -> None:
        if seconds is not None:
            self.seconds.setdefault(cell, []).append(seconds)

    def estimate(self) -> str:
        needed = seconds_needed(self.left, self.seconds)
        if needed is None:
            return "no estimate yet"
        # elapsed seconds for each CPU second: there are other processes, compilation, and tasks
        # that run one at a time
        ratio = 1 / self.workers
        if self.spent:
            ratio = max(ratio, (time.monotonic() - self.began) / self.spent)
        return f"about {_duration(needed * ratio)} left"


def seconds_needed(
    left: Mapping[Cell, int], seconds: Mapping[Cell, Sequence[float]]
) -> float | None:
    """CPU seconds of the tasks that are left; None while no task has finished.

    For a cell without any finished task the mean of the method's other cells is taken, or of all.

    >>> from experiments.engine.tasks import make_cell
    >>> near, far, other = make_cell("a", d=2), make_cell("a", d=3), make_cell("b", d=2)
    >>> seconds_needed({near: 10, far: 1, other: 1}, {near: [2.0, 4.0, 3.0], other: [1.0]})
    34.0
    """
    medians = {cell: median(times) for cell, times in seconds.items() if times}
    if not medians:
        return None
    by_method: dict[str, list[float]] = {}
    for cell, typical in medians.items():
        by_method.setdefault(cell.method, []).append(typical)
    total = 0.0
    for cell, count in left.items():
        similar = by_method.get(cell.method, list(medians.values()))
        total += count * (medians[cell] if cell in medians else sum(similar) / len(similar))
    return total


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 2:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
