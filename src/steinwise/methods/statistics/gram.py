"""The mean over pairs of draws of a symmetric function of two draws, in tiles."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from steinwise._internal.compiled import call_in_chunks, precision, rows_of
from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.memory import chunks
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import Batches
from steinwise.methods.statistics.base import AbstractStatistic

LARGEST_TILE = 1024  # rows: larger ones leave the cache
OTHERS = 1000  # draws that stand for all in the pairs of one


@dataclass(frozen=True, eq=False)
class Gram(AbstractStatistic):
    """The mean over pairs i != l of a symmetric function of two draws, in tiles.

    The function of a draw with itself is in no sum: for one far draw it can be larger than all else
    by more digits than a float has, and could not be taken out again. `diagonal` has it.

    `function(parameters, rows, other_rows)` gives the tile (setting, row, other row); `rows` is a
    tuple of arrays with one row per draw (the draws, their scores). It is compiled once per shape,
    so it must be a function that stays the same between calls; what varies goes into `parameters`.
    Every setting is a family of its own if they have names.
    """

    function: Callable[[Any, tuple, tuple], Array]
    parameters: Any
    rows: tuple[np.ndarray, ...]
    monitored: Float[np.ndarray, "n q"]
    memory: int
    names: tuple[str, ...] = ("",)
    batches_at_most: int = 250

    @property
    def most_batches(self) -> int:
        return self.batches_at_most

    def monitored_columns(
        self, start: int, x: np.ndarray, _: np.ndarray | None = None, /
    ) -> np.ndarray:
        return self.monitored[start : start + len(x)]

    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        for name, sums in zip(self.names, self._tiles(batches), strict=True):
            yield BatchSums(sums[None, None], batches, name)

    def diagonal(self) -> Float[np.ndarray, "setting n"]:
        """The function of every draw with itself."""
        with precision():
            return np.asarray(_diagonal(self.function, self.parameters, self.rows))

    def means_over_pairs(self) -> Float[np.ndarray, "n 1"]:
        """The mean over the pairs of each draw, of the first setting.

        With at most a thousand other draws, evenly spaced, so that the cost is linear in n.
        """
        n = len(self.rows[0])
        others = evenly_spaced_indices(n, OTHERS)
        among = np.isin(np.arange(n), others)
        return (self._sums_with(others) / (len(others) - among))[:, None]

    def _sums_with(self, others: Int[np.ndarray, " m"]) -> Float[np.ndarray, " n"]:
        """For every draw the sum of the function of it and some others, of the first setting."""
        side = int(np.clip(self.memory // (8 * 8 * len(others)), 1, LARGEST_TILE))
        right = tuple(array[others][None] for array in self.rows)
        weights = np.ones((side, 1)), np.ones((1, len(others)))

        def sums(numbers: np.ndarray, *rows: np.ndarray) -> Array:
            left = tuple(array[:, None] for array in rows)
            pair = numbers[:, None], others[None]
            return _tile_sums(self.function, self.parameters, left, right, *weights, *pair)[0, :, 0]

        n = len(self.rows[0])
        found = call_in_chunks(sums, rows_of(np.arange(n), *self.rows), n, side)
        return found.astype(np.float64)

    def _tiles(self, batches: Batches) -> np.ndarray:
        numbers = np.arange(len(self.rows[0]))
        padded = [batches.padded(array) for array in (numbers, *self.rows)]
        arrays, weight = tuple(array for array, _ in padded), padded[0][1]
        longest = weight.shape[1]
        side = int(np.clip(np.sqrt(self.memory / (8 * 8)), 1, LARGEST_TILE))  # room for 8 tiles
        per_tile = max(1, min(side // longest, batches.count))
        # batches of weight 0 fill the last tile, so that all tiles have one shape
        missing = -len(weight) % per_tile
        fill = [np.broadcast_to(a[:1], (missing, *a.shape[1:])) for a in arrays]
        arrays = tuple(np.concatenate(pair) for pair in zip(arrays, fill, strict=True))
        weight = np.concatenate([weight, np.zeros((missing, longest))])
        out = np.zeros((len(self.names), len(weight), len(weight)))
        parts = list(chunks(len(weight), per_tile))
        with precision():
            for a, rows in enumerate(parts):
                for columns in parts[a:]:
                    numbers, *left = (array[rows] for array in arrays)
                    other_numbers, *right = (array[columns] for array in arrays)
                    tile = _tile_sums(
                        self.function,
                        self.parameters,
                        tuple(left),
                        tuple(right),
                        weight[rows],
                        weight[columns],
                        numbers,
                        other_numbers,
                    )
                    out[:, rows, columns] = tile
                    out[:, columns, rows] = np.swapaxes(out[:, rows, columns], 1, 2)
        return out[:, : batches.count, : batches.count]


def draws_and_scores(
    x: Float[np.ndarray, "n d"],
    scores: Float[np.ndarray, "n d"],
    centre: Float[np.ndarray, " d"] | None = None,
) -> np.ndarray:
    """What decides the batch length: a degenerate pair statistic averages functions of these."""
    middle = x.mean(axis=0) if centre is None else centre
    return np.concatenate([x, scores, (x - middle) ** 2], axis=1)


@partial(jax.jit, static_argnums=0)
def _tile_sums(
    function, parameters, left, right, weight_left, weight_right, numbers, other_numbers
) -> Array:
    """Sums of the function over pairs of batches; the arrays are (batches, longest, ...).

    Pairs of a draw with itself, which have the same number, are left out.
    """
    shape = (*weight_left.shape, *weight_right.shape)
    flat_left = tuple(array.reshape(-1, *array.shape[2:]) for array in left)
    flat_right = tuple(array.reshape(-1, *array.shape[2:]) for array in right)
    tiles = function(parameters, flat_left, flat_right)
    itself = numbers.reshape(-1, 1) == other_numbers.reshape(1, -1)
    weights = (weight_left.astype(tiles.dtype), weight_right.astype(tiles.dtype))

    def summed(tile: Array) -> Array:
        others = jnp.where(itself, 0, tile).reshape(shape)  # one setting at a time, for the memory
        return jnp.einsum("al,albm,bm->ab", weights[0], others, weights[1])

    return jnp.stack([summed(tile) for tile in tiles])


@partial(jax.jit, static_argnums=0)
def _diagonal(function, parameters, rows) -> Array:
    def with_itself(row: tuple) -> Array:
        single = tuple(array[None] for array in row)
        return function(parameters, single, single)[:, 0, 0]

    return jax.lax.map(with_itself, rows, batch_size=1024).T
