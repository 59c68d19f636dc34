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

    def monitored_columns(
        self, start: int, x: np.ndarray, _: np.ndarray | None = None, /
    ) -> np.ndarray:
        parts = (
            slice(start + p.start, start + p.stop) for p in chunks(len(x), self.rows_per_chunk)
        )
        return np.concatenate([self._columns(part) for part in parts])

    def mean_over_pairs(self) -> Float[np.ndarray, "setting coordinate"]:
        """The statistic itself, over all pairs of different draws.

        Every draw is multiplied by the sums of those before it: no product of a draw with itself is
        added, which could not be taken out again where one draw is far from the others.
        """
        total, before = 0.0, None
        for part in self._parts():
            left, right = self.features(part)
            before = (np.zeros(left.shape[1:]),) * 2 if before is None else before
            sums = [
                sums_before(side, start) for side, start in zip((left, right), before, strict=True)
            ]
            total += np.einsum("nskf,nskf->sk", left, sums[1][:-1])
            total += np.einsum("nskf,nskf->sk", sums[0][:-1], right)
            before = sums[0][-1], sums[1][-1]
        return np.asarray(total) / (self.n * (self.n - 1))

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


def sums_before(
    rows: Float[np.ndarray, "n *rest"], start: Float[np.ndarray, "*rest"]
) -> Float[np.ndarray, "n+1 *rest"]:
    """`start` plus the sum of the rows before each row, and last that of all rows.

    >>> sums_before(np.array([1.0, 2.0, 3.0]), np.array(10.0)).tolist()
    [10.0, 11.0, 13.0, 16.0]
    """
    return np.cumsum(np.concatenate([start[None], rows]), axis=0, dtype=np.float64)
