"""What every statistic gives: its batch sums, and the columns that decide how long a batch is."""

import abc
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import Batches


class AbstractStatistic(abc.ABC):
    """Something that is averaged over draws or over pairs of draws."""

    @property
    @abc.abstractmethod
    def most_batches(self) -> int:
        """The largest number of batches that is worth its cost."""

    @abc.abstractmethod
    def monitored_columns(
        self,
        start: int,
        x: Float[np.ndarray, "m d"],
        scores: Float[np.ndarray, "m d"] | None = None,
        /,
    ) -> Float[np.ndarray, "m q"]:
        """Columns whose autocorrelation decides how long a batch of a chain must be.

        For the consecutive draws x, beginning with draw number `start`; with their scores, where
        these are known.
        """

    @abc.abstractmethod
    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        """The sums over batches, some coordinates at a time."""
