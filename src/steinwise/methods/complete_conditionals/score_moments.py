"""What the scores of the draws say of a coordinate's shift and spread, without following lines."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from steinwise.calibration.batch_plan import BatchPlan
from steinwise.methods.complete_conditionals.effects import NAMEABLE
from steinwise.methods.complete_conditionals.score_terms import ORDERS
from steinwise.results.misfit import Effect, Misfit

FARTHEST = 1e70  # whose fourth power is still a float


class ScoreMoments(NamedTuple):
    r"""Sums over the draws of some lines, of places z and scores s.

    Of a conditional N(m, v), draws at m + (shift + spread w) sqrt v with w standardised have
    E s = -shift / sqrt v, E s^2 = (shift^2 + spread^2) / v, and E s (z - E z) = -spread^2 where
    the shift does not vary with the other coordinates.
    """

    draws: Float[np.ndarray, " c"]
    place: Float[np.ndarray, " c"]  # sums of z
    score: Float[np.ndarray, "2 c"]  # of s and s^2
    product: Float[np.ndarray, "2 c"]  # of s z and (s z)^2
    term_squares: Float[np.ndarray, "term c"]

    @classmethod
    def none(cls, lines: int) -> "ScoreMoments":
        return cls(
            np.zeros(lines),
            np.zeros(lines),
            np.zeros((2, lines)),
            np.zeros((2, lines)),
            np.zeros((len(ORDERS), lines)),
        )

    @classmethod
    def of(
        cls,
        z: Float[np.ndarray, "n c"],
        score: Float[np.ndarray, "n c"],
        terms: Float[np.ndarray, "term c n"],
        counted: Float[np.ndarray, " n"],
    ) -> "ScoreMoments":
        """Of some draws, those that are counted; far ones count as `FARTHEST`."""
        z, score = (np.clip(array, -FARTHEST, FARTHEST) for array in (z, score))
        terms = np.clip(terms, -(FARTHEST**2), FARTHEST**2)
        product = score * z
        return cls(
            np.full(z.shape[1], counted.sum()),
            counted @ z,
            np.stack([counted @ score, counted @ score**2]),
            np.stack([counted @ product, counted @ product**2]),
            terms**2 @ counted,
        )

    def joined(self, other: "ScoreMoments") -> "ScoreMoments":
        return ScoreMoments(*(a + b for a, b in zip(self, other, strict=True)))

    @staticmethod
    def side_by_side(parts: "Sequence[ScoreMoments]") -> "ScoreMoments":
        """The lines of several."""
        return ScoreMoments(
            *(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True))
        )

    def line(self, j: int) -> "ScoreMoments":
        return ScoreMoments(*(array[..., [j]] for array in self))

    @property
    def term_scale(self) -> Float[np.ndarray, "term c"]:
        """What takes every term to variance 1."""
        size = np.sqrt(self.term_squares / np.maximum(self.draws, 1.0))
        return 1 / np.where(size > 0, size, 1.0)

    @property
    def effects(self) -> list[Effect]:
        """The shift and the spread of every line, in units of the target's conditional."""
        mean, square = self.score / self.draws
        spread = np.maximum(mean * self.place / self.draws - self.product[0] / self.draws, 0.0)
        # shift^2 / (shift^2 + spread^2) is the square of the mean over the mean square
        share = np.minimum(mean**2 / np.where(square > 0, square, 1.0), 1 - 1e-12)
        shift = -np.sign(mean) * np.sqrt(spread * share / (1 - share))
        return [Effect(float(m), float(v) ** 0.5) for m, v in zip(shift, spread, strict=True)]

    def misfit(self, context: str, partners: tuple[str, ...], plan: BatchPlan) -> Misfit:
        """What is wrong with a flagged coordinate, from its `line`."""
        if context != "alone":
            return Misfit(context, partners)
        shift, spread = self._departures(plan)
        if max(shift, spread) < NAMEABLE:
            return Misfit("shape")
        return Misfit("spread" if spread >= shift else "shift")

    def _departures(self, plan: BatchPlan) -> tuple[float, float]:
        """How far the shift is from 0, and the spread from 1, in standard errors."""
        draws = float(self.draws[0])
        (mean,), (square,) = self.score / draws
        (product,), (product_square,) = self.product / draws
        centred = product - mean * float(self.place[0]) / draws
        root = np.sqrt(min(plan.effective_draws, draws))
        of_shift = abs(mean) / np.sqrt(max(square - mean**2, 1e-300))
        of_spread = abs(1 + centred) / np.sqrt(max(product_square - product**2, 1e-300))
        return root * of_shift, root * of_spread
