r"""The check of a single coordinate of independent draws, whose null distribution is known.

Places u of right draws are then independent uniform numbers, or outcomes of known probabilities,
and the statistic is a function of them alone. So right draws are simulated, where in general random
signs are given to the draws at hand. The level is exact with any number of draws and with outcomes
however rare. And the scale does not come from the draws: with signs, the few draws that are far out
widen the null that they are judged by.

Two statistics are added that signs could not calibrate, or that would cost the others more than
they bring: with "shift" the first Hermite polynomial by itself, and with "tails" the same in units
of its own spread, which is small where draws avoid the tails.

What it finds is in `benchmarks.power --suite support`: the Gamma, Bernoulli and single rows.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from steinwise._internal.memory import chunks
from steinwise._internal.random import stream
from steinwise.calibration.batches import Batches
from steinwise.calibration.pvalues import Calibration, FamilyVerdict, share_at_or_above
from steinwise.methods.complete_conditionals.outcome_sums import OutcomeSums
from steinwise.methods.complete_conditionals.step_terms import step_terms
from steinwise.methods.complete_conditionals.terms import TermLayout, terms_of
from steinwise.orbits.places import Places

# Simulations cost as much as their draws: 1000 of 2000 draws take half a CPU second. Lines of more
# draws are followed only where a user asks for all.
MOST_DRAWS = 2000
DRAWS_AT_ONCE = 2**16
ROUNDING = 1e-9  # relative: by which equal statistics of discrete draws may differ


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
    null = []
    for part in chunks(n_bootstrap, max(1, DRAWS_AT_ONCE // draws)):
        of_draws = terms(rng, draws, part.stop - part.start)
        simulated = np.add.reduceat(of_draws, batches.bounds[:-1], axis=2)
        null.append(_statistics(simulated.transpose(1, 2, 0), layout, bases))
    null = np.concatenate(null)
    scale = null.std(axis=0)
    unit = np.where(scale > 0, scale, np.inf)
    z = _statistics(sums.astype(np.float64)[None], layout, bases)[0] / unit
    largest = (null / unit).max(axis=1)
    observed = float(z.max())
    pvalue = share_at_or_above(np.array(observed - ROUNDING * abs(observed)), largest)
    setting = int(list(_bases_of_statistics(bases))[int(z.argmax())])
    one = np.array([float(pvalue)])
    return Calibration(
        statistic=observed,
        pvalue=float(pvalue),
        normal_pvalue=None,
        observed=observed,
        null=largest,
        values=np.array([observed]),
        coordinate_pvalues=one,
        adjusted_pvalues=one,
        deciding=((family, setting),),
        families={family: FamilyVerdict(np.array([observed]), np.array([setting]), largest)},
    )


def _terms_of_places(
    rng: np.random.Generator, draws: int, count: int
) -> Float[np.ndarray, "term count draws"]:
    """Terms of right draws of a continuous coordinate; 32 bit, at less than half of the cost."""
    z = rng.standard_normal((draws, count))
    return terms_of(Places.of_normal_scores(z), np.dtype(np.float32))


class _OutcomeTerms:
    """Terms of right draws of a discrete coordinate."""

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


def _bases_of_statistics(bases: Sequence[str]) -> Iterator[int]:
    """The number of the base that each statistic belongs to."""
    for number, base in enumerate(bases):
        yield from [number] * (2 if base in ("shift", "tails") else 1)


def _statistics(
    sums: Float[np.ndarray, "count batch term"], layout: TermLayout, bases: Sequence[str]
) -> Float[np.ndarray, "count statistic"]:
    """Of every simulation, from its sums over batches."""
    columns = []
    for base in bases:
        left, right = (np.swapaxes(s, 1, 2) for s in layout.sides(base, np.swapaxes(sums, 1, 2)))
        value, spread = _pair_form(left, right)
        columns.append(value)
        if base == "shift":
            first = sums[:, :, layout.bases["tails"][0]][:, :, :1]
            columns.append(_pair_form(first, first)[0])
        if base == "tails":
            columns.append(value / np.where(spread > 0, spread, np.inf))
    return np.stack(columns, axis=1)


def _pair_form(
    left: Float[np.ndarray, "count batch t"], right: Float[np.ndarray, "count batch t"]
) -> tuple[Float[np.ndarray, " count"], Float[np.ndarray, " count"]]:
    """The sum over pairs of batches of U_gh = <left_g, right_h>, and its spread over signs.

    The sum of all (U_gh + U_hg)^2 / 2 is tr(L'L R'R) + tr(R'L R'L).
    """
    own = np.einsum("ngt,ngt->ng", left, right)
    total = np.einsum("nt,nt->n", left.sum(axis=1), right.sum(axis=1))
    transposed = np.swapaxes(left, 1, 2), np.swapaxes(right, 1, 2)
    squares = np.einsum("nab,nba->n", transposed[0] @ left, transposed[1] @ right)
    mixed = transposed[1] @ left
    squares += np.einsum("nab,nba->n", mixed, mixed)
    return total - own.sum(axis=1), np.sqrt(np.maximum(squares - 2 * (own**2).sum(axis=1), 0.0))
