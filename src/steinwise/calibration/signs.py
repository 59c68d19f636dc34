r"""A random sign for every batch, and what statistics are with them.

A mean statistic has batch sums S_g, a pair statistic U_gh. With one Rademacher sign per batch the
bootstrap is sum_g eps_g S_g or sum_gh eps_g eps_h U_gh over the allowed pairs. The same signs serve
all settings and coordinates, so that a maximum over them is calibrated jointly.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.memory import chunks
from steinwise._internal.random import stream
from steinwise._internal.threads import one_blas_thread
from steinwise.calibration.batch_sums import BatchSums, ExpectedSquares
from steinwise.calibration.batches import Batches

# Bootstraps that are computed together: a multiple of 4, as random signs come four to a word.
BOOTSTRAPS_AT_ONCE = 1000
TERMS_AT_ONCE = 1024  # whose bootstraps exist at the same time
MOST_PAIR_SIGNS = 2**22  # products of signs that are kept: 32 MiB
SETTINGS_AT_ONCE = 256  # the same where only the largest of them is kept
FEW_ROWS = 16  # statistics whose quadratic forms are cheaper one by one


@dataclass(frozen=True)
class BootstrapWeights:
    """Random numbers, one row per bootstrap and one column per batch: all at once, or in chunks.

    The numbers are the same either way: a chunk takes up the stream where the last one left it.
    """

    purpose: str  # of the stream of random numbers
    draw: Callable[[np.random.Generator, int, int], Float[np.ndarray, "l batch"]]

    def __call__(self, seed: object, n_bootstrap: int, count: int) -> Float[np.ndarray, "l batch"]:
        return self.draw(stream(seed, self.purpose), n_bootstrap, count)

    def chunks(
        self, seed: object, n_bootstrap: int, count: int
    ) -> Iterator[Float[np.ndarray, "l batch"]]:
        """The rows in order, at most `BOOTSTRAPS_AT_ONCE` at a time."""
        rng = stream(seed, self.purpose)
        for part in chunks(n_bootstrap, BOOTSTRAPS_AT_ONCE):
            yield self.draw(rng, part.stop - part.start, count)


def _signs(rng: np.random.Generator, rows: int, count: int) -> Float[np.ndarray, "l batch"]:
    return 2.0 * rng.integers(0, 2, size=(rows, count), dtype=np.int8) - 1.0


def _counts(rng: np.random.Generator, rows: int, count: int) -> Float[np.ndarray, "l batch"]:
    return rng.multinomial(count, np.full(count, 1 / count), size=rows) - 1.0


rademacher = BootstrapWeights("signs", _signs)
# how often each batch is drawn when as many are drawn with replacement, less 1
multinomial = BootstrapWeights("counts", _counts)


def of_one_size(
    weights: Iterable[Float[np.ndarray, "l batch"]],
) -> Iterator[tuple[Float[np.ndarray, "l batch"], int]]:
    """Chunks filled up to the size of the first, each with the number of rows that count.

    Products of another size are rounded differently, and ties with the statistic would be lost.
    """
    size = 0
    for chunk in weights:
        size = size or len(chunk)
        filling = np.ones((size - len(chunk), chunk.shape[1]))
        yield (np.concatenate([chunk, filling]) if len(filling) else chunk), len(chunk)


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Statistics, their bootstrap standard deviations and bootstrap values.

    The last axis is the coordinate; the one before it the setting; of `null` the first is the
    bootstrap.
    """

    statistic: Float[np.ndarray, "setting k"]
    scale: Float[np.ndarray, "setting k"]
    null: Float[np.ndarray, "l setting k"]
    caution: np.ndarray | float = 1.0  # see `KnownSquares`

    @property
    def standardised(self) -> tuple[np.ndarray, np.ndarray]:
        """Statistic and null in units of the bootstrap's standard deviation, 0 where that is 0."""
        unit = np.where(self.scale > 0, self.scale, np.inf)
        return self.statistic / unit / self.caution, self.null / unit


class PairSigns:
    """Products of the signs of all pairs of batches that a pair statistic may use.

    The same for all blocks of a statistic: made once, if they are few.
    """

    def __init__(self, signs: Float[np.ndarray, "l batch"]) -> None:
        self.signs = signs
        self._made: tuple[Batches, np.ndarray] | None = None

    def chunks(
        self, batches: Batches, dtype: np.dtype
    ) -> Iterator[tuple[slice, Float[np.ndarray, "m l+1"]]]:
        """The products of some pairs at a time, the statistic's own before the bootstraps'."""
        g, h = _pairs(batches)
        if len(g) * len(self.signs) > MOST_PAIR_SIGNS:
            signs = _with_observed(self.signs, dtype)
            for part in chunks(len(g), TERMS_AT_ONCE):
                yield part, signs[g[part]] * signs[h[part]]
            return
        if self._made is None or not self._made_for(batches, dtype):
            signs = _with_observed(self.signs, dtype)
            self._made = batches, signs[g] * signs[h]
        yield slice(len(g)), self._made[1]

    def _made_for(self, batches: Batches, dtype: np.dtype) -> bool:
        assert self._made is not None
        before, products = self._made
        return products.dtype == dtype and np.array_equal(before.allowed, batches.allowed)


@one_blas_thread
def bootstrap(
    sums: BatchSums, signs: Float[np.ndarray, "l batch"], of_pairs: PairSigns | None = None
) -> Bootstrap:
    """Bootstrap all settings and coordinates of some batch sums with the same signs.

    `of_pairs` are those of the same signs, where other sums share them.
    """
    of_pairs = of_pairs or PairSigns(signs)
    signs = _with_observed(signs, sums.values.dtype)
    settings, k = sums.values.shape[:2]
    values, terms = _one_sign_each(sums)
    rows = values.reshape(settings * k, -1)
    if not sums.paired:
        forms = rows @ signs
    elif len(rows) <= FEW_ROWS:
        matrices = np.where(sums.batches.allowed, sums.values, 0.0)
        forms = np.stack(
            [
                ((matrix @ signs) * signs).sum(axis=0)
                for matrix in matrices.reshape(-1, *matrices.shape[2:])
            ]
        )
    else:  # one product with the signs of all pairs, which many rows share
        forms = np.zeros((len(rows), signs.shape[1]), rows.dtype)
        for part, products in of_pairs.chunks(sums.batches, rows.dtype):
            forms += rows[:, part] @ products
    forms = forms.T.reshape(-1, settings, k) / terms
    spread = _spread(values, sums.expected) / terms
    return Bootstrap(forms[0], spread, forms[1:], sums.caution)


def squares_of_signs(sums: BatchSums) -> Float[np.ndarray, "setting k"]:
    """The variance over all signs, of sums that are not yet divided by the number of terms."""
    values, _ = _one_sign_each(sums)
    return np.einsum("skm,skm->sk", values, values)


def bootstrap_spread(sums: BatchSums) -> Float[np.ndarray, "setting k"]:
    """The standard deviation over all signs, which needs no bootstrap."""
    values, terms = _one_sign_each(sums)
    return _spread(values, sums.expected) / terms


def largest_share(sums: BatchSums) -> float:
    """The share of the largest term in the variance over all signs, of the setting with least.

    Near 1, the statistic with signs is that term or its negative, whatever the draws are.
    """
    values, _ = _one_sign_each(sums)
    sizes = np.abs(values)
    largest = sizes.max(axis=-1)
    shares = ((sizes / np.where(largest > 0, largest, 1.0)[..., None]) ** 2).sum(axis=-1)
    return float((1 / np.maximum(shares, 1.0)).min())


def _with_observed(
    signs: Float[np.ndarray, "l batch"], dtype: np.dtype
) -> Float[np.ndarray, "batch l+1"]:
    """Signs that are all 1 before the others: the statistic, computed as its bootstraps are."""
    return np.concatenate([np.ones_like(signs[:1]), signs]).T.astype(dtype, order="C")


def _pairs(batches: Batches) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """The pairs g < h of batches that a pair statistic may use."""
    g, h = np.nonzero(np.triu(batches.allowed))
    return g, h


def _one_sign_each(sums: BatchSums) -> tuple[Float[np.ndarray, "setting k m"], float]:
    """Sums that share a sign, and the number of terms in all of them.

    A pair statistic is a sum over pairs g < h of U_gh + U_hg, whose sign is eps_g eps_h.
    """
    batches, values = sums.batches, sums.values
    if not sums.paired:
        return values, float(batches.lengths.sum())
    g, h = _pairs(batches)
    flat = values.reshape(values.shape[0] * values.shape[1], -1)  # np.take: twice as fast
    one = np.take(flat, g * batches.count + h, axis=1)
    one += np.take(flat, h * batches.count + g, axis=1)
    return one.reshape(*values.shape[:2], -1), batches.pairs


def _spread(
    values: Float[np.ndarray, "setting k m"], expected: ExpectedSquares | None = None
) -> Float[np.ndarray, "setting k"]:
    """The standard deviation of sums whose terms have independent signs.

    Drawn towards what is expected of it: where terms are skewed and few, their spread is small just
    when their sum is far out on its short side, which would then stand out too often.
    """
    squares = np.einsum("skm,skm->sk", values, values)
    return np.sqrt(squares if expected is None else expected.shrink(squares))


@one_blas_thread
def largest_two_sided(
    sums: BatchSums, signs: Float[np.ndarray, "l batch"]
) -> tuple[Float[np.ndarray, "setting k"], Float[np.ndarray, "l k"]]:
    """Absolute standardised means, and the largest over settings of the null.

    For many settings: their bootstraps never exist all at once, and are computed in 32 bit. A
    standardised mean has no need of more digits, and the observed one is computed as they are.
    """
    values, _ = _one_sign_each(sums)
    scale = _spread(values)
    z, null = np.zeros(scale.shape), np.zeros((len(signs), scale.shape[1]))
    signs = _with_observed(signs, np.dtype(np.float32))
    unit = np.where(scale > 0, scale, np.inf)[..., None]
    for k in range(scale.shape[1]):
        for part in chunks(len(scale), SETTINGS_AT_ONCE):
            forms = (values[part, k] / unit[part, k]).astype(np.float32) @ signs
            np.abs(forms, out=forms)
            z[part, k] = forms[:, 0]
            null[:, k] = np.maximum(null[:, k], forms.max(axis=0)[1:])
    return z, null
