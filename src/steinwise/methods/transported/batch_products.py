"""Terms times features, summed over batches: all that the default check needs of the draws."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from steinwise._internal.threads import one_blas_thread
from steinwise.methods.transported.features import CONTEXTS, SKETCHES, Features
from steinwise.methods.transported.terms import BASE_TERMS, PLACE, SINGLE_TERMS, TERMS, terms_of
from steinwise.orbits.lines import Lines, NormalLines


class Sums(NamedTuple):
    """Sums over batches of terms times features."""

    alone: Float[np.ndarray, "batch c term 1"]
    dependence: Float[np.ndarray, "batch c term f"]
    dependence_on_size: Float[np.ndarray, "batch c term f"]
    interaction: Float[np.ndarray, "batch c term g"]
    of_single: Float[np.ndarray, "batch c 2 2 m"]  # SINGLE_TERMS times coordinates and squares,
    # where the contexts have only sketches of them
    of_pairs: Float[np.ndarray, "batch c pair"]  # PLACE times products

    @classmethod
    def zeros(cls, features: Features, batch: int, c: int, dtype: str) -> "Sums":
        """Sums that are all 0, for some batches and lines."""
        apart = 0 if features.signs is None else len(features.alone)
        alone, dependence, on_size, interaction = (
            np.zeros((batch, c, TERMS, count), dtype) for count in features.counts
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

    def singles(self, features: Features, context: str) -> Float[np.ndarray, "batch c term f"]:
        """The sums of single terms with single features, or products, of a context."""
        if context == "interaction":
            return self.of_pairs[:, :, None, :]
        if features.signs is None:
            return self.of(context)[:, :, SINGLE_TERMS]
        return self.of_single[:, :, :, CONTEXTS.index(context) - 1]

    def part(self, batches: slice, lines: slice = slice(None)) -> "Sums":
        """A view of some batches and lines."""
        return Sums(*(array[batches, lines] for array in self))

    def add(self, other: "Sums") -> None:
        for total, addend in zip(self, other, strict=True):
            total += addend


@one_blas_thread
def products(
    sums: Sums, settings: Sequence[tuple[str, str]]
) -> Float[np.ndarray, "setting c batch batch"]:
    """Inner products between all pairs of batches, per setting: a base and a context."""
    batches, lines = sums.alone.shape[:2]
    out = np.empty((len(settings), lines, batches, batches), sums.alone.dtype)
    for product, (base, context) in zip(out, settings, strict=True):
        by_line = np.swapaxes(sums.of(context), 0, 1)
        left, right = (
            by_line[:, :, terms].reshape(lines, batches, -1) for terms in BASE_TERMS[base]
        )
        np.matmul(left, np.swapaxes(right, 1, 2), out=product)
    return out


@one_blas_thread
def add_products(
    out: Sums,
    lines: Lines | NormalLines,
    at: Float[np.ndarray, "n c"],
    others: Float[np.ndarray, "n d"],
    weight: Float[np.ndarray, "batch longest"],
    own: Int[np.ndarray, " c"],
    features: Features,
) -> None:
    """Add terms times features, summed over the draws of each batch.

    Features are computed once for all lines; what a line's own coordinate adds to them is taken out
    of the sums.
    """
    dtype = out.alone.dtype
    z = np.ascontiguousarray(others.T, dtype)
    slab = _Slab(terms_of(lines, at, dtype), z, own, weight.astype(dtype))
    alone, dependence, on_size, interaction = _of_contexts(slab, features)
    of_single, of_pairs = _of_single(slab, features), _of_pairs(slab, features)
    out.add(Sums(alone, dependence, on_size, interaction, of_single, of_pairs))


class _Slab(NamedTuple):
    """Terms and other coordinates of some draws, which come last in all arrays, batch by batch."""

    terms: Float[np.ndarray, "term c n"]
    z: Float[np.ndarray, "d n"]
    own: Int[np.ndarray, " c"]
    weight: Float[np.ndarray, "batch longest"]

    @property
    def counted(self) -> Float[np.ndarray, " n"]:
        return self.weight.ravel()

    def without(self, coordinates: Int[np.ndarray, " f"]) -> Bool[np.ndarray, "c f"]:
        """Whether these are others than a line's own."""
        return coordinates != self.own[:, None]

    def summed(
        self, terms: Float[np.ndarray, "t c n"], features: Float[np.ndarray, "f n"]
    ) -> Float[np.ndarray, "batch c t f"]:
        """Products of terms and weighted features, summed over the draws of each batch."""
        left, right = (
            rows.reshape(-1, *self.weight.shape).transpose(1, 0, 2) for rows in (terms, features)
        )
        sums = left @ np.swapaxes(right, 1, 2)
        return np.swapaxes(sums.reshape(len(sums), *terms.shape[:2], len(features)), 1, 2)

    def summed_each(
        self, terms: Float[np.ndarray, "t c n"], feature: Float[np.ndarray, "c n"]
    ) -> Float[np.ndarray, "batch c t 1"]:
        """The same with a single feature, another one for every line."""
        left = terms.reshape(*terms.shape[:2], *self.weight.shape).transpose(2, 1, 0, 3)
        right = feature.reshape(-1, *self.weight.shape).transpose(1, 0, 2)
        return left @ right[..., None]


def _of_single(slab: _Slab, features: Features) -> Float[np.ndarray, "batch c 2 2 m"]:
    alone = features.alone if features.signs is not None else features.alone[:0]
    z = slab.z[alone]
    weighted = np.concatenate([z, z**2 - 1]) * slab.counted
    sums = slab.summed(slab.terms[SINGLE_TERMS], weighted)
    return sums.reshape(*sums.shape[:3], 2, len(alone)) * slab.without(alone)[:, None, None]


def _of_pairs(slab: _Slab, features: Features) -> Float[np.ndarray, "batch c pair"]:
    one, other = features.pairs.T
    weighted = (slab.z * slab.counted)[one] * slab.z[other]
    sums = slab.summed(slab.terms[PLACE : PLACE + 1], weighted)[:, :, 0]
    return sums * (slab.without(one) & slab.without(other))


def _of_contexts(slab: _Slab, features: Features) -> list[np.ndarray]:
    """All terms with the features of every context, each (batch, c, term, feature)."""
    z, squares, dtype = slab.z, slab.z**2 - 1, slab.z.dtype
    shared = [np.ones_like(z[:1]), z, squares]
    if features.signs is not None:
        one, other = features.signs.astype(dtype)
        shared[1:] = one.T @ z, other.T @ squares
    along = None
    if features.pair_signs is None:
        one, other = features.pairs.T
        shared.append(z[one] * z[other])
    else:
        one, other = features.pair_signs.astype(dtype)
        along = np.concatenate([one.T @ z, other.T @ z])
        shared.append(along[:SKETCHES] * along[SKETCHES:] - (one * other).T @ z**2)
    joint = slab.summed(slab.terms, np.concatenate(shared) * slab.counted)
    sums = np.split(joint, np.cumsum(features.counts)[:-1], axis=-1)
    if features.signs is None:
        for single in sums[1:3]:
            single[:, np.arange(len(slab.own)), :, slab.own] = 0.0
    if along is None:
        sums[3] *= (slab.without(one) & slab.without(other))[:, None]
    else:
        _correct_sketches(sums, slab, along, features)
    return sums


def _correct_sketches(
    sums: list[np.ndarray],
    slab: _Slab,
    along: Float[np.ndarray, "sketches n"],
    features: Features,
) -> None:
    """Take a line's own coordinate m out of the sums of sketches.

    With signs s and t it has added m s, or (m^2 - 1) t, to a sketch of single coordinates or
    squares, and m s b + m t a - 2 m^2 s t to a b - c, a sketch of products: a and b, `along`, are
    sums of the coordinates with either signs, c is that of their squares with both.
    """
    alone, dependence, on_size, interaction = sums
    assert features.pair_signs is not None
    one, other = features.pair_signs.astype(slab.z.dtype)
    mine = slab.z[slab.own]
    terms = slab.terms * mine
    by_one, by_other = np.split(slab.summed(terms, along * slab.counted), 2, axis=-1)
    twice = slab.summed_each(terms, mine * slab.counted)
    s, t = one[slab.own][:, None], other[slab.own][:, None]
    interaction -= s * by_other
    interaction -= t * by_one
    interaction += 2 * s * t * twice
    if features.signs is not None:
        s, t = features.signs[:, slab.own, None].astype(slab.z.dtype)
        dependence -= s * slab.summed_each(slab.terms, mine * slab.counted)
        on_size -= t * (twice - alone)
