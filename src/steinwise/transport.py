r"""Functions of a draw's place on its line, times functions of its other coordinates.

Terms are functions of u = F(x_ij): each has mean zero, given the other coordinates, when the draw
comes from p. Features are functions of the other coordinates. Sums of their products over batches
are all that the default check needs.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from steinwise.lines import MIDPOINTS, QUANTILES, Lines
from steinwise.threads import one_blas_thread

STEIN_TERMS, COSINE_TERMS, HERMITE_TERMS = 8, 6, 4
FARTHEST = 5.0  # normal scores are clipped here
SKETCHES = 32  # random combinations of products, where there are more products than these

TERMS = 2 * STEIN_TERMS + COSINE_TERMS + HERMITE_TERMS
_STEIN, _STEIN_OTHER = slice(0, STEIN_TERMS), slice(STEIN_TERMS, 2 * STEIN_TERMS)
_COSINE = slice(2 * STEIN_TERMS, 2 * STEIN_TERMS + COSINE_TERMS)
_HERMITE = slice(TERMS - HERMITE_TERMS, TERMS)
BASE_TERMS = {
    "shape": (_STEIN, _STEIN_OTHER),
    "shift": (_COSINE, _COSINE),
    "tails": (_HERMITE, _HERMITE),
}
ORDERS = np.arange(1, STEIN_TERMS + 1)
# the integral over v of a function on the quantiles, times a cosine of v
WAVES = np.sqrt(2) * np.cos(np.pi * MIDPOINTS[:, None] * ORDERS) / QUANTILES
PLACE = _COSINE.start  # the lowest cosine of u
SINGLE_TERMS = slice(PLACE, PLACE + 2)  # the place and the spread of u


def context_slices(d: int, pairs: np.ndarray, sketch: np.ndarray | None) -> dict[str, slice]:
    """Where the features of each context stand."""
    ends = np.cumsum([1, d, d, len(pairs) if sketch is None else SKETCHES])
    starts = [0, *ends[:-1]]
    names = ["alone", "dependence", "dependence on size", "interaction"]
    return {name: slice(int(a), int(b)) for name, a, b in zip(names, starts, ends, strict=True)}


class Sums(NamedTuple):
    """Sums over batches of terms times features."""

    of_contexts: Float[np.ndarray, "batch c term feature"]  # where `context_slices` says
    of_pairs: Float[np.ndarray, "batch c pair"]  # PLACE times single products

    @classmethod
    def zeros(cls, batch: int, c: int, features: int, pairs: int, dtype: str) -> "Sums":
        return cls(np.zeros((batch, c, TERMS, features), dtype), np.zeros((batch, c, pairs), dtype))

    def of(self, batches: slice) -> "Sums":
        """A view of some batches."""
        return Sums(self.of_contexts[batches], self.of_pairs[batches])


@one_blas_thread
def products(
    sums: Float[np.ndarray, "batch c term feature"], settings: Sequence[tuple[str, slice]]
) -> Float[np.ndarray, "setting c batch batch"]:
    """Inner products between all pairs of batches, per setting: a base, and a span of features."""
    by_line = np.swapaxes(sums, 0, 1)
    lines, batches = by_line.shape[:2]
    out = np.empty((len(settings), lines, batches, batches), sums.dtype)
    for product, (base, span) in zip(out, settings, strict=True):
        left, right = (
            by_line[:, :, terms, span].reshape(lines, batches, -1) for terms in BASE_TERMS[base]
        )
        np.matmul(left, np.swapaxes(right, 1, 2), out=product)
    return out


@one_blas_thread
def batch_products(
    out: Sums,
    lines: Lines,
    at: Float[np.ndarray, "n c"],
    others: Float[np.ndarray, "n d"],
    weight: Float[np.ndarray, "batch longest"],
    own: Int[np.ndarray, " c"],
    pairs: Int[np.ndarray, "pair 2"],
    sketch: Float[np.ndarray, "2 d sketch"] | None,
) -> None:
    """Add terms times features, summed over the draws of each batch.

    Features are the same for all lines but for the column that belongs to the line itself, which
    is taken out: after the sum where it is one feature, before it in a sketch of products.
    """
    dtype = out.of_contexts.dtype
    terms = _terms(lines, at, dtype)
    terms *= weight.reshape(-1, 1, 1).astype(dtype)
    terms = terms.reshape(*weight.shape, *terms.shape[1:])
    z = others.reshape(*weight.shape, -1).astype(dtype)
    keep = np.arange(z.shape[-1]) != own[:, None]  # (c, d)
    single = np.concatenate([np.ones_like(z[..., :1]), z, z**2 - 1], axis=-1)
    kept = np.concatenate([np.ones_like(keep[:, :1]), keep, keep], axis=1)
    of_single, of_products = np.split(out.of_contexts, [single.shape[-1]], axis=-1)
    of_single += _summed(terms, single) * kept[:, None, :]
    both = z[..., pairs[:, 0]] * z[..., pairs[:, 1]]
    kept = keep[:, pairs[:, 0]] & keep[:, pairs[:, 1]]
    of_pairs = out.of_pairs
    of_pairs += _summed(terms[..., [PLACE]], both)[:, :, 0] * kept
    if sketch is None:
        of_products += _summed(terms, both) * kept[:, None, :]
    else:
        sketched = _sketched(z, own, sketch.astype(dtype))
        of_products += terms.transpose(0, 2, 3, 1) @ sketched.transpose(0, 2, 1, 3)


def _summed(
    terms: Float[np.ndarray, "batch longest c term"],
    features: Float[np.ndarray, "batch longest f"],
) -> Float[np.ndarray, "batch c term f"]:
    batch, longest, *rest = terms.shape
    flat = np.swapaxes(terms.reshape(batch, longest, -1), 1, 2)
    return (flat @ features).reshape(batch, *rest, -1)


def _sketched(
    z: Float[np.ndarray, "batch longest d"],
    own: Int[np.ndarray, " c"],
    signs: Float[np.ndarray, "2 d sketch"],
) -> Float[np.ndarray, "batch longest c sketch"]:
    """Random signs times all products of two different coordinates, without a line's own."""
    mine = z[..., own, None]
    one, other, both = signs[0], signs[1], signs[0] * signs[1]
    products = (z @ one)[..., None, :] - mine * one[own]
    products *= (z @ other)[..., None, :] - mine * other[own]
    products -= (z**2 @ both)[..., None, :]
    products += mine**2 * both[own]
    return products


def _terms(
    lines: Lines, at: Float[np.ndarray, "n c"], dtype: np.dtype
) -> Float[np.ndarray, "n c term"]:
    """Functions of a draw's place on its line, each of mean zero when the draw comes from p."""
    step, here, there = lines.standardised(at, dtype)
    with np.errstate(over="ignore", invalid="ignore"):  # the method looks for it
        # (here there + (here - there) step + 1 - step^2) exp(-step^2 / 2), in place
        stein = here - there
        stein -= step
        stein *= step
        stein += here * there + 1
        step *= step
        step *= -0.5
        stein *= np.exp(step, out=step)
    out = np.empty((*lines.u.shape, TERMS), dtype)
    np.matmul(stein, WAVES.astype(dtype), out=out[..., _STEIN])
    cosines = out[..., _STEIN_OTHER]
    before, now, twice = 1.0, np.cos(np.pi * lines.u), 2 * np.cos(np.pi * lines.u)
    for k in range(STEIN_TERMS):  # cos (k + 1) t = 2 cos t cos k t - cos (k - 1) t
        cosines[..., k] = np.sqrt(2) * now
        before, now = now, twice * now - before
    out[..., _COSINE] = cosines[..., :COSINE_TERMS] / ORDERS[:COSINE_TERMS]
    z = np.clip(ndtri(lines.u), -FARTHEST, FARTHEST)
    hermite = out[..., _HERMITE]
    hermite[..., 0] = z
    hermite[..., 1] = (z**2 - 1) / np.sqrt(2)
    hermite[..., 2] = (z**3 - 3 * z) / np.sqrt(6)
    hermite[..., 3] = (z**4 - 6 * z**2 + 3) / np.sqrt(24)
    return out
