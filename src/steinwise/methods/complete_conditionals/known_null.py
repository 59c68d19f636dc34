r"""The check of a single coordinate of independent draws, whose null distribution is known.

Places u of correct draws are then independent uniform numbers, or outcomes of known probabilities,
and the statistic is a function of them alone. So correct draws are simulated, where in general
random signs are given to the draws at hand. The level is exact with any number of draws and with
outcomes however rare. And the scale does not come from the draws: with signs, the few draws that
are far out widen the null that they are judged by.

Any fixed combination of statistics then keeps the level. Looked at are

- with "shift", the first Hermite polynomial of the normal scores;
- with "tails", the second, the third, the fourth in units of its own spread, which is small where
  draws avoid the tails, and the sum over pairs of draws of all four;
- with "shape", the sum over pairs of the Stein kernel.

Each has a p-value among the simulated ones, p_k, on both sides if it has a sign, and the check
compares the weighted mean of 1 / p_k with that of correct draws.

What it finds is in `benchmarks.power --suite support`: the Gamma, Bernoulli and single rows.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp, ndtri

from steinwise._internal.memory import chunks
from steinwise._internal.random import stream
from steinwise.calibration.batches import Batches
from steinwise.calibration.families import tail_scores
from steinwise.calibration.pvalues import Calibration, FamilyVerdict, share_at_or_above
from steinwise.methods.complete_conditionals.outcome_sums import OutcomeSums
from steinwise.methods.complete_conditionals.step_terms import step_terms
from steinwise.methods.complete_conditionals.terms import TermLayout, terms_of
from steinwise.orbits.places import Places

# Simulations cost as much as their draws: 1000 of 2000 draws take half a CPU second. Lines of more
# draws are followed only where a user asks for all.
MOST_DRAWS = 2000
DRAWS_AT_ONCE = 2**16
# What a shift counts against any other kind of fault: shifts are what real faults look like. In
# simulations of the statistic for 15 faults of one coordinate, n = 50 to 500, weights 12 / 16 / 20
# find 0.63 / 0.63 / 0.62 on average, for 10 others 0.48 / 0.47 / 0.47; the largest of statistics in
# standard deviations 0.62 and 0.47. 12 is best there; 16 was taken, with all 25 seen, for the sake
# of shifts, of which it finds up to 0.05 more than that largest; of Laplace draws 0.05 fewer.
SHIFT_WEIGHT = 16.0
DIGITS = 4  # of a statistic in standard deviations: equal ones of discrete draws differ by rounding
NOTHING = 1e-9  # a standard deviation of a draw's term that is 0 but for rounding
ROUNDING = 1e-9  # relative: by which equal combinations may differ


class _Kind(NamedTuple):
    """What a statistic belongs to, and how it is judged."""

    base: int
    weight: float
    two_sided: bool


def simulated_calibration(
    sums: Float[np.ndarray, "batch term"],
    layout: TermLayout,
    bases: Sequence[str],
    batches: Batches,
    outcomes: OutcomeSums | None,
    family: str,
    n_bootstrap: int,
    seed: object,
) -> Calibration:
    """The verdict on a coordinate from the batch sums of its terms.

    `outcomes` are those of a discrete coordinate.
    """
    draws = int(batches.bounds[-1])
    terms = _terms_of_places if outcomes is None else _OutcomeTerms(outcomes)
    rng = stream(seed, "right draws")
    statistics = [_statistics(sums.astype(np.float64)[None], layout, bases, draws)]
    for part in chunks(n_bootstrap, max(1, DRAWS_AT_ONCE // draws)):
        of_draws = terms(rng, draws, part.stop - part.start)
        simulated = np.add.reduceat(of_draws, batches.bounds[:-1], axis=2)
        statistics.append(_statistics(simulated.transpose(1, 2, 0), layout, bases, draws))
    kinds = list(_kinds(bases))
    scores = _scores(np.concatenate(statistics), kinds)
    combined = logsumexp(scores, axis=0) - np.log(sum(kind.weight for kind in kinds))
    observed, null = float(combined[0]), combined[1:]
    pvalue = float(share_at_or_above(np.array(observed - ROUNDING * abs(observed)), null))
    setting = kinds[int(scores[:, 0].argmax())].base
    one = np.array([pvalue])
    return Calibration(
        statistic=observed,
        pvalue=pvalue,
        normal_pvalue=None,
        null=null,
        values=np.array([observed]),
        coordinate_pvalues=one,
        adjusted_pvalues=one,
        deciding=((family, setting),),
        families={family: FamilyVerdict(np.array([observed]), np.array([setting]), null)},
    )


def threshold_of_kind(threshold: float, base: str, bases: Sequence[str]) -> float:
    """How far from 0, in standard deviations, a sum of terms decides by itself.

    `threshold` is that of all statistics combined. About: as if its null were normal.
    """
    kinds = list(_kinds(bases))
    weight = next(kind.weight for kind in kinds if bases[kind.base] == base)
    p = weight / sum(kind.weight for kind in kinds) * np.exp(-threshold)
    return float(-ndtri(min(p, 1.0) / 2))


def _terms_of_places(
    rng: np.random.Generator, draws: int, count: int
) -> Float[np.ndarray, "term count draws"]:
    """Terms of correct draws of a continuous coordinate; 32 bit, at less than half of the cost."""
    z = rng.standard_normal((draws, count))
    return terms_of(Places.of_normal_scores(z), np.dtype(np.float32))


class _OutcomeTerms:
    """Terms of correct draws of a discrete coordinate."""

    def __init__(self, outcomes: OutcomeSums) -> None:
        expected = outcomes.shares[0].expected
        p = expected / expected.sum()
        self.cumulative = np.cumsum(p)
        below, above = self.cumulative - p, np.cumsum(p[::-1])[::-1] - p
        self.terms = step_terms(below[None], p[None], above[None], np.zeros(1))[:, 0]

    def __call__(
        self, rng: np.random.Generator, draws: int, count: int
    ) -> Float[np.ndarray, "term count draws"]:
        drawn = np.searchsorted(self.cumulative, rng.random((count, draws)), side="right")
        return self.terms[:, np.minimum(drawn, len(self.cumulative) - 1)]


def _kinds(bases: Sequence[str]) -> Iterator[_Kind]:
    """Of all statistics, in their order."""
    for number, base in enumerate(bases):
        if base == "shift":
            yield _Kind(number, SHIFT_WEIGHT, two_sided=True)
            continue
        if base == "tails":
            yield from [_Kind(number, 1.0, two_sided=True)] * 3
        yield _Kind(number, 1.0, two_sided=False)


def _statistics(
    sums: Float[np.ndarray, "count batch term"],
    layout: TermLayout,
    bases: Sequence[str],
    draws: int,
) -> Float[np.ndarray, "count statistic"]:
    """Of every simulation, from its sums over batches; those of terms that are 0 are 0."""
    hermite = sums[:, :, layout.bases["tails"][0]] / np.sqrt(draws)
    total, spread = hermite.sum(axis=1), np.sqrt((hermite**2).sum(axis=1))
    total = np.where(spread > NOTHING, total, 0.0)
    columns = []
    for base in bases:
        if base == "shift":
            columns.append(total[:, 0])
            continue
        if base == "tails":
            of_its_own = total[:, 3] / np.maximum(spread[:, 3], NOTHING)
            columns += [total[:, 1], total[:, 2], of_its_own]
        left, right = (np.swapaxes(s, 1, 2) for s in layout.sides(base, np.swapaxes(sums, 1, 2)))
        columns.append(_over_pairs(left, right))
    return np.stack(columns, axis=1)


def _over_pairs(
    left: Float[np.ndarray, "count batch t"], right: Float[np.ndarray, "count batch t"]
) -> Float[np.ndarray, " count"]:
    """The sum over pairs of batches of <left_g, right_h>."""
    own = np.einsum("ngt,ngt->n", left, right)
    return np.einsum("nt,nt->n", left.sum(axis=1), right.sum(axis=1)) - own


def _scores(
    statistics: Float[np.ndarray, "count statistic"], kinds: Sequence[_Kind]
) -> Float[np.ndarray, "statistic count"]:
    """log(weight / p) of every statistic among all of its kind."""
    unit = statistics[1:].std(axis=0)  # the first are those of the draws
    z = np.round(statistics / np.where(unit > 0, unit, np.inf), DIGITS).T
    return np.stack([_scores_of_kind(one, kind) for one, kind in zip(z, kinds, strict=True)])


def _scores_of_kind(z: Float[np.ndarray, " count"], kind: _Kind) -> Float[np.ndarray, " count"]:
    def above(z: np.ndarray) -> np.ndarray:
        return np.concatenate(tail_scores(kind.weight, z[:1], z[1:]))

    if not kind.two_sided:
        return above(z)
    square = z * np.abs(z)  # the tails of a normal are about exponential in it
    return np.maximum(above(square), above(-square)) - np.log(2)
