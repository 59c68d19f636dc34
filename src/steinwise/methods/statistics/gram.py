"""The mean over pairs of draws of a symmetric function of two draws, in tiles."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

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

    def averaged(self, start: int, x: np.ndarray) -> np.ndarray:
        return self.monitored[start : start + len(x)]

    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        for name, sums in zip(self.names, self._tiles(batches), strict=True):
            yield BatchSums(sums[None, None], batches, name)

    def diagonal(self) -> Float[np.ndarray, "setting n"]:
        """The function of every draw with itself."""
        with jax.enable_x64(True):
            return np.asarray(_diagonal(self.function, self.parameters, self.rows))

    def sums_with(self, others: Int[np.ndarray, " m"]) -> Float[np.ndarray, " n"]:
        """For every draw the sum of the function of it and some others, of the first setting."""
        n = len(self.rows[0])
        side = int(np.clip(self.memory // (8 * 8 * len(others)), 1, LARGEST_TILE))
        right = tuple(array[others][None] for array in self.rows)
        out, weights = np.empty(n), (np.ones((side, 1)), np.ones((1, len(others))))
        with jax.enable_x64(True):
            for part in chunks(n, side):
                # repeated rows fill the last tile, so that all tiles have one shape
                index = np.resize(np.arange(part.start, part.stop), side)
                left = tuple(array[index][:, None] for array in self.rows)
                found = _tile_sums(self.function, self.parameters, left, right, *weights)
                out[part] = np.asarray(found)[0, : part.stop - part.start, 0]
        return out

    def _tiles(self, batches: Batches) -> np.ndarray:
        padded = [batches.padded(array) for array in self.rows]
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
        with jax.enable_x64(True):
            for a, one in enumerate(parts):
                for other in parts[a:]:
                    tile = _tile_sums(
                        self.function,
                        self.parameters,
                        tuple(array[one] for array in arrays),
                        tuple(array[other] for array in arrays),
                        weight[one],
                        weight[other],
                    )
                    out[:, one, other] = tile
                    out[:, other, one] = np.swapaxes(out[:, one, other], 1, 2)
        return out[:, : batches.count, : batches.count]


@partial(jax.jit, static_argnums=0)
def _tile_sums(function, parameters, left, right, weight_left, weight_right) -> Array:
    """Sums of the function over pairs of batches; the arrays are (batches, longest, ...)."""
    shape = (*weight_left.shape, *weight_right.shape)
    flat_left = tuple(array.reshape(-1, *array.shape[2:]) for array in left)
    flat_right = tuple(array.reshape(-1, *array.shape[2:]) for array in right)
    tiles = function(parameters, flat_left, flat_right)
    one, other = (weight.astype(tiles.dtype) for weight in (weight_left, weight_right))

    def summed(tile: Array) -> Array:
        return jnp.einsum("al,albm,bm->ab", one, tile.reshape(shape), other)

    return jnp.stack([summed(tile) for tile in tiles])


@partial(jax.jit, static_argnums=0)
def _diagonal(function, parameters, rows) -> Array:
    def one(row: tuple) -> Array:
        alone = tuple(array[None] for array in row)
        return function(parameters, alone, alone)[:, 0, 0]

    return jax.lax.map(one, rows, batch_size=1024).T


def pair_parts(gram: Gram) -> Float[np.ndarray, "n 1"]:
    """The mean of a pair statistic over the pairs of each draw.

    With at most a thousand other draws, evenly spread, so that the cost is linear in n.
    """
    n = len(gram.rows[0])
    others = evenly_spaced_indices(n, OTHERS)
    own = gram.diagonal()[0]
    out = gram.sums_with(others)
    among = np.isin(np.arange(n), others)
    return ((out - np.where(among, own, 0.0)) / (len(others) - among))[:, None]
