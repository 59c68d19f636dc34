"""p-values: of a check, of every coordinate, and of verdicts on several splits."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int

EXACT_SHARE = 0.01  # of the level, for evidence that needs no bootstrap; little power is lost to it


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

    statistic: float  # what is compared with the null
    pvalue: float
    normal_pvalue: float | None  # a cross-check that needs no bootstrap; for one mean only
    null: Float[np.ndarray, " l"]
    # the discrepancy per coordinate, else the largest z
    values: Float[np.ndarray, " k"]
    coordinate_pvalues: Float[np.ndarray, " k"]
    adjusted_pvalues: Float[np.ndarray, " k"]
    deciding: tuple[tuple[str, int], ...]  # per coordinate, the family and setting that decided
    families: dict[str, FamilyVerdict] = field(default_factory=dict)
    discrepancy: float | None = None  # of a method that has one, in its own units
    largest_share: float = 0.0  # of a single batch, or pair of batches, in the null's variance

    @classmethod
    def of_all_together(
        cls,
        statistic: float,
        pvalue: float,
        null: Float[np.ndarray, " l"],
        *,
        discrepancy: float | None = None,
        largest_share: float = 0.0,
    ) -> "Calibration":
        """A verdict on all coordinates together that says nothing of single ones."""
        nothing = np.empty(0)
        return cls(
            statistic=statistic,
            pvalue=pvalue,
            normal_pvalue=None,
            null=null,
            values=nothing,
            coordinate_pvalues=nothing,
            adjusted_pvalues=nothing,
            deciding=(),
            discrepancy=discrepancy,
            largest_share=largest_share,
        )

    def joined_with(self, exact: Float[np.ndarray, " k"]) -> "Calibration":
        """With p-values of the coordinates that hold without a bootstrap, at any dependence.

        They get a small share of the level, the bootstrap the rest.
        """

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


def average_over_splits(verdicts: Sequence[Calibration]) -> Calibration:
    """One verdict from those on several splits of the same draws.

    Verdicts on splits depend on each other in a way that no bootstrap of one of them sees. If their
    normal scores z = Phi^-1(1 - p) are jointly normal, the mean of them has at most the variance of
    one, whatever their dependence, and is judged as one is: p = 1 - Phi(mean z). Scores of adjusted
    p-values are averaged in the same way: where no coordinate is wrong, the largest mean score is
    at most the mean of the largest.
    """
    if len(verdicts) == 1:
        return verdicts[0]
    from scipy.special import ndtr, ndtri

    count = len(verdicts[0].null)
    edge = 1.0 / (1.0 + count)

    def mean_score(pvalues: Sequence[object]) -> np.ndarray:
        return -ndtri(np.clip(np.array(pvalues, float), edge, 1 - edge)).mean(axis=0)

    score = mean_score([v.pvalue for v in verdicts])
    known = [v.discrepancy for v in verdicts if v.discrepancy is not None]
    return replace(
        verdicts[0],
        statistic=float(score),
        pvalue=float(ndtr(-score)),
        normal_pvalue=None,
        null=ndtri((np.arange(count) + 0.5) / count),
        values=np.mean([v.values for v in verdicts], axis=0),
        coordinate_pvalues=ndtr(-mean_score([v.coordinate_pvalues for v in verdicts])),
        adjusted_pvalues=ndtr(-mean_score([v.adjusted_pvalues for v in verdicts])),
        discrepancy=float(np.mean(known)) if known else None,
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
