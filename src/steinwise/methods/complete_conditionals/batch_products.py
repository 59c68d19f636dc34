"""Terms times features, summed over batches: all that the default check needs of the draws."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.threads import one_blas_thread
from steinwise.methods.complete_conditionals.features import CONTEXTS, SKETCHES, Features
from steinwise.methods.complete_conditionals.terms import TermLayout


class Sums(NamedTuple):
    """Sums over batches of terms times features."""

    alone: Float[np.ndarray, "batch c term 1"]
    dependence: Float[np.ndarray, "batch c term f"]
    dependence_on_size: Float[np.ndarray, "batch c term f"]
    interaction: Float[np.ndarray, "batch c term g"]
    of_single: Float[np.ndarray, "batch c 2 2 m"]  # single terms times coordinates and squares,
    # where the contexts have only sketches of them
    of_pairs: Float[np.ndarray, "batch c pair"]  # the term for place times products

    @classmethod
    def zeros(cls, features: Features, terms: int, batch: int, c: int, dtype: str) -> "Sums":
        """Sums that are all 0, for some batches and lines."""
        apart = 0 if features.signs is None else len(features.alone)
        alone, dependence, on_size, interaction = (
            np.zeros((batch, c, terms, count), dtype) for count in features.counts
        )
        return cls(
            alone,
            dependence,
            on_size,
            interaction,
            np.zeros((batch, c, 2, 2, apart), dtype),
            np.zeros((batch, c, len(features.pairs)), dtype),
        )

    def of(self, context: str) -> Float[np.ndarray, "batch c term f"]:
        return self[CONTEXTS.index(context)]

    def singles(
        self, features: Features, layout: TermLayout, context: str
    ) -> Float[np.ndarray, "batch c term f"]:
        """The sums of single terms with single features, or products, of a context."""
        if context == "interaction":
            return self.of_pairs[:, :, None, :]
        if features.signs is None:
            return self.of(context)[:, :, layout.single]
        return self.of_single[:, :, :, CONTEXTS.index(context) - 1]

    def scaled(self, factor: Float[np.ndarray, "term c"]) -> "Sums":
        """With every term multiplied, in all contexts; single features stay as they are."""
        by_line = factor.T[:, :, None].astype(self.alone.dtype)
        alone, dependence, on_size, interaction = (
            array * by_line for array in self[: len(CONTEXTS)]
        )
        return Sums(alone, dependence, on_size, interaction, self.of_single, self.of_pairs)

    def combined(self, matrix: Float[np.ndarray, "c term term"]) -> "Sums":
        """With terms that are combinations of these, in all contexts; single ones stay."""
        by_line = matrix.astype(self.alone.dtype)
        alone, dependence, on_size, interaction = (
            by_line @ array for array in self[: len(CONTEXTS)]
        )
        return Sums(alone, dependence, on_size, interaction, self.of_single, self.of_pairs)

    def part(self, batches: slice, lines: slice = slice(None)) -> "Sums":
        """A view of some batches and lines."""
        return Sums(*(array[batches, lines] for array in self))

    def add(self, other: "Sums") -> None:
        for total, addend in zip(self, other, strict=True):
            total += addend


@one_blas_thread
def products(
    sums: Sums, layout: TermLayout, settings: Sequence[tuple[str, str]]
) -> Float[np.ndarray, "setting c batch batch"]:
    """Inner products between all pairs of batches, per setting: a base and a context."""
    batches, lines = sums.alone.shape[:2]
    out = np.empty((len(settings), lines, batches, batches), sums.alone.dtype)
    for product, (base, context) in zip(out, settings, strict=True):
        by_line = np.swapaxes(sums.of(context), 0, 1)
        left, right = (s.reshape(lines, batches, -1) for s in layout.sides(base, by_line))
        np.matmul(left, np.swapaxes(right, 1, 2), out=product)
    return out


@dataclass(frozen=True, eq=False)
class SlabFeatures:
    """Features of some draws, computed once for all lines.

    Draws come last in all arrays, batch by batch; features are multiplied by the draws' weights.
    """

    features: Features
    z: Float[np.ndarray, "d n"]  # the coordinates, not weighted
    weight: Float[np.ndarray, "batch longest"]
    of_contexts: list[Float[np.ndarray, "_ n"]]  # a row per feature
    of_single: Float[np.ndarray, "single n"]
    of_pairs: Float[np.ndarray, "pair n"]
    along: Float[np.ndarray, "sum n"] | None  # sums of coordinates whose products are sketches

    @classmethod
    def of(
        cls,
        others: Float[np.ndarray, "d n"],
        weight: Float[np.ndarray, "batch longest"],
        features: Features,
        dtype: np.dtype,
    ) -> "SlabFeatures":
        """The features of draws with these coordinates."""
        z, weight = np.ascontiguousarray(others, dtype), weight.astype(dtype)
        counted, all_squares = weight.ravel(), z**2
        squares = all_squares - 1
        shared, single = [np.ones_like(z[:1]), z, squares], z[:0]
        if features.signs is not None:
            one, other = features.signs.astype(dtype)
            shared[1:] = one.T @ z, other.T @ squares
            single = np.concatenate([z[features.alone], squares[features.alone]]) * counted
        one, other = features.pairs.T
        pairs, along = z[one] * z[other], None
        if features.pair_signs is None:
            shared.append(pairs)
        else:
            one, other = features.pair_signs.astype(dtype)
            along = np.concatenate([one.T @ z, other.T @ z])
            shared.append(along[:SKETCHES] * along[SKETCHES:] - (one * other).T @ all_squares)
            along *= counted
        of_contexts = [of_context * counted for of_context in shared]
        return cls(features, z, weight, of_contexts, single, pairs * counted, along)

    def summed(
        self, terms: Float[np.ndarray, "c t n"], features: Float[np.ndarray, "f n"]
    ) -> Float[np.ndarray, "batch c t f"]:
        """Products of terms and features, summed over the draws of each batch."""
        left, right = (
            rows.reshape(-1, *self.weight.shape).transpose(1, 0, 2) for rows in (terms, features)
        )
        sums = left @ np.swapaxes(right, 1, 2)
        return sums.reshape(len(sums), *terms.shape[:2], len(features))

    def summed_each(
        self, terms: Float[np.ndarray, "c t n"], feature: Float[np.ndarray, "c n"]
    ) -> Float[np.ndarray, "batch c t 1"]:
        """The same with a single feature, another one for every line, not yet weighted."""
        left = terms.reshape(*terms.shape[:2], *self.weight.shape).transpose(2, 0, 1, 3)
        right = (feature * self.weight.ravel()).reshape(-1, *self.weight.shape)
        return left @ right.transpose(1, 0, 2)[..., None]


def add_products(
    out: Sums,
    terms: Float[np.ndarray, "term c n"],
    layout: TermLayout,
    slab: SlabFeatures,
    own: Int[np.ndarray, " c"],
) -> None:
    """Add terms times features, summed over the draws of each batch.

    Features are the same for all lines; what a line's own coordinate adds to them is taken out of
    the sums.
    """
    by_line = np.ascontiguousarray(np.swapaxes(terms, 0, 1))
    features, lines = slab.features, np.arange(len(own))
    contexts = [slab.summed(by_line, of_context) for of_context in slab.of_contexts]
    of_others = (features.pairs != own[:, None, None]).all(axis=-1)
    if features.signs is None:
        for single in contexts[1:3]:
            single[:, lines, :, own] = 0.0
    if slab.along is None:
        contexts[3] *= of_others[:, None]
    else:
        _correct_sketches(contexts, by_line, slab, own)
    for total, addend in zip(out, contexts, strict=False):
        total += addend
    if len(slab.of_single):
        sums = slab.summed(by_line[:, layout.single], slab.of_single)
        sums = sums.reshape(*sums.shape[:3], 2, len(features.alone))
        line, mine = np.nonzero(features.alone == own[:, None])
        sums[:, line, :, :, mine] = 0.0
        np.add(out.of_single, sums, out=out.of_single)
    place = by_line[:, layout.place : layout.place + 1]
    np.add(out.of_pairs, slab.summed(place, slab.of_pairs)[:, :, 0] * of_others, out=out.of_pairs)


def _correct_sketches(
    sums: list[np.ndarray],
    terms: Float[np.ndarray, "c term n"],
    slab: SlabFeatures,
    own: Int[np.ndarray, " c"],
) -> None:
    """Take a line's own coordinate m out of the sums of sketches.

    With signs s and t it has added m s, or (m^2 - 1) t, to a sketch of single coordinates or
    squares, and m s b + m t a - 2 m^2 s t to a b - c, a sketch of products: a and b, `along`, are
    sums of the coordinates with either signs, c is that of their squares with both.
    """
    alone, dependence, on_size, interaction = sums
    features, dtype = slab.features, slab.z.dtype
    assert features.pair_signs is not None
    assert slab.along is not None
    signs = features.pair_signs[:, own].astype(dtype)
    mine = slab.z[own]
    of_mine = terms * mine[:, None]
    by_sums = slab.summed(of_mine, slab.along)
    twice = slab.summed_each(of_mine, mine)
    by_sums *= np.concatenate(signs[::-1], axis=-1)[:, None]
    interaction -= by_sums[..., :SKETCHES]
    interaction -= by_sums[..., SKETCHES:]
    interaction += 2 * (signs[0] * signs[1])[:, None] * twice
    if features.signs is not None:
        s, t = features.signs[:, own, None].astype(dtype)
        dependence -= s * slab.summed_each(terms, mine)
        on_size -= t * (twice - alone)
