"""Sums over pairs of draws of a kernel and of its Stein kernel, tile by tile.

Neither the kernel nor the draws depend on the parameters of a fit, so what is computed from them
alone is kept, and is valid as long as nobody writes into the array of draws.
"""

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from steinwise._internal.compiled import precision
from steinwise._internal.memory import chunks
from steinwise.kernels import AbstractKernel
from steinwise.kernels.precision import in_precision_of

TILE_SIDE = 512  # draws: a tile and its derivatives, 2 MB each, stay near the processor's cache
TILE_COPIES = 16  # arrays of a tile's size that its derivatives may take, when memory is short
# Kernel matrices that must fit into the memory for one to be kept: the pairs of a fit, the set of
# all pairs, and as much again for everything else.
GRAM_COPIES = 4

Rows = Float[np.ndarray, "n d"]
Tile = tuple[slice, slice, np.ndarray]


@dataclass(frozen=True, eq=False)
class KernelPairs:
    """A kernel between draws, summed over the pairs from certain pairs of batches."""

    kernel: AbstractKernel
    x: Rows
    batch: Int[np.ndarray, " n"]  # of every draw
    counted: Bool[np.ndarray, "batch batch"]  # pairs of batches
    memory: int
    wide: bool  # 64 bit

    def stein_form(self, scores: Rows) -> tuple[float, Rows]:
        """The sum of the Stein kernel over pairs, and half of its gradient in the scores.

        A quadratic form in the scores, whose constants are computed once.
        """
        constant, slope = self._form_at_zero
        half_gradient = slope + self.times(scores)
        return constant + float(np.sum(scores * (slope + half_gradient))), half_gradient

    def times(self, vectors: Rows) -> Rows:
        """sum_i k(x_i, x_l) vectors_i over the pairs that count."""
        out = np.zeros_like(vectors)
        for rows, columns, gram in self._grams():
            out[columns] += gram.T @ vectors[rows]
        return out

    def row_sums(self, scores: Rows, tangent: Rows) -> Float[np.ndarray, " n"]:
        """For every x the sum over y of the Stein kernel's part that is linear in y's score.

        `tangent` stands in the place of that score: a derivative of scores in a parameter.
        """
        out = np.zeros(len(scores))
        with precision(self.wide):
            for rows, columns, counts in self._tiles():
                pair = self.x[rows], self.x[columns], scores[rows], tangent[columns]
                out[rows] += np.asarray(_linear_row_sums(self.kernel, *pair, counts))
        return out

    @cached_property
    def _form_at_zero(self) -> tuple[float, Rows]:
        """The form where all scores are 0, and half of its gradient there."""
        total, slope, zero = 0.0, np.zeros_like(self.x), np.zeros_like(self.x)
        with precision(self.wide):
            for rows, columns, counts in self._tiles():
                pair = self.x[rows], self.x[columns], zero[rows], zero[columns]
                value, gradient = _stein_sum(self.kernel, *pair, counts)
                total += float(value)
                slope[columns] += np.asarray(gradient)
        return total, slope

    def _grams(self) -> Iterable[Tile]:
        """Tiles of the kernel, 0 for pairs that do not count."""
        return self._compute_grams() if self._kept_grams is None else self._kept_grams

    @cached_property
    def _kept_grams(self) -> tuple[Tile, ...] | None:
        """The tiles, where there is memory to keep them."""
        if GRAM_COPIES * 8 * len(self.x) ** 2 > self.memory:
            return None
        return tuple(self._compute_grams())

    def _compute_grams(self) -> Iterator[Tile]:
        for rows, columns, counts in self._tiles():
            with precision(self.wide):
                gram = np.asarray(_gram(self.kernel, self.x[rows], self.x[columns]))
            yield rows, columns, counts * gram

    def _tiles(self) -> Iterator[Tile]:
        """Pairs of slices, with 1 for pairs of draws that count and 0 for the others."""
        n = len(self.x)
        side = int(np.clip(np.sqrt(self.memory / (8 * TILE_COPIES)), 1, min(TILE_SIDE, n)))
        for rows in chunks(n, side):
            for columns in chunks(n, side):
                counts = self.counted[np.ix_(self.batch[rows], self.batch[columns])]
                yield rows, columns, counts.astype(float)


@jax.jit
def _stein_sum(kernel, x, y, score_x, score_y, counts) -> tuple[Array, Array]:
    def total(score_y: Array) -> Array:
        gram = in_precision_of(x, kernel).stein_gram(x, y, score_x, score_y)
        return jnp.sum(counts * gram)

    return jax.value_and_grad(total)(score_y)


@jax.jit
def _gram(kernel, x, y) -> Array:
    return in_precision_of(x, kernel)(x, y)


@jax.jit
def _linear_row_sums(kernel, x, y, score_x, tangent_y, counts) -> Array:
    gram = functools.partial(in_precision_of(x, kernel).stein_gram, x, y, score_x)
    return jnp.sum(counts * (gram(tangent_y) - gram(jnp.zeros_like(tangent_y))), axis=1)
