"""How far off a discrete coordinate is: how often it takes each value, and how often it should."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from steinwise.calibration.batch_plan import BatchPlan
from steinwise.methods.complete_conditionals.effects import FEW, NAMEABLE
from steinwise.methods.complete_conditionals.features import CONTEXTS
from steinwise.methods.complete_conditionals.step_terms import (
    VARIANCES,
    standardising,
    step_terms,
    term_variances,
)
from steinwise.orbits.finite import Outcomes
from steinwise.results.misfit import Effect, Misfit
from steinwise.results.outcomes import OutcomeShares

ROUNDING = 1e-12  # of a square
FEW_VALUES = 8  # up to this many values, a fault is named by the value that is taken too often


@dataclass(frozen=True, eq=False)
class OutcomeSums:
    """Sums over the draws of some discrete coordinates."""

    draws: Float[np.ndarray, " c"]  # how many
    least: Float[np.ndarray, " c"]  # the smallest tail of a draw
    outliers: Float[np.ndarray, " c"]
    evaluations: Float[np.ndarray, " c"]
    moments: Float[np.ndarray, "3 c"]  # of x - E x and its square; of the variance of x
    # of h, the mean of x given the others, of its square, and of the variance of x in its units
    following: Float[np.ndarray, "3 c"]
    # of the variance of the terms given the others, times the squared features of each context
    weighted: Float[np.ndarray, "c context term"]
    shares: tuple[OutcomeShares, ...]

    @classmethod
    def none(cls, lines: int) -> "OutcomeSums":
        nothing = np.zeros(lines)
        return cls(
            nothing,
            np.ones(lines),
            nothing,
            nothing,
            np.zeros((3, lines)),
            np.zeros((3, lines)),
            np.zeros((lines, len(CONTEXTS), VARIANCES)),
            (OutcomeShares.none(),) * lines,
        )

    @classmethod
    def of(
        cls,
        outcomes: Outcomes,
        draws: Float[np.ndarray, " m"],
        terms: Float[np.ndarray, "term n k"],
        outlying: float,
        features: Float[np.ndarray, "context n"],
    ) -> "OutcomeSums":
        """Of draws of one coordinate, with the terms of all of its values.

        `draws` are those that the terms have their scale from, `features` the sums of squares of
        the features of each context.
        """
        p, values = outcomes.probabilities, outcomes.values
        mean = p @ values
        h, unit = _standardised(mean, draws)
        departure = values[outcomes.drawn] - mean
        variance = p @ values**2 - mean**2
        tails = outcomes.tails
        counts = np.bincount(outcomes.drawn, minlength=len(values)).astype(float)
        return cls(
            np.array([float(len(p))]),
            np.array([tails.min()]),
            np.array([float((tails <= outlying).sum())]),
            np.array([float(p.size)]),
            np.array([[departure.sum()], [(departure**2).sum()], [variance.sum()]]),
            np.array([[h.sum()], [(h**2).sum()], [variance.sum() / unit**2]]),
            (features @ term_variances(terms, p, h).T)[None],
            (OutcomeShares(values, counts, p.sum(axis=0), (p * (1 - p)).sum(axis=0)),),
        )

    def joined(self, other: "OutcomeSums") -> "OutcomeSums":
        """With more draws of the same coordinates."""
        return OutcomeSums(
            self.draws + other.draws,
            np.minimum(self.least, other.least),
            self.outliers + other.outliers,
            self.evaluations + other.evaluations,
            self.moments + other.moments,
            self.following + other.following,
            self.weighted + other.weighted,
            tuple(a.joined(b) for a, b in zip(self.shares, other.shares, strict=True)),
        )

    @staticmethod
    def side_by_side(parts: "Sequence[OutcomeSums]") -> "OutcomeSums":
        """The coordinates of several."""
        return OutcomeSums(
            np.concatenate([part.draws for part in parts]),
            np.concatenate([part.least for part in parts]),
            np.concatenate([part.outliers for part in parts]),
            np.concatenate([part.evaluations for part in parts]),
            np.concatenate([part.moments for part in parts], axis=1),
            np.concatenate([part.following for part in parts], axis=1),
            np.concatenate([part.weighted for part in parts]),
            tuple(one for part in parts for one in part.shares),
        )

    def line(self, j: int) -> "OutcomeSums":
        return OutcomeSums(
            self.draws[[j]],
            self.least[[j]],
            self.outliers[[j]],
            self.evaluations[[j]],
            self.moments[:, [j]],
            self.following[:, [j]],
            self.weighted[[j]],
            (self.shares[j],),
        )

    @property
    def standardising(self) -> Float[np.ndarray, "c term term"]:
        """What makes the terms' h depend on the others alone: its own centre, and a known unit.

        The terms have h in units of the draws of the coordinate itself. Of draws whose mean happens
        to be high, functions of their places have a high mean as well, and times such an h they
        rejected 0.25 of correct draws (an Ising model of 25 spins, coupling 0.1, 50 draws).
        """
        return standardising(*self._scale_of_h)

    @property
    def _scale_of_h(self) -> tuple[Float[np.ndarray, " c"], Float[np.ndarray, " c"]]:
        """The centre of h, and its unit; an infinite one where h varies by rounding alone."""
        h, square, variance = self.following / np.maximum(self.draws, 1.0)
        of_h = np.maximum(square - h**2, 0.0)
        return h, np.where(of_h > ROUNDING * (square + variance), np.sqrt(of_h + variance), np.inf)

    def known_sizes(self, base: str, context: int) -> Float[np.ndarray, " c"]:
        """The expected sum over draws of squared terms of a base times squared features.

        That of the terms with h has the centre and the unit of h in it.
        """
        of_draws = self.weighted[:, context]
        if base == "tails":
            return of_draws[:, -1]
        if base == "shift":
            return of_draws[:, 0]
        centre, unit = self._scale_of_h
        return (of_draws[:, 2] - 2 * centre * of_draws[:, 1] + centre**2 * of_draws[:, 0]) / unit**2

    @property
    def coincidences(self) -> Float[np.ndarray, " c"]:
        """How often a coordinate is expected to be unusual together with another one like it."""
        unusual = np.array([share.variances.sum() / 2 for share in self.shares])
        return unusual**2 / np.maximum(self.draws, 1.0)

    @property
    def effects(self) -> list[Effect]:
        """Shift and spread of the numbers, in units of the target's conditional."""
        mean, square, variance = self.moments / np.maximum(self.draws, 1.0)
        unit = np.where(variance > 0, variance, 1.0)
        spread = np.sqrt(np.maximum(square - mean**2, 0.0) / unit)
        spread = np.where(variance > 0, spread, 1.0)
        pairs = zip(mean / np.sqrt(unit), spread, strict=True)
        return [Effect(float(shift), float(width)) for shift, width in pairs]

    def misfit(self, context: str, partners: tuple[str, ...], plan: BatchPlan) -> Misfit:
        """What is wrong with a flagged coordinate, from its `line`."""
        outliers = int(self.outliers[0])
        worst = self.shares[0].worst
        draws = min(plan.effective_draws, float(self.draws[0]))
        surprise = self.shares[0].surprise(worst, draws)
        if 0 < outliers <= FEW * self.draws[0] and surprise < NAMEABLE:
            return Misfit("outliers", outliers=outliers)
        if context != "alone":
            return Misfit(context, partners)
        effect = self.effects[0]
        shift = abs(effect.conditional_shift) * np.sqrt(draws)
        spread = abs(effect.conditional_spread - 1) * np.sqrt(2 * draws)
        many = len(self.shares[0].values) > FEW_VALUES
        if many and max(shift, spread) >= max(NAMEABLE, surprise):
            return Misfit("spread" if spread > shift else "shift", outliers=outliers)
        if many and surprise < NAMEABLE:
            return Misfit("shape", outliers=outliers)
        return Misfit("outcome", outliers=outliers, outcome=self.shares[0].outcome(worst))


def terms_of_outcomes(
    outcomes: Outcomes, draws: Float[np.ndarray, " m"]
) -> Float[np.ndarray, "term n k"]:
    """The terms of every value of every orbit; draws of the coordinate set a first scale of h."""
    h, _ = _standardised(outcomes.probabilities @ outcomes.values, draws)
    return step_terms(outcomes.below, outcomes.probabilities, outcomes.above, h)


def _standardised(
    mean: Float[np.ndarray, " n"], draws: Float[np.ndarray, " m"]
) -> tuple[Float[np.ndarray, " n"], float]:
    """Means in units of draws, and the unit."""
    unit = float(draws.std()) or 1.0
    return (mean - draws.mean()) / unit, unit
