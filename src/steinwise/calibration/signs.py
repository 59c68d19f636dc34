r"""A random sign for every batch, and what statistics are with them.

A mean statistic has batch sums S_g, a pair statistic U_gh. With one Rademacher sign per batch the
bootstrap is sum_g eps_g S_g or sum_gh eps_g eps_h U_gh over the allowed pairs. The same signs serve
all settings and coordinates, so that a maximum over them is calibrated jointly.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.memory import chunks
from steinwise._internal.random import stream
from steinwise._internal.threads import one_blas_thread
from steinwise.calibration.batch_sums import BatchSums, ExpectedSquares
from steinwise.calibration.batches import Batches

TERMS_AT_ONCE, SETTINGS_AT_ONCE = 1024, 4096  # whose bootstraps exist at the same time
FEW_ROWS = 16  # statistics whose quadratic forms are cheaper one by one


def rademacher(seed: object, n_bootstrap: int, count: int) -> Float[np.ndarray, "l batch"]:
    """Signs, one row per bootstrap."""
    bits = stream(seed, "signs").integers(0, 2, size=(n_bootstrap, count), dtype=np.int8)
    return 2.0 * bits - 1.0


def multinomial(seed: object, n_bootstrap: int, count: int) -> Float[np.ndarray, "l batch"]:
    """How often each batch is drawn when as many are drawn with replacement, less 1."""
    even = np.full(count, 1 / count)
    return stream(seed, "counts").multinomial(count, even, size=n_bootstrap) - 1.0


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Statistics, their bootstrap standard deviations and bootstrap values.

    The last axis is the coordinate; the one before it the setting; of `null` the first is the
    bootstrap.
    """

    statistic: Float[np.ndarray, "setting k"]
    scale: Float[np.ndarray, "setting k"]
    null: Float[np.ndarray, "l setting k"]

    @property
    def standardised(self) -> tuple[np.ndarray, np.ndarray]:
        """Statistic and null in units of the bootstrap's standard deviation, 0 where that is 0."""
        unit = np.where(self.scale > 0, self.scale, np.inf)
        return self.statistic / unit, self.null / unit


@one_blas_thread
def bootstrap(sums: BatchSums, signs: Float[np.ndarray, "l batch"]) -> Bootstrap:
    """Bootstrap all settings and coordinates of some batch sums with the same signs."""
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
        g, h = _pairs(sums.batches)
        for part in chunks(rows.shape[1], TERMS_AT_ONCE):
            forms += rows[:, part] @ (signs[g[part]] * signs[h[part]])
    forms = forms.T.reshape(-1, settings, k) / terms
    return Bootstrap(forms[0], _spread(values, sums.expected) / terms, forms[1:])


def bootstrap_spread(sums: BatchSums) -> Float[np.ndarray, "setting k"]:
    """The standard deviation over all signs, which needs no bootstrap."""
    values, terms = _one_sign_each(sums)
    return _spread(values, sums.expected) / terms


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

    For many settings: their bootstraps never exist all at once.
    """
    values, _ = _one_sign_each(sums)
    scale = _spread(values)
    z, null = np.zeros(scale.shape), np.zeros((len(signs), scale.shape[1]))
    signs = _with_observed(signs, values.dtype)
    unit = np.where(scale > 0, scale, np.inf)[..., None]
    for k in range(scale.shape[1]):
        for part in chunks(len(scale), SETTINGS_AT_ONCE):
            forms = (values[part, k] / unit[part, k]) @ signs
            z[part, k] = np.abs(forms[:, 0])
            largest = np.maximum(forms.max(axis=0), -forms.min(axis=0))[1:]
            null[:, k] = np.maximum(null[:, k], largest)
    return z, null
