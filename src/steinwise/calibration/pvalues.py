"""From bootstraps to p-values: of a check, of every coordinate, of several kinds of evidence."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int

from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.signs import (
    Bootstrap,
    bootstrap,
    bootstrap_spread,
    largest_two_sided,
    rademacher,
)

EXACT_SHARE = 0.01  # of the level, for evidence that needs no bootstrap


def share_at_or_above(statistic: np.ndarray, null: np.ndarray) -> np.ndarray:
    """(1 + #{null >= statistic}) / (1 + L), over the first axis of `null`."""
    return (1.0 + (null >= statistic).sum(axis=0)) / (1.0 + len(null))


@dataclass(frozen=True, eq=False)
class FamilyVerdict:
    """What one family of settings says of its coordinates."""

    largest: Float[np.ndarray, " k"]  # over its settings, standardised
    setting: Int[np.ndarray, " k"]  # that is largest
    null: Float[np.ndarray, " l"]  # of the largest coordinate

    @property
    def pvalues(self) -> Float[np.ndarray, " k"]:
        """Of each coordinate, for having looked at all of them."""
        return share_at_or_above(self.largest, self.null[:, None])


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
    families: dict[str, FamilyVerdict] = field(default_factory=dict)

    def joined_with(self, exact: Float[np.ndarray, " k"] | None) -> "Calibration":
        """With p-values of the coordinates that hold without a bootstrap, at any dependence.

        They get a small share of the level, the bootstrap the rest.
        """
        if exact is None:
            return self

        def either(by_signs: np.ndarray, exactly: np.ndarray) -> np.ndarray:
            least = np.minimum(by_signs / (1 - EXACT_SHARE), exactly / EXACT_SHARE)
            return np.minimum(least, 1.0)

        count = len(exact)
        return replace(
            self,
            pvalue=float(either(np.asarray(self.pvalue), count * exact.min())),
            coordinate_pvalues=either(self.coordinate_pvalues, exact),
            adjusted_pvalues=either(self.adjusted_pvalues, count * exact),
        )


def averaged(verdicts: Sequence[Calibration]) -> Calibration:
    """One verdict from those on several splits of the same draws.

    Verdicts on splits depend on each other in a way that no bootstrap of one of them sees. If their
    normal scores z = Phi^-1(1 - p) are jointly normal, the mean of them has at most the variance of
    one, whatever their dependence, and is judged as one is: p = 1 - Phi(mean z). Scores of adjusted
    p-values are averaged likewise: where no coordinate is wrong, the largest mean score is at most
    the mean of the largest.
    """
    if len(verdicts) == 1:
        return verdicts[0]
    from scipy.special import ndtr, ndtri

    count = len(verdicts[0].null)
    edge = 1.0 / (1.0 + count)

    def mean_score(pvalues: Sequence[object]) -> np.ndarray:
        return -ndtri(np.clip(np.array(pvalues, float), edge, 1 - edge)).mean(axis=0)

    observed = mean_score([v.pvalue for v in verdicts])
    return replace(
        verdicts[0],
        statistic=float(np.mean([v.statistic for v in verdicts])),
        pvalue=float(ndtr(-observed)),
        normal_pvalue=None,
        observed=float(observed),
        null=ndtri((np.arange(count) + 0.5) / count),
        values=np.mean([v.values for v in verdicts], axis=0),
        coordinate_pvalues=ndtr(-mean_score([v.coordinate_pvalues for v in verdicts])),
        adjusted_pvalues=ndtr(-mean_score([v.adjusted_pvalues for v in verdicts])),
    )


@dataclass(eq=False)
class _Family:
    """One family's evidence, gathered block by block of coordinates."""

    first: BatchSums
    statistics: list[np.ndarray] = field(default_factory=list)  # (setting, k)
    z: list[np.ndarray] = field(default_factory=list)  # (k,), the largest over settings
    settings: list[np.ndarray] = field(default_factory=list)  # (k,), which
    null: list[np.ndarray] = field(default_factory=list)  # (l, k)
    total: np.ndarray | None = None  # the batch sums of all coordinates together
    total_null: np.ndarray | None = None  # (l, setting, 1)

    def add(self, block: BatchSums, signs: Float[np.ndarray, "l batch"]) -> None:
        if block.two_sided:
            z, null = largest_two_sided(block, signs)
        else:
            found = bootstrap(block, signs)
            z, null = found.standardised
            null = null.max(axis=1)
            self.statistics.append(found.statistic)
            if block.dense:  # bootstraps of a sum are the sums of bootstraps
                total = block.values.sum(axis=1, keepdims=True)
                total_null = found.null.sum(axis=2, keepdims=True)
                self.total = total if self.total is None else self.total + total
                before = self.total_null
                self.total_null = total_null if before is None else before + total_null
        self.z.append(z.max(axis=0))
        self.settings.append(z.argmax(axis=0))
        self.null.append(null)

    def joint(self) -> Bootstrap | None:
        """All coordinates summed."""
        if self.total is None or self.total_null is None:
            return None
        statistic = np.concatenate(self.statistics, axis=1).sum(axis=1, keepdims=True)
        spread = bootstrap_spread(BatchSums(self.total, self.first.batches))
        return Bootstrap(statistic, spread, self.total_null)


def calibrate(
    blocks: Iterable[BatchSums],
    n_bootstrap: int,
    seed: object,
    weights: Callable[[object, int, int], Float[np.ndarray, "l batch"]] = rademacher,
) -> Calibration:
    """p-values of all coordinates together, largest over settings, and of every coordinate."""
    signs: np.ndarray | None = None
    families: dict[str, _Family] = {}
    for block in blocks:
        if signs is None:
            signs = weights(seed, n_bootstrap, block.batches.count)
        families.setdefault(block.family, _Family(block)).add(block, signs)
    z_k = {name: np.concatenate(family.z) for name, family in families.items()}
    null_k = {name: np.concatenate(family.null, axis=1) for name, family in families.items()}
    settings = {name: np.concatenate(family.settings) for name, family in families.items()}
    found = ((name, family.joint()) for name, family in families.items())
    joint = {name: one for name, one in found if one is not None}
    standardised = {name: one.standardised for name, one in joint.items()}

    candidates = [
        (families[name].first.dense, z.max(), null.max(axis=(1, 2)))
        for name, (z, null) in standardised.items()
    ]
    candidates += [
        (family.first.sparse, z_k[name].max(), null_k[name].max(axis=1))
        for name, family in families.items()
        if family.first.sparse
    ]
    observed, null = _together(candidates)

    main = next(iter(joint))
    one_setting = len(joint) == 1 and len(joint[main].statistic) == 1
    if one_setting:
        statistic = joint[main].statistic[0, 0]
        values = np.concatenate([one[0] for one in families[main].statistics])
    else:
        statistic = max(z.max() for z, _ in standardised.values())
        values = np.concatenate(
            [np.max([z_k[name] for name in joint if name in m], axis=0) for m in _groups(families)]
        )
    lone_mean = len(candidates) == 1 and one_setting and not families[main].first.paired
    judged = [
        _per_coordinate({n: (families[n].first.sparse or 1.0, z_k[n], null_k[n]) for n in names})
        for names in _groups(families)
    ]
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
        families={
            name: FamilyVerdict(z_k[name], settings[name], null.max(axis=1))
            for name, null in null_k.items()
        },
    )


def _groups(families: dict[str, _Family]) -> list[list[str]]:
    """The names of the families of each group of coordinates."""
    groups = dict.fromkeys(family.first.group for family in families.values())
    return [[n for n, f in families.items() if f.first.group == group] for group in groups]


_Evidence = tuple[float, np.ndarray, np.ndarray]  # weight, observed, null


def _together(candidates: list[_Evidence]) -> tuple[np.ndarray, np.ndarray]:
    """The largest of several statistics after each is put on the scale of its own null."""
    if len(candidates) == 1:
        return candidates[0][1:]
    scored = [tail_scores(*candidate) for candidate in candidates]
    observed = np.max([one for one, _ in scored], axis=0)
    return observed, np.max([null for _, null in scored], axis=0)


def _per_coordinate(families: dict[str, _Evidence]) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """For every coordinate the largest over families, each on the scale of its pooled null."""
    names = list(families)
    if len(names) == 1:
        _, z, null = families[names[0]]
        return z, null, names * len(z)
    scored = [tail_scores(*evidence) for evidence in families.values()]
    every = np.stack([one for one, _ in scored])
    largest = every.argmax(axis=0)
    null_scores = np.max([other for _, other in scored], axis=0)
    return every.max(axis=0), null_scores, [names[index] for index in largest]


def tail_scores(
    weight: float, observed: np.ndarray, null: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """log of the weight over the tail above each value, whose top twentieth is exponential.

    The tail is that of all values, the observed among them: nothing then tells the observed from
    the null, and the rank of its score is as calibrated as its own rank.
    """
    pool = np.append(null, observed)
    order = np.argsort(pool)
    values, size = pool[order], len(pool)
    top = size - max(2, size // 20)
    first = np.maximum.accumulate(
        np.where(np.diff(values, prepend=-np.inf) > 0, np.arange(size), 0)
    )
    tail = np.log(weight * size / (size - np.minimum(first, top) - 0.5))  # ties: at or above
    rate = 1 / max(float((values[top:] - values[top]).mean()), 1e-12)
    scores = np.empty(size)
    scores[order] = tail + np.maximum(values - values[top], 0.0) * rate
    return scores[null.size :].reshape(observed.shape), scores[: null.size].reshape(null.shape)


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
