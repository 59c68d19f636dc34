"""For each coordinate the mean over pairs of draws of a function of its own."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from steinwise._internal.memory import chunks
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import Batches
from steinwise.methods.statistics.base import AbstractStatistic
from steinwise.methods.statistics.gram import Gram


@dataclass(frozen=True, eq=False)
class GramPerCoordinate(AbstractStatistic):
    """A `Gram` for each coordinate, all of one compiled function."""

    grams: tuple[Gram, ...]

    @property
    def most_batches(self) -> int:
        return self.grams[0].most_batches

    def monitored_columns(
        self, start: int, x: np.ndarray, _: np.ndarray | None = None, /
    ) -> Float[np.ndarray, "m q"]:
        return self.grams[0].monitored_columns(start, x)

    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        per_block = self.grams[0].memory // (8 * 8 * batches.count**2)  # room for 8 copies
        for part in chunks(len(self.grams), per_block):
            sums = (sums for gram in self.grams[part] for sums in gram.batch_sums(batches))
            yield BatchSums(np.concatenate([one.values for one in sums], axis=1), batches)

    def diagonal(self) -> Float[np.ndarray, "n d"]:
        """The function of each coordinate of every draw with itself."""
        return np.concatenate([gram.diagonal() for gram in self.grams]).T
