"""From draws to batch sums: a mean of contributions, a product of features, a Gram matrix.

Calibration sees only these sums: a G-vector per setting and coordinate for a mean, a G x G
matrix for a pair statistic. Whatever the number of draws, the bootstrap costs the same.
"""

import abc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from steinwise.batches import Batches
from steinwise.memory import chunks
from steinwise.stored import add_rows

LARGEST_TILE = 1024  # rows: larger ones leave the cache


class Expected(NamedTuple):
    """What right draws lead to expect of a setting, and how much it counts beside what is seen.

    The squares of the sums of all pairs of batches, U_gh + U_hg, added up; the weight is 0 where
    they are not known.
    """

    squares: Float[np.ndarray, " setting"]
    weight: Float[np.ndarray, " setting"]

    def beside(self, seen: Float[np.ndarray, "setting *rest"]) -> np.ndarray:
        """Squares that are seen, drawn towards these."""
        shape = (-1, *[1] * (seen.ndim - 1))
        known, weight = (one.reshape(shape).astype(seen.dtype) for one in self)
        return (1 - weight) * seen + weight * known


@dataclass(frozen=True, eq=False)
class BatchSums:
    """Sums over batches for some coordinates: (setting, coordinate, G) or (..., G, G).

    A statistic may have several families of settings, and several groups of coordinates, each with
    its own families. The verdict on all coordinates together weighs several kinds of evidence: of
    each family the sum over coordinates, with the weight `dense`, and the largest coordinate, with
    the weight `sparse`; 0 leaves it out. A `two_sided` family is judged by its absolute value, and
    has no sum. What is `expected` steadies the scale of single coordinates.
    """

    values: np.ndarray
    batches: Batches
    family: str = ""
    group: str = ""
    dense: float = 1.0
    sparse: float = 0.0
    two_sided: bool = False
    expected: Expected | None = None

    @property
    def paired(self) -> bool:
        return self.values.ndim == 4


class AbstractStatistic(abc.ABC):
    """Something that is averaged over draws or over pairs of draws."""

    @property
    @abc.abstractmethod
    def most_batches(self) -> int:
        """The largest number of batches that is worth its cost."""

    @abc.abstractmethod
    def averaged(self, start: int, x: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m q"]:
        """Columns whose autocorrelation decides how long a batch of a chain must be.

        For the consecutive draws x, the first of which has the number `start`.
        """

    @abc.abstractmethod
    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        """The sums, some coordinates at a time."""

    def reached(self, batches: Batches) -> Batches:
        """The batches that `batch_sums` came to, before it was interrupted."""
        return batches

    def exact_pvalues(self) -> Float[np.ndarray, " k"] | None:
        """p-values of the coordinates that need no bootstrap, once `batch_sums` has been read."""
        return None


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

    def averaged(self, start: int, x: np.ndarray) -> np.ndarray:
        part = slice(start, start + len(x))
        if self.monitored is not None:
            return self.monitored[part]
        some = self.contributions[part]
        return np.concatenate([some.sum(axis=1, keepdims=True), some], axis=1)

    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        yield BatchSums(batches.sums(self.contributions).T[None], batches)

    def each_draw(self) -> Float[np.ndarray, "n k"]:
        """What each draw adds."""
        return self.contributions


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

    def averaged(self, start: int, x: np.ndarray) -> np.ndarray:
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
        from steinwise.chains import MOST_COLUMNS, evenly

        return flat[:, evenly(flat.shape[1], MOST_COLUMNS)]

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
