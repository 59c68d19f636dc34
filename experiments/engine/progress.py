"""How far a run is, and how long the rest will take."""

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from statistics import median

from tqdm import tqdm

from experiments.engine.records import Done
from experiments.engine.tasks import Cell, Task


class Progress:
    """A bar over all tasks with the time that is left, from the CPU seconds of each cell."""

    def __init__(self, tasks: Collection[Task], done: Mapping[Task, Done], workers: int) -> None:
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
