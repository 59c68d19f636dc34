"""Where terms come from: lines through the draws that are followed, or scores at the draws.

A source makes the terms of draws on their lines, and sums up what says how far off a line is. All
else (features of the other coordinates, batch sums, signs, verdicts) is the same for both.
"""

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.memory import chunks
from steinwise.calibration.batch_sums import ExpectedSquares
from steinwise.calibration.batches import Batches
from steinwise.methods.complete_conditionals.effects import NormalScoreSums
from steinwise.methods.complete_conditionals.features import squared_features
from steinwise.methods.complete_conditionals.line_sets import DISCRETE, LineSet
from steinwise.methods.complete_conditionals.normal_map import NormalMap
from steinwise.methods.complete_conditionals.outcome_sums import OutcomeSums, terms_of_outcomes
from steinwise.methods.complete_conditionals.score_moments import ScoreMoments
from steinwise.methods.complete_conditionals.score_terms import SCORE_TERMS, score_terms
from steinwise.methods.complete_conditionals.settings import Setting, expected_squares
from steinwise.methods.complete_conditionals.step_terms import STEP_TERMS
from steinwise.methods.complete_conditionals.terms import PLACE_TERMS, TermLayout, terms_of
from steinwise.orbits.finite import find_outcomes
from steinwise.orbits.places import Places, find_places
from steinwise.target import AbstractTarget, Unconstrained
from steinwise.target.support import AbstractSupport

LineSummary = NormalScoreSums | ScoreMoments | OutcomeSums
ENTRIES_AT_ONCE = 2**20  # terms of all values of discrete draws that exist at the same time
# Scores whose terms are made together, 128 kB in an array: several of these stay in a processor's
# second-level cache, where terms take half the time. Changes the time only.
SCORES_AT_ONCE = 2**14


class Slab(NamedTuple):
    """Consecutive draws on their lines: the arguments of a source."""

    lines: LineSet
    x: Float[np.ndarray, "m d"]
    positions: Float[np.ndarray, "m c"]  # on the lines
    numbers: Int[np.ndarray, " m"]  # of the draws, to name one where the target is not finite
    tested: Float[np.ndarray, " m"]  # 1, or 0 for a draw that is held out
    known_scores: Float[np.ndarray, "m d"] | None


class SlabTerms(Protocol):
    """What a source makes of a slab of draws."""

    @property
    def shown(self) -> Float[np.ndarray, "m k"]:
        """What is kept of each draw, for pictures: a number for every line, or nothing."""
        ...

    @property
    def summary(self) -> LineSummary:
        """What says how far off each line is."""
        ...

    def terms(
        self, rows: Int[np.ndarray, " n"], block: slice, dtype: np.dtype
    ) -> Float[np.ndarray, "term c n"]:
        """The terms of some draws on some of the lines."""
        ...


class AbstractSource(abc.ABC):
    """Makes terms, and a summary of each line."""

    target: AbstractTarget
    memory: int
    name: ClassVar[str]
    layout: ClassVar[TermLayout]
    pictured: ClassVar[bool] = True  # where a draw stands on its lines is kept, for pictures
    slabs: ClassVar[int] = 20  # of many draws, at least: progress follows each

    def takes(self, lines: LineSet) -> bool:
        """Whether it makes terms on these lines."""
        return lines.group != DISCRETE

    @abc.abstractmethod
    def evaluate(self, slab: Slab) -> SlabTerms:
        """The terms of consecutive draws along all their lines, and a summary of each line."""

    @abc.abstractmethod
    def nothing(self, lines: int) -> LineSummary:
        """The summary of no draws."""

    def expected_squares(
        self,
        settings: Sequence[Setting],  # noqa: ARG002
        batches: Batches,  # noqa: ARG002
        held_out: int,  # noqa: ARG002
    ) -> ExpectedSquares | None:
        """The squares that correct draws lead to expect, where they are known."""
        return None


@dataclass(frozen=True, eq=False)
class PlaceTerms:
    """The places of draws in the target's conditionals."""

    places: Places
    summary: NormalScoreSums

    @property
    def shown(self) -> Float[np.ndarray, "m c"]:
        return self.places.u

    def terms(self, rows: np.ndarray, block: slice, dtype: np.dtype) -> np.ndarray:
        return terms_of(self.places.part(rows, block), dtype)


@dataclass(frozen=True, eq=False)
class FollowedLines(AbstractSource):
    """Functions of u, the place of a draw in the target's conditional along its line."""

    target: AbstractTarget
    memory: int
    outlier_tail: float  # u or 1 - u of an outlier is below this

    name: ClassVar[str] = "lines"
    layout: ClassVar[TermLayout] = PLACE_TERMS

    def evaluate(self, slab: Slab) -> PlaceTerms:
        lines, followed = slab.lines, slab.tested > 0
        places = find_places(
            self.target,
            slab.x[followed],
            lines.directions,
            slab.positions[followed],
            lines.ranges,
            self.memory,
            slab.numbers[followed],
        )
        summary = self.nothing(len(lines.labels)).with_places(places, self.outlier_tail)
        return PlaceTerms(places.among(followed), summary)

    def nothing(self, lines: int) -> NormalScoreSums:
        return NormalScoreSums.none(lines)

    def expected_squares(
        self, settings: Sequence[Setting], batches: Batches, held_out: int
    ) -> ExpectedSquares | None:
        return expected_squares(settings, batches, held_out)


@dataclass(frozen=True, eq=False)
class OutcomeTerms:
    """The terms of discrete draws, and the middles of their steps."""

    shown: Float[np.ndarray, "m c"]
    all_terms: Float[np.ndarray, "term c m"]
    summary: OutcomeSums

    def terms(self, rows: np.ndarray, block: slice, dtype: np.dtype) -> np.ndarray:
        return self.all_terms[:, block, rows].astype(dtype)


@dataclass(frozen=True, eq=False)
class FiniteOrbits(AbstractSource):
    """Functions of a discrete draw's step in the target's conditional, which is a sum."""

    target: AbstractTarget  # on the draws' own scale
    memory: int
    outlier_tail: float
    supports: tuple[AbstractSupport, ...]
    space: Unconstrained  # in which the draws come

    name: ClassVar[str] = "sums"
    layout: ClassVar[TermLayout] = STEP_TERMS
    slabs: ClassVar[int] = 8  # each line of a slab is a call of its own

    def takes(self, lines: LineSet) -> bool:
        return lines.group == DISCRETE

    def evaluate(self, slab: Slab) -> OutcomeTerms:
        x = self.space.from_line(slab.x)
        lines, start = slab.lines, int(slab.numbers[0])
        features = squared_features(lines.others(start, lines.positions(slab.x)), lines.own)
        along = zip(lines.directions, lines.own, features * slab.tested, strict=True)
        found = [
            self._terms_of_coordinate(x, int(j), slab.numbers, lines.scores.values[own], of_line)
            for j, own, of_line in along
        ]
        shown = np.stack([middle for middle, _, _ in found], axis=1)
        terms = np.stack([of_draws for _, of_draws, _ in found], axis=1)
        summary = OutcomeSums.side_by_side([sums for _, _, sums in found])
        return OutcomeTerms(shown, terms, summary)

    def _terms_of_coordinate(
        self,
        x: Float[np.ndarray, "m d"],
        j: int,
        numbers: Int[np.ndarray, " m"],
        draws: Float[np.ndarray, " k"],
        features: Float[np.ndarray, "context m"],
    ) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, "term m"], OutcomeSums]:
        """The middles of the draws' steps, their terms, and sums over the draws."""
        outcomes = find_outcomes(self.target, x, j, self.supports[j], self.memory, numbers)
        middle = outcomes.at_draws(outcomes.below + outcomes.probabilities / 2)
        of_draws, sums = np.empty((self.layout.count, len(x))), self.nothing(1)
        per_draw = self.layout.count * len(outcomes.values)
        for rows in chunks(len(x), max(1, ENTRIES_AT_ONCE // per_draw)):
            some = outcomes.part(rows)
            terms = terms_of_outcomes(some, draws)
            drawn = np.broadcast_to(some.drawn[:, None], (len(terms), len(some.drawn), 1))
            of_draws[:, rows] = np.take_along_axis(terms, drawn, axis=2)[..., 0]
            more = OutcomeSums.of(some, draws, terms, self.outlier_tail, features[:, rows])
            sums = sums.joined(more)
        return middle, of_draws, sums

    def nothing(self, lines: int) -> OutcomeSums:
        return OutcomeSums.none(lines)


@dataclass(frozen=True, eq=False)
class ScoreSlabTerms:
    """The terms of draws that their scores give."""

    all_terms: Float[np.ndarray, "term c m"]
    summary: ScoreMoments

    @property
    def shown(self) -> Float[np.ndarray, "m 0"]:
        return np.empty((self.all_terms.shape[2], 0))

    def terms(self, rows: np.ndarray, block: slice, dtype: np.dtype) -> np.ndarray:
        return self.all_terms[:, block, rows].astype(dtype)


@dataclass(frozen=True, eq=False)
class DrawScores(AbstractSource):
    """Functions of the scores at the draws alone: no line is followed."""

    target: AbstractTarget
    memory: int

    name: ClassVar[str] = "scores"
    layout: ClassVar[TermLayout] = SCORE_TERMS
    pictured: ClassVar[bool] = False
    slabs: ClassVar[int] = 4  # there is little to wait for, and fewer batches are cut in two

    def evaluate(self, slab: Slab) -> ScoreSlabTerms:
        scores = slab.known_scores
        if scores is None:
            scores = self.target.score(slab.x, memory=self.memory)
        along = slab.lines.along(scores)
        terms, summary = terms_and_moments(
            slab.lines.normal_map, slab.positions, along, slab.tested
        )
        return ScoreSlabTerms(terms, summary)

    def nothing(self, lines: int) -> ScoreMoments:
        return ScoreMoments.none(lines)


def terms_and_moments(
    normal_map: NormalMap,
    positions: Float[np.ndarray, "n c"],
    scores: Float[np.ndarray, "n c"],
    tested: Float[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, "term c n"], ScoreMoments]:
    """The terms of draws with these scores, not yet of variance 1, and what makes them so."""
    n, c = positions.shape
    terms, moments = np.empty((SCORE_TERMS.count, c, n)), []
    for lines in chunks(c, max(1, SCORES_AT_ONCE // n)):
        some = normal_map.part(lines)
        at, along = (np.asfortranarray(array[:, lines]) for array in (positions, scores))
        terms[:, lines] = score_terms(*some.place(at, along))
        places, unit_scores = (at - some.centre) / some.scale, along * some.scale
        moments.append(ScoreMoments.of(places, unit_scores, terms[:, lines], tested))
    return terms, ScoreMoments.side_by_side(moments)
