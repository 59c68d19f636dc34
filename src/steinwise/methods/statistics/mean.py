"""The mean over draws of what each of them adds."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import Batches
from steinwise.methods.statistics.base import AbstractStatistic


@dataclass(frozen=True, eq=False)
class Mean(AbstractStatistic):
    """The mean over draws of contributions, one column per coordinate; their sum is tested.

    Their own autocorrelation decides how long a batch is, unless something else is `monitored`.
    """

    contributions: Float[np.ndarray, "n k"]
    monitored: Float[np.ndarray, "n q"] | None = None

    @property
    def most_batches(self) -> int:
        return 1000

    def monitored_columns(
        self, start: int, x: np.ndarray, _: np.ndarray | None = None, /
    ) -> np.ndarray:
        part = slice(start, start + len(x))
        if self.monitored is not None:
            return self.monitored[part]
        rows = self.contributions[part]
        return np.concatenate([rows.sum(axis=1, keepdims=True), rows], axis=1)

    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        yield BatchSums(batches.sums(self.contributions).T[None], batches)

    def each_draw(self) -> Float[np.ndarray, "n k"]:
        """What each draw adds."""
        return self.contributions
