"""How a computation is carried out: seed, memory, precision, progress."""

import os
import sys
import warnings
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from steinwise._internal.validation import require_flag

if TYPE_CHECKING:
    from tqdm import tqdm

_Step = TypeVar("_Step")
ASSUMED_SIZE = {"ncols": 80, "nrows": 24}  # of a terminal that does not know its own


@dataclass(frozen=True)
class RunOptions:
    """How a computation is carried out; only the seed and the precision change its numbers."""

    seed: object = 0
    memory: int = 2**30  # bytes for working arrays
    dtype: str = "float64"  # of the bulk of the arithmetic
    progress: bool | None = None  # None: on a terminal, and in a notebook

    def __post_init__(self) -> None:
        if self.progress is not None:
            require_flag("progress", self.progress)

    @property
    def shows_progress(self) -> bool:
        """Whether progress bars are shown."""
        if self.progress is not None:
            return self.progress
        return (sys.stderr is not None and sys.stderr.isatty()) or _in_notebook()

    def announce(self, text: str) -> None:
        """Say something about the progress, above the bars."""
        from tqdm import tqdm

        tqdm.write(text, file=sys.stderr)

    def stage(self, label: str) -> AbstractContextManager[Any]:
        """Where progress is shown, a line that says what is done, as long as it is done.

        For what has no steps to count, such as compilation.
        """
        # without a total: a notebook shows a bar that does not reach it as failed
        return self._tqdm(desc=f"{label} ...", bar_format="{desc}")

    def bar(self, steps: Iterable[_Step], total: int, label: str) -> Iterable[_Step]:
        """The steps, with a progress bar that follows them."""
        return self._tqdm(steps, total=total, desc=label)

    def meter(self, total: int, unit: str, label: str) -> "tqdm":
        """A progress bar that the caller updates, with an estimate of the remaining time."""
        return self._tqdm(total=total, unit=unit, unit_scale=True, desc=label)

    def _tqdm(self, *steps: Any, **options: Any) -> "tqdm":
        if not self.shows_progress:
            from tqdm import tqdm

            return tqdm(*steps, disable=True, **options)
        with warnings.catch_warnings():
            from tqdm import TqdmWarning

            # in a notebook without ipywidgets: bars are text there, which needs no repair
            warnings.simplefilter("ignore", TqdmWarning)
            from tqdm.auto import tqdm

        return tqdm(*steps, leave=False, **options, **({} if _size_is_known() else ASSUMED_SIZE))


def _size_is_known() -> bool:
    """Whether the terminal has a size: in one of 0 columns, as of `script`, no bar would show."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns > 0
    except (OSError, ValueError, AttributeError):  # no terminal: a notebook, a file, a test
        return True


def _in_notebook() -> bool:
    """Whether this runs in a kernel of Jupyter, whose output is no terminal."""
    shell = sys.modules.get("IPython")
    found = None if shell is None else shell.get_ipython()
    return found is not None and getattr(found, "kernel", None) is not None
