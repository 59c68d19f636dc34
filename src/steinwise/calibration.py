r"""Signs for batches, and the p-values that follow from them.

A mean statistic has batch sums S_g, a pair statistic U_gh. With one Rademacher sign per batch the
bootstrap is sum_g eps_g S_g or sum_gh eps_g eps_h U_gh over the allowed pairs. The same signs serve
all settings and coordinates, so that a maximum over them is calibrated jointly.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from steinwise.batches import Batches
from steinwise.random import stream
from steinwise.statistics import BatchSums


def rademacher(seed: object, n_bootstrap: int, count: int) -> Float[np.ndarray, "l batch"]:
    """Signs, one row per bootstrap."""
    bits = stream(seed, "signs").integers(0, 2, size=(n_bootstrap, count), dtype=np.int8)
    return 2.0 * bits - 1.0


def share_at_or_above(statistic: np.ndarray, null: np.ndarray) -> np.ndarray:
    """(1 + #{null >= statistic}) / (1 + L), over the first axis of `null`."""
    return (1.0 + (null >= statistic).sum(axis=0)) / (1.0 + len(null))


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


def bootstrap(sums: BatchSums, signs: Float[np.ndarray, "l batch"]) -> Bootstrap:
    """Bootstrap all settings and coordinates of some batch sums with the same signs."""
    if not sums.paired:
        values, terms = sums.values, float(sums.batches.lengths.sum())
        null = np.einsum("lg,skg->lsk", signs, values, optimize=True)
        scale = np.sqrt((values**2).sum(axis=-1))
        return Bootstrap(values.sum(axis=-1) / terms, scale / terms, null / terms)
    values, terms = np.where(sums.batches.allowed, sums.values, 0.0), sums.batches.pairs
    symmetric = (values + np.swapaxes(values, -1, -2)) / 2
    # U_gh has U_hg as its mirror: sum over g != h of eps_g eps_h U_gh has variance 2 sum U_sym^2
    scale = np.sqrt(2 * (symmetric**2).sum(axis=(-1, -2)))
    null = np.empty((len(signs), *values.shape[:2]))
    for index in np.ndindex(values.shape[:2]):
        null[(slice(None), *index)] = np.einsum("lg,lg->l", signs @ symmetric[index], signs)
    return Bootstrap(values.sum(axis=(-1, -2)) / terms, scale / terms, null / terms)


@dataclass(frozen=True, eq=False)
class Calibration:
    """A verdict on all coordinates together and on each."""

    statistic: float  # of the setting that decided
    pvalue: float
    normal_pvalue: float | None  # a cross-check that needs no bootstrap; for means only
    observed: float  # what was compared with the null: the largest standardised statistic
    null: Float[np.ndarray, " l"]
    setting: int  # the setting that decided
    values: Float[np.ndarray, " k"]  # per coordinate, in the deciding setting
    coordinate_pvalues: Float[np.ndarray, " k"]
    adjusted_pvalues: Float[np.ndarray, " k"]


def calibrate(
    blocks: Iterable[BatchSums], batches: Batches, n_bootstrap: int, seed: object
) -> Calibration:
    """p-values of the sum over coordinates, largest over settings, and of every coordinate."""
    signs = rademacher(seed, n_bootstrap, batches.count)
    each: list[Bootstrap] = []
    total: np.ndarray | float = 0.0
    paired = False
    for block in blocks:
        each.append(bootstrap(block, signs))
        total = total + block.values.sum(axis=1, keepdims=True)
        paired = block.paired
    joint = bootstrap(BatchSums(np.asarray(total), batches), signs)
    z, null_z = joint.standardised
    setting = int(np.argmax(z[:, 0]))
    observed, null = z[setting, 0], null_z[:, :, 0].max(axis=1)

    per_coordinate = [bootstrapped.standardised for bootstrapped in each]
    z_k = np.concatenate([one.max(axis=0) for one, _ in per_coordinate])
    null_k = np.concatenate([other.max(axis=1) for _, other in per_coordinate], axis=1)
    return Calibration(
        statistic=float(joint.statistic[setting, 0]),
        pvalue=float(share_at_or_above(observed, null)),
        normal_pvalue=None if paired else normal_tail(float(observed)),
        observed=float(observed),
        null=null,
        setting=setting,
        values=np.concatenate([one.statistic[setting] for one in each]),
        coordinate_pvalues=share_at_or_above(z_k, null_k),
        adjusted_pvalues=step_down(z_k, null_k),
    )


def normal_tail(z: float) -> float:
    """P(N(0, 1) >= z)."""
    from scipy.special import ndtr

    return float(ndtr(-z))


def step_down(
    z: Float[np.ndarray, " k"], null: Float[np.ndarray, "l k"]
) -> Float[np.ndarray, " k"]:
    r"""Adjusted p-values of the step-down maximum (Romano and Wolf, 2005).

    The coordinates are taken from the largest statistic down; each is compared with the maximum
    of the null over itself and all that come after it, and no p-value is smaller than one before.
    """
    order = np.argsort(-z, kind="stable")
    running = np.maximum.accumulate(null[:, order[::-1]], axis=1)[:, ::-1]
    adjusted = np.maximum.accumulate(share_at_or_above(z[order], running))
    out = np.empty_like(adjusted)
    out[order] = adjusted
    return out


def standard_error(sums: BatchSums) -> float:
    """The standard error of a statistic summed over coordinates, from its batches.

    For a mean, from the spread of batch means; for a pair statistic, the delete-one-batch
    jackknife. Draws of a chain are taken care of by the length of the batches.
    """
    batches = sums.batches
    total = sums.values.sum(axis=1)[0]
    if not sums.paired:
        mean = total.sum() / batches.lengths.sum()
        residual = total - mean * batches.lengths
        correction = batches.count / (batches.count - 1)
        return float(np.sqrt(correction * (residual**2).sum()) / batches.lengths.sum())
    allowed = np.where(batches.allowed, 1.0, 0.0)
    lengths = batches.lengths.astype(float)
    values = total * allowed
    terms = allowed * lengths[:, None] * lengths[None, :]
    both = values.sum(axis=0) + values.sum(axis=1)
    both_terms = terms.sum(axis=0) + terms.sum(axis=1)
    without = (values.sum() - both) / (terms.sum() - both_terms)
    spread = ((without - without.mean()) ** 2).sum()
    return float(np.sqrt(spread * (batches.count - 1) / batches.count))
