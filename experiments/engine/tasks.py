"""What a panel is: cells to repeat, a pure function that runs one repetition, and a figure.

A panel is a module of `experiments`, named in `experiments.PANELS`, with one object::

    PANEL = SomePanel(__name__, ...)          # a frozen dataclass that extends `Panel`

and its class says five things:

- ``cells(quick)``: every (method, setting) of the figure, with how often it is repeated;
- ``run(task)``: one repetition. A pure function of the task: all randomness comes from
  `task.draws_generator()`, which all methods of a setting and repetition share, and from
  `task.seed()`, which is the task's own. The outcome is a small dict of JSON values (numbers,
  text, None, lists of them; no NaN), `rounded` where digits are noise. No files, no
  clocks: the runner measures CPU seconds, and keeps them apart;
- ``summarise(found)``: from the outcomes of every cell, by repetition, to what
  ``results/NAME.json`` holds;
- ``figure(summary, seconds)``: ``figures/NAME.png``;
- ``measured(summary, seconds)``: the words and the table beside the figure, as Markdown.

The last three are called with whatever is recorded so far, once every cell has a record, so that a
run cut short gives a whole figure with fewer repetitions: say in the figure how many there are.
`seconds` has the CPU seconds of every cell's tasks.

Records belong to a **study**. Panels with the same `study` share tasks: a cell that two panels
show is run once. They must have the same `run`.

A panel with ``timed = True`` has its tasks run one at a time and each of them twice: the first run
compiles, the second is measured.

JAX and steinwise load when a panel's module does, which the main process does too: the runner
never forks.
"""

import abc
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Value = int | float | str
Outcome = dict[str, Any]
Found = Mapping["Cell", Sequence[Outcome]]
Seconds = Mapping["Cell", Sequence[float]]


@dataclass(frozen=True, order=True)
class Cell:
    """A method in a setting: what is repeated.

    >>> one = cell("KSD", n=1000, d=30)
    >>> one.setting, one["d"]
    ((('d', 30), ('n', 1000)), 30)
    """

    method: str
    setting: tuple[tuple[str, Value], ...]

    def __getitem__(self, name: str) -> Any:
        return dict(self.setting)[name]

    def __str__(self) -> str:
        return ", ".join([self.method, *(f"{name} = {value}" for name, value in self.setting)])


def cell(method: str, **setting: Value) -> Cell:
    """A cell; the order in which its setting is written does not matter."""
    return Cell(method, tuple(sorted(setting.items())))


@dataclass(frozen=True, order=True)
class Task:
    """One repetition of a cell of a study."""

    study: str
    cell: Cell
    repetition: int

    def __getitem__(self, name: str) -> Any:
        return self.cell[name]

    def __str__(self) -> str:
        return f"{self.study}: {self.cell}, repetition {self.repetition}"

    def draws_generator(self) -> np.random.Generator:
        """The random numbers of the draws: of this study, setting and repetition."""
        return np.random.default_rng(self._entropy(self.study, *self.cell.setting))

    def seed(self) -> int:
        """The task's own, for all that a method does with the draws."""
        words = self._entropy(self.study, self.cell.method, *self.cell.setting)
        return int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0] >> 1)

    def _entropy(self, *words: object) -> list[int]:
        return [zlib.crc32(repr(words).encode()), self.repetition]


def rounded(value: Any, digits: int = 5) -> float:
    """To so many digits: the others are noise, and make records large.

    >>> rounded(12345.678), rounded(0.00123456, digits=2)
    (12346.0, 0.0012)
    """
    return float(f"{value:.{digits}g}")


@dataclass(frozen=True)
class Panel(abc.ABC):
    """A figure of the paper: see the head of this file."""

    module: str  # where PANEL is found, also by another process
    study: str
    timed: bool = False

    @property
    def name(self) -> str:
        return self.module.rpartition(".")[2]

    @abc.abstractmethod
    def cells(self, quick: bool) -> Mapping[Cell, int]:
        """How often each is repeated; with `quick` a few small ones, for a test in seconds."""

    @abc.abstractmethod
    def run(self, task: Task) -> Outcome:
        """One repetition; pure."""

    @abc.abstractmethod
    def summarise(self, found: Found) -> dict[str, Any]:
        """What ``results/NAME.json`` holds."""

    @abc.abstractmethod
    def figure(self, summary: dict[str, Any], seconds: Seconds) -> "Figure":
        """What ``figures/NAME.png`` shows."""

    @abc.abstractmethod
    def measured(self, summary: dict[str, Any], seconds: Seconds) -> str:
        """The figures in words and as a table, in Markdown."""
