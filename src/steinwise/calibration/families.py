"""Several kinds of evidence, put on one scale and judged together.

A family is a set of settings that are judged by their largest; a group of coordinates has its own
families. All share the same signs, so that any maximum over them is calibrated jointly.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.pvalues import (
    Calibration,
    FamilyVerdict,
    normal_tail,
    share_at_or_above,
    step_down,
)
from steinwise.calibration.signs import (
    Bootstrap,
    bootstrap,
    bootstrap_spread,
    largest_two_sided,
    rademacher,
)

BootstrapWeights = Callable[[object, int, int], Float[np.ndarray, "l batch"]]


@dataclass(eq=False)
class _FamilyEvidence:
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
            bootstrapped = bootstrap(block, signs)
            z, null = bootstrapped.standardised
            null = null.max(axis=1)
            self.statistics.append(bootstrapped.statistic)
            if block.sum_weight:  # bootstraps of a sum are the sums of bootstraps
                total = block.values.sum(axis=1, keepdims=True)
                total_null = bootstrapped.null.sum(axis=2, keepdims=True)
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


class Calibrator:
    """Gathers the batch sums of a statistic, block by block, and judges them all at the end.

    Blocks may hold some coordinates, or some families, at a time: their bootstraps never exist all
    at once.
    """

    def __init__(
        self, n_bootstrap: int, seed: object, weights: BootstrapWeights = rademacher
    ) -> None:
        self._n_bootstrap, self._seed, self._weights = n_bootstrap, seed, weights
        self._signs: np.ndarray | None = None
        self._families: dict[str, _FamilyEvidence] = {}

    def add(self, block: BatchSums) -> None:
        """Bootstrap some batch sums and keep what came out."""
        if self._signs is None:
            self._signs = self._weights(self._seed, self._n_bootstrap, block.batches.count)
        self._families.setdefault(block.family, _FamilyEvidence(block)).add(block, self._signs)

    def calibration(self) -> Calibration:
        """p-values of all coordinates together, largest over settings, and of every coordinate."""
        return _judge(self._families)


def calibrate(
    blocks: Iterable[BatchSums],
    n_bootstrap: int,
    seed: object,
    weights: BootstrapWeights = rademacher,
) -> Calibration:
    """The p-values of batch sums."""
    calibrator = Calibrator(n_bootstrap, seed, weights)
    for block in blocks:
        calibrator.add(block)
    return calibrator.calibration()


def _judge(families: dict[str, _FamilyEvidence]) -> Calibration:
    z_k = {name: np.concatenate(family.z) for name, family in families.items()}
    null_k = {name: np.concatenate(family.null, axis=1) for name, family in families.items()}
    chosen = {name: np.concatenate(family.settings) for name, family in families.items()}
    sums = ((name, family.joint()) for name, family in families.items())
    joint = {name: bootstrapped for name, bootstrapped in sums if bootstrapped is not None}
    standardised = {name: bootstrapped.standardised for name, bootstrapped in joint.items()}

    candidates = [
        (families[name].first.sum_weight, z.max(), null.max(axis=(1, 2)))
        for name, (z, null) in standardised.items()
    ]
    candidates += [
        (family.first.max_weight, z_k[name].max(), null_k[name].max(axis=1))
        for name, family in families.items()
        if family.first.max_weight
    ]
    observed, null = largest_of(candidates)

    main = next(iter(joint))
    one_setting = len(joint) == 1 and len(joint[main].statistic) == 1
    if one_setting:
        statistic = joint[main].statistic[0, 0]
        values = np.concatenate([settings[0] for settings in families[main].statistics])
    else:
        statistic = max(z.max() for z, _ in standardised.values())
        values = np.concatenate(
            [np.max([z_k[name] for name in joint if name in m], axis=0) for m in _groups(families)]
        )
    lone_mean = len(candidates) == 1 and one_setting and not families[main].first.paired
    by_group = [
        largest_per_coordinate(
            {n: (families[n].first.max_weight or 1.0, z_k[n], null_k[n]) for n in names}
        )
        for names in _groups(families)
    ]
    scores = np.concatenate([observed for observed, _, _ in by_group])
    null_scores = np.concatenate([null for _, null, _ in by_group], axis=1)
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
            (name, int(chosen[name][k]))
            for _, _, deciding in by_group
            for k, name in enumerate(deciding)
        ),
        families={
            name: FamilyVerdict(z_k[name], chosen[name], null.max(axis=1))
            for name, null in null_k.items()
        },
    )


def _groups(families: dict[str, _FamilyEvidence]) -> list[list[str]]:
    """The names of the families of each group of coordinates."""
    groups = dict.fromkeys(family.first.group for family in families.values())
    return [[n for n, f in families.items() if f.first.group == group] for group in groups]


_Evidence = tuple[float, np.ndarray, np.ndarray]  # weight, observed, null


def largest_of(candidates: list[_Evidence]) -> tuple[np.ndarray, np.ndarray]:
    """The largest of several statistics after each is put on the scale of its own null."""
    if len(candidates) == 1:
        return candidates[0][1:]
    scored = [tail_scores(*candidate) for candidate in candidates]
    observed = np.max([score for score, _ in scored], axis=0)
    return observed, np.max([null for _, null in scored], axis=0)


def largest_per_coordinate(
    families: dict[str, _Evidence],
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """For every coordinate the largest over families, each on the scale of its pooled null."""
    names = list(families)
    if len(names) == 1:
        _, z, null = families[names[0]]
        return z, null, names * len(z)
    scored = [tail_scores(*evidence) for evidence in families.values()]
    scores = np.stack([score for score, _ in scored])
    largest = scores.argmax(axis=0)
    null_scores = np.max([null for _, null in scored], axis=0)
    return scores.max(axis=0), null_scores, [names[index] for index in largest]


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
