"""How a computation is carried out: seed, memory, precision, progress."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tqdm import tqdm

_Step = TypeVar("_Step")


@dataclass(frozen=True)
class RunOptions:
    """How a computation is carried out; only the seed and the precision change its numbers."""

    seed: object = 0
    memory: int = 2**30  # bytes for working arrays
    dtype: str = "float64"  # of the bulk of the arithmetic
    progress: bool | None = None  # None: on a terminal only

    def bar(self, steps: Iterable[_Step], total: int, label: str) -> Iterable[_Step]:
        """The steps, with a progress bar that follows them."""
        return self._tqdm(steps, total=total, desc=label)

    def meter(self, total: int, unit: str, label: str) -> "tqdm":
        """A progress bar that the caller updates, with an estimate of the remaining time."""
        return self._tqdm(total=total, unit=unit, unit_scale=True, desc=label)

    def _tqdm(self, *steps: Any, **options: Any) -> "tqdm":
        from tqdm import tqdm

        hidden = None if self.progress is None else not self.progress
        return tqdm(*steps, disable=hidden, leave=False, **options)
