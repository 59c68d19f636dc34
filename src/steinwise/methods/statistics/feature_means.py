"""Means over draws of many features, whose powers are summed: the statistic of RPhiSD."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.memory import chunks
from steinwise._internal.random import stream
from steinwise._internal.threads import one_blas_thread
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import Batches
from steinwise.calibration.jackknife import jackknife_error
from steinwise.draws.chain_diagnostics import MOST_COLUMNS
from steinwise.draws.storage import add_rows
from steinwise.methods.statistics.base import AbstractStatistic


class ScoredRows(NamedTuple):
    """Draws and the scores of the target at them."""

    rows: Float[np.ndarray, "n d"]
    scores: Float[np.ndarray, "n d"]


@dataclass(frozen=True, eq=False)
class FeatureMeans(AbstractStatistic):
    r"""Means over draws of (M nu(Z_m))^{-1/r} (T_j Phi)(x, Z_m), divided by exp(log_unit)."""

    scored: ScoredRows
    features: Callable[[np.ndarray, np.ndarray], np.ndarray]  # of draws and scores: (rows, d, m)
    order: int  # r
    log_unit: float
    rows_per_chunk: int
    reference: ScoredRows | None = None  # draws of the target

    @property
    def most_batches(self) -> int:
        return 1000

    def monitored_columns(
        self, start: int, x: np.ndarray, _: np.ndarray | None = None, /
    ) -> np.ndarray:
        """The features and the draws: a feature that few draws decide shows no dependence."""
        part = ScoredRows(x, self.scored.scores[start : start + len(x)])
        columns = [self._columns(features) for _, features in self._parts(part)]
        return np.concatenate([x, np.concatenate(columns)], axis=1)

    @staticmethod
    def _columns(features: np.ndarray) -> np.ndarray:
        flat = features.reshape(len(features), -1)
        return flat[:, evenly_spaced_indices(flat.shape[1], MOST_COLUMNS)]

    def _parts(self, scored: ScoredRows) -> Iterator[tuple[int, np.ndarray]]:
        """The features of all rows, in chunks, with the index of the first row."""
        for part in chunks(len(scored.rows), self.rows_per_chunk):
            yield part.start, self.features(scored.rows[part], scored.scores[part])

    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        total = None
        for start, features in self._parts(self.scored):
            total = np.zeros((batches.count, *features.shape[1:])) if total is None else total
            add_rows(total, features, start, batches.bounds)
        assert total is not None
        yield BatchSums(total.T, batches, two_sided=True)

    def sums_by_coordinate(self, batches: Batches) -> Float[np.ndarray, "d batch m"]:
        """The sums over batches of every feature, coordinate by coordinate."""
        (sums,) = self.batch_sums(batches)
        return np.moveaxis(sums.values, 0, 2)

    def log_squares(self) -> Float[np.ndarray, " d"]:
        r"""log of every coordinate's part of RPhiSD^2; the log of their sum is 2 log RPhiSD."""
        sums = [features.sum(axis=0, dtype=np.float64) for _, features in self._parts(self.scored)]
        means = np.sum(sums, axis=0) / len(self.scored.rows)
        with np.errstate(divide="ignore"):
            return np.log(squares(means, self.order)) + 2 * self.log_unit

    def standard_error(self, batches: Batches) -> float:
        """Of RPhiSD, by leaving out each batch in turn."""
        sums = self.sums_by_coordinate(batches)
        remaining = (len(self.scored.rows) - batches.lengths)[:, None]
        rest = (sums.sum(axis=1, keepdims=True) - sums) / remaining
        without = np.sqrt(squares(rest, self.order).sum(axis=0))
        with np.errstate(divide="ignore", over="ignore"):  # in logarithms, as the value
            return float(np.exp(self.log_unit + np.log(jackknife_error(without))))

    def under_target(
        self, count: int, seed: object
    ) -> tuple[Float[np.ndarray, "l d m"], Float[np.ndarray, "d m"]]:
        """Normal sums with the second moments of the target's features, and their spread.

        Features of N draws of the target times N standard normal numbers have those moments, and no
        matrix of d M rows is ever made.
        """
        assert self.reference is not None
        rng = stream(seed, "target null")
        null, second = 0.0, 0.0
        for _, features in self._parts(self.reference):
            features = features.astype(np.float64)
            null += _product(rng.standard_normal((len(features), count)), features)
            second += (features**2).sum(axis=0)
        share = len(self.scored.rows) / len(self.reference.rows)
        return np.sqrt(share) * null, np.sqrt(share * second)


@one_blas_thread
def _product(
    normal: Float[np.ndarray, "rows l"], features: Float[np.ndarray, "rows d m"]
) -> Float[np.ndarray, "l d m"]:
    return np.tensordot(normal, features, axes=(0, 0))


def squares(means: Float[np.ndarray, "*k m"], order: int) -> Float[np.ndarray, "*k"]:
    """(sum_m |mean_m|^r)^(2/r), over the last axis."""
    return (np.abs(means) ** order).sum(axis=-1) ** (2 / order)
