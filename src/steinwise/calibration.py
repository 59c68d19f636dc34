r"""Signs for batches, and the p-values that follow from them.

A mean statistic has batch sums S_g, a pair statistic U_gh. With one Rademacher sign per batch the
bootstrap is sum_g eps_g S_g or sum_gh eps_g eps_h U_gh over the allowed pairs. The same signs serve
all settings and coordinates, so that a maximum over them is calibrated jointly.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from steinwise.batches import Batches
from steinwise.random import stream
from steinwise.statistics import BatchSums

FILL = 32


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
        with jax.enable_x64(True):
            null = np.asarray(_linear_forms(_filled(signs, 1), _filled(values, 2)))
        scale = np.sqrt((values**2).sum(axis=-1))
        return Bootstrap(values.sum(axis=-1) / terms, scale / terms, null / terms)
    values, terms = np.where(sums.batches.allowed, sums.values, 0.0), sums.batches.pairs
    symmetric = (values + np.swapaxes(values, -1, -2)) / 2
    # U_gh has U_hg as its mirror: sum over g != h of eps_g eps_h U_gh has variance 2 sum U_sym^2
    scale = np.sqrt(2 * (symmetric**2).sum(axis=(-1, -2)))
    with jax.enable_x64(True):
        flat = symmetric.reshape(-1, *symmetric.shape[2:])
        forms = np.asarray(_quadratic_forms(_filled(signs, 1), _filled(flat, 1, 2)))
    null = forms.T.reshape(len(signs), *values.shape[:2])
    return Bootstrap(values.sum(axis=(-1, -2)) / terms, scale / terms, null / terms)


# compiled rather than left to NumPy: BLAS threads spin on a busy machine, at many times the cost


def _filled(array: np.ndarray, *axes: int) -> np.ndarray:
    """Zeros up to a multiple of FILL batches, so that few shapes are compiled."""
    width = [(0, -array.shape[k] % FILL if k in axes else 0) for k in range(array.ndim)]
    return np.pad(array, width)


@jax.jit
def _linear_forms(signs: Array, values: Array) -> Array:
    return jnp.einsum("lg,skg->lsk", signs, values)


@jax.jit
def _quadratic_forms(signs: Array, matrices: Array) -> Array:
    return jax.lax.map(lambda matrix: jnp.sum((signs @ matrix) * signs, axis=1), matrices)


def largest_over_settings(
    sums: BatchSums, signs: Float[np.ndarray, "l batch"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Statistics and standardised statistics (setting, k), and the null's largest (l, k)."""
    if sums.paired or not sums.two_sided:
        found = bootstrap(sums, signs)
        z, null = found.standardised
        return found.statistic, z, null.max(axis=1)
    # many settings: their bootstraps never exist all at once
    scale = np.sqrt((sums.values**2).sum(axis=-1))
    scaled = sums.values / np.where(scale > 0, scale, np.inf)[..., None]
    with jax.enable_x64(True):
        forms = _largest_forms(_filled(signs, 1), _filled(scaled.swapaxes(0, 1), 2))
        null = np.asarray(forms).T
    total = sums.values.sum(axis=-1)
    return total / sums.batches.lengths.sum(), np.abs(scaled.sum(axis=-1)), null


@jax.jit
def _largest_forms(signs: Array, values: Array) -> Array:
    return jax.lax.map(lambda one: jnp.max(jnp.abs(signs @ one.T), axis=1), values)


@dataclass(frozen=True, eq=False)
class Calibration:
    """A verdict on all coordinates together and on each."""

    statistic: float  # the discrepancy of a method with one setting, else the largest z
    pvalue: float
    normal_pvalue: float | None  # a cross-check that needs no bootstrap; for one mean only
    observed: float  # what was compared with the null
    null: Float[np.ndarray, " l"]
    values: Float[np.ndarray, " k"]  # the same per coordinate
    coordinate_pvalues: Float[np.ndarray, " k"]
    adjusted_pvalues: Float[np.ndarray, " k"]
    deciding: tuple[tuple[str, int], ...]  # per coordinate, the family and setting that decided
    settings: dict[str, np.ndarray]  # per family, the setting that is largest in each coordinate
    largest_null: dict[str, np.ndarray]  # per family, the null of the largest coordinate


@dataclass(eq=False)
class _Family:
    """One family's evidence, gathered block by block of coordinates."""

    first: BatchSums
    total: np.ndarray
    statistics: list[np.ndarray]  # (setting, k)
    z: list[np.ndarray]  # (k,), the largest over settings
    settings: list[np.ndarray]  # (k,), which
    null: list[np.ndarray]  # (l, k)


def calibrate(
    blocks: Iterable[BatchSums], batches: Batches, n_bootstrap: int, seed: object
) -> Calibration:
    """p-values of all coordinates together, largest over settings, and of every coordinate."""
    signs = rademacher(seed, n_bootstrap, batches.count)
    families: dict[str, _Family] = {}
    for block in blocks:
        statistic, z, null = largest_over_settings(block, signs)
        family = families.setdefault(block.family, _Family(block, np.zeros(()), [], [], [], []))
        if block.dense:  # the groups have totals of their own: their families have other names
            family.total = family.total + block.values.sum(axis=1, keepdims=True)
        family.statistics.append(statistic)
        family.z.append(z.max(axis=0))
        family.settings.append(z.argmax(axis=0))
        family.null.append(null)

    z_k = {name: np.concatenate(family.z) for name, family in families.items()}
    null_k = {name: np.concatenate(family.null, axis=1) for name, family in families.items()}
    dense = {name: family for name, family in families.items() if family.first.dense}
    joint = {name: bootstrap(BatchSums(f.total, batches), signs) for name, f in dense.items()}

    candidates = [
        (z[:, 0].max(), null[:, :, 0].max(axis=1))
        for z, null in (found.standardised for found in joint.values())
    ]
    candidates += [
        (z_k[name].max(), null_k[name].max(axis=1))
        for name, family in families.items()
        if family.first.sparse
    ]
    observed, null = _together(candidates)

    main = next(iter(dense))
    one_setting = len(joint) == 1 and len(joint[main].statistic) == 1
    if one_setting:
        statistic = joint[main].statistic[0, 0]
        values = np.concatenate([one[0] for one in families[main].statistics])
    else:
        statistic = max(found.standardised[0].max() for found in joint.values())
        values = np.concatenate([z_k[name] for name in dense])
    lone_mean = len(candidates) == 1 and one_setting and not families[main].first.paired
    settings = {name: np.concatenate(family.settings) for name, family in families.items()}
    groups = dict.fromkeys(family.first.group for family in families.values())
    members = [[n for n, f in families.items() if f.first.group == group] for group in groups]
    judged = [_per_coordinate({n: z_k[n] for n in m}, {n: null_k[n] for n in m}) for m in members]
    scores = np.concatenate([one for one, _, _ in judged])
    null_scores = np.concatenate([other for _, other, _ in judged], axis=1)
    return Calibration(
        statistic=float(statistic),
        pvalue=float(share_at_or_above(observed, null)),
        normal_pvalue=normal_tail(float(observed)) if lone_mean else None,
        observed=float(observed),
        null=null,
        values=values,
        coordinate_pvalues=share_at_or_above(scores, null_scores),
        adjusted_pvalues=step_down(scores, null_scores),
        deciding=tuple(
            (name, int(settings[name][k]))
            for _, _, deciding in judged
            for k, name in enumerate(deciding)
        ),
        settings=settings,
        largest_null={name: null.max(axis=1) for name, null in null_k.items()},
    )


def _together(
    candidates: list[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """The largest of several statistics after each is put on the scale of its own null."""
    if len(candidates) == 1:
        return candidates[0]
    scored = [tail_scores(observed, null, null) for observed, null in candidates]
    observed = np.max([one for one, _ in scored], axis=0)
    return observed, np.max([null for _, null in scored], axis=0)


def _per_coordinate(
    z: dict[str, np.ndarray], null: dict[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """For every coordinate the largest over families, each on the scale of its pooled null."""
    names = list(z)
    if len(names) == 1:
        return z[names[0]], null[names[0]], names * len(z[names[0]])
    scored = [tail_scores(z[name], null[name], null[name].ravel()) for name in names]
    every = np.stack([one for one, _ in scored])
    largest = every.argmax(axis=0)
    null_scores = np.max([other for _, other in scored], axis=0)
    return every.max(axis=0), null_scores, [names[index] for index in largest]


def tail_scores(
    observed: np.ndarray, null: np.ndarray, pool: Float[np.ndarray, " m"]
) -> tuple[np.ndarray, np.ndarray]:
    """-log of the pool's tail above each value, going on as an exponential beyond the pool."""
    pool = np.sort(pool)
    values, first = np.unique(pool, return_index=True)  # ties count as at or above
    tail = -np.log((len(pool) - first - 0.5) / len(pool))
    excess = pool[-max(1, len(pool) // 20) :] - pool[-max(1, len(pool) // 20)]
    rate = 1 / max(float(excess.mean()), 1e-12)

    def score(at: np.ndarray) -> np.ndarray:
        beyond = np.maximum(at - pool[-1], 0.0) * rate
        return np.interp(at, values, tail) + beyond

    return score(observed), score(null)


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
