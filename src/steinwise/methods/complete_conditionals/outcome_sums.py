"""How far off a discrete coordinate is: how often it takes each value, and how often it should."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from steinwise.calibration.batch_plan import BatchPlan
from steinwise.methods.complete_conditionals.effects import FEW, NAMEABLE
from steinwise.methods.complete_conditionals.step_terms import STEP_TERMS, step_terms
from steinwise.orbits.finite import Outcomes
from steinwise.results.misfit import Effect, Misfit
from steinwise.results.outcomes import OutcomeShares

FEW_VALUES = 8  # up to so many values, a fault is told by the value that is taken too often


@dataclass(frozen=True, eq=False)
class OutcomeSums:
    """Sums over the draws of some discrete coordinates."""

    draws: Float[np.ndarray, " c"]  # how many
    least: Float[np.ndarray, " c"]  # the smallest tail of a draw
    outliers: Float[np.ndarray, " c"]
    evaluations: Float[np.ndarray, " c"]
    moments: Float[np.ndarray, "3 c"]  # of x - E x and its square; of the variance of x
    # of the covariance of the terms given the others: what right draws lead to expect
    covariance: Float[np.ndarray, "c term term"]
    shares: tuple[OutcomeShares, ...]

    @classmethod
    def none(cls, lines: int) -> "OutcomeSums":
        count = STEP_TERMS.count
        nothing = np.zeros(lines)
        return cls(
            nothing,
            np.ones(lines),
            nothing,
            nothing,
            np.zeros((3, lines)),
            np.zeros((lines, count, count)),
            (OutcomeShares.none(),) * lines,
        )

    @classmethod
    def of(
        cls, outcomes: Outcomes, terms: Float[np.ndarray, "term n k"], outlying: float
    ) -> "OutcomeSums":
        """Of draws of one coordinate, with the terms of all of its values."""
        p, values = outcomes.probabilities, outcomes.values
        mean = p @ values
        departure = values[outcomes.drawn] - mean
        variance = p @ values**2 - mean**2
        tails = outcomes.tails
        weighted = (terms * p).reshape(len(terms), -1)
        counts = np.bincount(outcomes.drawn, minlength=len(values)).astype(float)
        return cls(
            np.array([float(len(p))]),
            np.array([tails.min()]),
            np.array([float((tails <= outlying).sum())]),
            np.array([float(p.size)]),
            np.array([[departure.sum()], [(departure**2).sum()], [variance.sum()]]),
            (weighted @ terms.reshape(len(terms), -1).T)[None],
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
            self.covariance + other.covariance,
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
            np.concatenate([part.covariance for part in parts]),
            tuple(one for part in parts for one in part.shares),
        )

    def line(self, j: int) -> "OutcomeSums":
        return OutcomeSums(
            self.draws[[j]],
            self.least[[j]],
            self.outliers[[j]],
            self.evaluations[[j]],
            self.moments[:, [j]],
            self.covariance[[j]],
            (self.shares[j],),
        )

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
        worst, departure = self.shares[0].worst
        if 0 < outliers <= FEW * self.draws[0] and abs(departure) < NAMEABLE:
            return Misfit("outliers", outliers=outliers)
        if context != "alone":
            return Misfit(context, partners)
        effect = self.effects[0]
        draws = min(plan.effective_draws, float(self.draws[0]))
        shift = abs(effect.conditional_shift) * np.sqrt(draws)
        spread = abs(effect.conditional_spread - 1) * np.sqrt(2 * draws)
        many = len(self.shares[0].values) > FEW_VALUES
        if many and max(shift, spread) >= max(NAMEABLE, abs(departure)):
            return Misfit("spread" if spread > shift else "shift", outliers=outliers)
        return Misfit("outcome", outliers=outliers, outcome=self.shares[0].outcome(worst))


def terms_of_outcomes(
    outcomes: Outcomes, draws: Float[np.ndarray, " m"]
) -> Float[np.ndarray, "term n k"]:
    """The terms of every value of every orbit; draws of the coordinate set its scale."""
    h = (outcomes.probabilities @ outcomes.values - draws.mean()) / (draws.std() or 1.0)
    return step_terms(outcomes.below, outcomes.probabilities, outcomes.above, h)
