"""The mean over pairs of draws of a product of features, in linear time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.memory import chunks
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import Batches
from steinwise.draws.chain_diagnostics import MOST_COLUMNS
from steinwise.draws.storage import add_rows
from steinwise.methods.statistics.base import AbstractStatistic


@dataclass(frozen=True, eq=False)
class FeatureProduct(AbstractStatistic):
    """The mean over pairs i != l of <left(x_i), right(x_l)>.

    `features(part)` gives the two arrays (rows, setting, coordinate, feature) for a slice of the
    draws, so that they never exist for all draws at once.
    """

    n: int
    features: Callable[[slice], tuple[np.ndarray, np.ndarray]]
    rows_per_chunk: int

    @property
    def most_batches(self) -> int:
        return 250

    def monitored_columns(self, start: int, x: np.ndarray) -> np.ndarray:
        parts = (
            slice(start + p.start, start + p.stop) for p in chunks(len(x), self.rows_per_chunk)
        )
        return np.concatenate([self._columns(part) for part in parts])

    def mean_over_pairs(self) -> Float[np.ndarray, "setting coordinate"]:
        """The statistic itself, over all pairs of different draws."""
        totals, own = [0.0, 0.0], 0.0
        for part in self._parts():
            pair = self.features(part)
            totals = [total + side.sum(axis=0) for total, side in zip(totals, pair, strict=True)]
            own += np.einsum("nskf,nskf->sk", *pair)
        return (np.einsum("skf,skf->sk", *totals) - own) / (self.n * (self.n - 1))

    def _columns(self, part: slice) -> np.ndarray:
        left, right = self.features(part)
        flat = np.concatenate([left.reshape(len(left), -1), right.reshape(len(right), -1)], axis=1)
        return flat[:, evenly_spaced_indices(flat.shape[1], MOST_COLUMNS)]

    def _parts(self) -> Iterator[slice]:
        return chunks(self.n, self.rows_per_chunk)

    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        sums: list[np.ndarray] | None = None
        for part in self._parts():
            pair = self.features(part)
            if sums is None:
                sums = [np.zeros((batches.count, *side.shape[1:])) for side in pair]
            for total, side in zip(sums, pair, strict=True):
                add_rows(total, side, part.start, batches.bounds)
        assert sums is not None
        left, right = (np.moveaxis(side, 0, 2) for side in sums)  # (setting, coordinate, G, f)
        yield BatchSums(left @ np.swapaxes(right, -1, -2), batches)
