"""What a panel is: cells to repeat, a pure function that runs one repetition, and a figure.

A panel is a module of `experiments`, listed in `experiments.PANELS`, with one object::

    PANEL = SomePanel(__name__, ...)          # a frozen dataclass that extends `Panel`

Its class has five methods:

- ``cells(quick)``: every (method, setting) of the figure, with its number of repetitions;
- ``run(task)``: one repetition. This is a pure function of the task: all randomness comes from
  `task.draws_generator()`, which all methods of a setting and repetition share, and from
  `task.seed()`, which belongs to this task alone. The outcome is a small dict of JSON values
  (numbers, strings, None, and lists of these; no NaN), `rounded` where further digits are noise.
  No files and no clocks: the runner measures CPU seconds and stores them separately;
- ``summarise(outcomes)``: turns the outcomes of every cell, in the order of the repetitions, into
  the content of ``results/NAME.json``;
- ``figure(summary, seconds)``: the figure for ``figures/NAME.png``;
- ``measured(summary, seconds)``: the text and the table below the figure, as Markdown.

The last three are called as soon as every cell has a record, with whatever is recorded by then. So
a run that was cut short gives a complete figure with fewer repetitions: state their number in the
figure. `seconds` has the CPU seconds of every cell's tasks.

Records belong to a **study**. Panels with the same `study` share tasks, so that a cell shown by two
panels is run once. Such panels must have the same `run`.

The tasks of a panel with ``timed = True`` are run one at a time, and each of them twice: the first
run compiles, the second is measured.

JAX and steinwise are imported together with a panel's module, in the main process too: the runner
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
Outcomes = Mapping["Cell", Sequence[Outcome]]  # in the order of the repetitions
Times = Mapping["Cell", Sequence[float]]  # CPU seconds


@dataclass(frozen=True, order=True)
class Cell:
    """A method in a setting, which is repeated.

    >>> cell = make_cell("KSD", n=1000, d=30)
    >>> cell.setting, cell["d"]
    ((('d', 30), ('n', 1000)), 30)
    """

    method: str
    setting: tuple[tuple[str, Value], ...]

    def __getitem__(self, name: str) -> Any:
        return dict(self.setting)[name]

    def __str__(self) -> str:
        return ", ".join([self.method, *(f"{name} = {value}" for name, value in self.setting)])


def make_cell(method: str, **setting: Value) -> Cell:
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
        """The random numbers for the draws, which depend on study, setting and repetition."""
        return np.random.default_rng(self._entropy(self.study, *self.cell.setting))

    def seed(self) -> int:
        """The seed of this task alone, for everything that a method does with the draws."""
        entropy = self._entropy(self.study, self.cell.method, *self.cell.setting)
        return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> 1)

    def _entropy(self, *identity: object) -> list[int]:
        return [zlib.crc32(repr(identity).encode()), self.repetition]


def rounded(value: Any, digits: int = 5) -> float:
    """The value to this many digits: further ones are noise, and make the records large.

    >>> rounded(12345.678), rounded(0.00123456, digits=2)
    (12346.0, 0.0012)
    """
    return float(f"{value:.{digits}g}")


@dataclass(frozen=True)
class Panel(abc.ABC):
    """A figure of the paper; see the top of this file."""

    module: str  # that has the PANEL, for other processes to import
    study: str
    timed: bool = False

    @property
    def name(self) -> str:
        return self.module.rpartition(".")[2]

    @abc.abstractmethod
    def cells(self, quick: bool) -> Mapping[Cell, int]:
        """The repetitions of each cell; with `quick` a few small cells that run in seconds."""

    @abc.abstractmethod
    def run(self, task: Task) -> Outcome:
        """One repetition, as a pure function of the task."""

    @abc.abstractmethod
    def summarise(self, outcomes: Outcomes) -> dict[str, Any]:
        """The content of ``results/NAME.json``."""

    @abc.abstractmethod
    def figure(self, summary: dict[str, Any], seconds: Times) -> "Figure":
        """The figure for ``figures/NAME.png``."""

    @abc.abstractmethod
    def measured(self, summary: dict[str, Any], seconds: Times) -> str:
        """The measured values as text and a table, in Markdown."""
