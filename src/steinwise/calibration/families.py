"""Several kinds of evidence, put on one scale and judged together.

A family is a set of settings that are judged by their largest; a group of coordinates has its own
families. All share the same signs, so that any maximum over them is calibrated jointly.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise.calibration.batch_sums import BatchSums, KnownSquares
from steinwise.calibration.pvalues import (
    Calibration,
    FamilyVerdict,
    normal_tail,
    share_at_or_above,
    step_down,
)
from steinwise.calibration.signs import (
    BOOTSTRAPS_AT_ONCE,
    Bootstrap,
    BootstrapWeights,
    PairSigns,
    bootstrap,
    bootstrap_spread,
    largest_share,
    largest_two_sided,
    of_one_size,
    rademacher,
)
from steinwise.errors import InputError

# Arrays of the size of all null distributions that exist at once when they are judged, and
# bootstraps that are never refused: with these the null is smaller than other working arrays.
COPIES_OF_NULL, ALWAYS_FIT = 4, 1000


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
    known: KnownSquares | None = None  # of all coordinates together

    def add(
        self,
        block: BatchSums,
        weights: Iterable[Float[np.ndarray, "l batch"]],
        of_pairs: PairSigns | None = None,
    ) -> None:
        """The evidence of a block, from the weights of all bootstraps in chunks.

        `of_pairs` are those of the only chunk, if there is one.
        """
        evidence = [_block_evidence(block, some, of_pairs) for some in of_one_size(weights)]
        first = evidence[0]
        if first.statistic is not None:
            self.statistics.append(first.statistic)
        totals = [part.total_null for part in evidence if part.total_null is not None]
        if totals:  # bootstraps of a sum are the sums of bootstraps
            total = block.values.sum(axis=1, keepdims=True)
            total_null = np.concatenate(totals)
            self.total = total if self.total is None else self.total + total
            before = self.total_null
            self.total_null = total_null if before is None else before + total_null
        if block.known is not None:
            known = block.known.total
            self.known = known if self.known is None else self.known.added(known)
        self.z.append(first.z.max(axis=0))
        self.settings.append(first.z.argmax(axis=0))
        self.null.append(np.concatenate([part.null for part in evidence]))

    def largest_share(self) -> float:
        """How much of all coordinates summed a single term is; 0 where they have no sum."""
        if self.total is None:
            return 0.0
        return largest_share(BatchSums(self.total, self.first.batches))

    def joint(self) -> Bootstrap | None:
        """All coordinates summed."""
        if self.total is None or self.total_null is None:
            return None
        statistic = np.concatenate(self.statistics, axis=1).sum(axis=1, keepdims=True)
        spread = bootstrap_spread(BatchSums(self.total, self.first.batches))
        caution = 1.0 if self.known is None else self.known.caution
        return Bootstrap(statistic, spread, self.total_null, caution)


class _BlockEvidence(NamedTuple):
    """A block of coordinates with some of the bootstraps."""

    z: Float[np.ndarray, "setting k"]
    null: Float[np.ndarray, "l k"]  # the largest over settings
    statistic: Float[np.ndarray, "setting k"] | None = None
    total_null: Float[np.ndarray, "l setting 1"] | None = None  # summed over the coordinates


def _block_evidence(
    block: BatchSums,
    weights: tuple[Float[np.ndarray, "l batch"], int],
    of_pairs: PairSigns | None,
) -> _BlockEvidence:
    signs, count = weights
    if block.two_sided:
        z, null = largest_two_sided(block, signs)
        return _BlockEvidence(z / block.caution, null[:count])
    bootstrapped = bootstrap(block, signs, of_pairs)
    z, null = bootstrapped.standardised
    total_null = None
    if block.sum_weight:
        total_null = bootstrapped.null[:count].sum(axis=2, keepdims=True)
    return _BlockEvidence(z, null[:count].max(axis=1), bootstrapped.statistic, total_null)


def require_room(n_bootstrap: int, columns: int, memory: int) -> None:
    """Refuse more bootstraps than fit into memory, with a null distribution for each column."""
    most = memory // (8 * COPIES_OF_NULL * columns)
    if n_bootstrap > max(most, ALWAYS_FIT):
        needed = 8 * COPIES_OF_NULL * columns * n_bootstrap
        raise InputError(
            f"n_bootstrap is {n_bootstrap}: their null distributions take {needed:.2g} bytes, and "
            f"memory is {memory:.2g}. Take at most {max(most, ALWAYS_FIT)}, or a larger memory=. "
            "A level so small that it needs more cannot be tested with bootstraps."
        )


class Calibrator:
    """Gathers the batch sums of a statistic, block by block, and judges them all at the end.

    Blocks may hold some coordinates, or some families, at a time: their bootstraps never exist all
    at once, nor do the signs of many bootstraps.
    """

    def __init__(
        self, n_bootstrap: int, seed: object, weights: BootstrapWeights = rademacher
    ) -> None:
        self._n_bootstrap, self._seed, self._weights = n_bootstrap, seed, weights
        self._only_chunk: PairSigns | None = None
        self._families: dict[str, _FamilyEvidence] = {}

    def add(self, block: BatchSums) -> None:
        """Bootstrap some batch sums and keep what came out."""
        family = self._families.setdefault(block.family, _FamilyEvidence(block))
        count = block.batches.count
        if self._n_bootstrap > BOOTSTRAPS_AT_ONCE:  # weights are drawn anew for every block
            family.add(block, self._weights.chunks(self._seed, self._n_bootstrap, count))
            return
        if self._only_chunk is None:
            self._only_chunk = PairSigns(self._weights(self._seed, self._n_bootstrap, count))
        family.add(block, [self._only_chunk.signs], self._only_chunk)

    def forget(self, prefix: str) -> None:
        """Leave out the families whose names begin like this."""
        kept = {name: one for name, one in self._families.items() if not name.startswith(prefix)}
        self._families = kept

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
        discrepancy = float(joint[main].statistic[0, 0])
        values = np.concatenate([settings[0] for settings in families[main].statistics])
    else:
        discrepancy = None
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
        statistic=float(observed),
        pvalue=float(share_at_or_above(observed, null)),
        normal_pvalue=normal_tail(float(observed)) if lone_mean else None,
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
        discrepancy=discrepancy,
        largest_share=min(family.largest_share() for family in families.values()),
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
