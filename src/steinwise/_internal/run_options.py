"""How a computation is carried out."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from tqdm import tqdm

_Step = TypeVar("_Step")


@dataclass(frozen=True)
class RunOptions:
    """How a computation is to be carried out; only the seed and the precision change numbers."""

    seed: object = 0
    memory: int = 2**30
    dtype: str = "float64"  # of the bulk
    progress: bool | None = None  # None: on a terminal only

    def meter(self, total: int, unit: str, what: str) -> "tqdm":
        """A progress bar to be moved by hand, with an estimate of the time that is left."""
        from tqdm import tqdm

        hidden = None if self.progress is None else not self.progress
        return tqdm(total=total, unit=unit, unit_scale=True, desc=what, disable=hidden, leave=False)

    def bar(self, steps: Iterable[_Step], total: int, what: str) -> Iterable[_Step]:
        """The steps, with a progress bar."""
        from tqdm import tqdm

        hidden = None if self.progress is None else not self.progress
        return tqdm(steps, total=total, desc=what, disable=hidden, leave=False)
