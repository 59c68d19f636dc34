"""What the methods that look at conditionals line by line share: contexts, coordinates, lines."""

import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np

from steinwise._internal.coordinates import choose_coordinates
from steinwise._internal.notes import Note
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import require_flag
from steinwise.calibration.batch_plan import BatchPlan
from steinwise.calibration.batches import Batches
from steinwise.calibration.pvalues import EXACT_SHARE, Calibration
from steinwise.draws.samples import Samples
from steinwise.draws.scales import coordinate_labels
from steinwise.errors import InputError
from steinwise.methods.base import AbstractFitted, AbstractMethod, Evidence
from steinwise.methods.complete_conditionals.evidence import LineEvidence, SourceUse
from steinwise.methods.complete_conditionals.features import CONTEXTS
from steinwise.methods.complete_conditionals.line_findings import (
    coordinate_pit,
    coordinate_results,
    detectable_alone,
    direction_pit,
    direction_weights,
    mean_evaluations,
    outcomes_by_name,
)
from steinwise.methods.complete_conditionals.line_sets import (
    DISCRETE,
    LineSet,
    coordinate_lines,
    direction_lines,
    scale_draws,
)
from steinwise.methods.complete_conditionals.mode_family import SearchedModes
from steinwise.methods.complete_conditionals.mode_findings import modes_found
from steinwise.methods.complete_conditionals.outliers import outlier_tail
from steinwise.methods.complete_conditionals.score_terms import SCORE_TERMS
from steinwise.methods.complete_conditionals.settings import available_contexts, families
from steinwise.methods.complete_conditionals.sources import FiniteOrbits
from steinwise.methods.complete_conditionals.statistic import (
    Follow,
    LineStatistic,
    step_between_followed,
)
from steinwise.methods.statistics import AbstractStatistic
from steinwise.results.findings import EffortSpent, Findings
from steinwise.results.modes import ModesFound
from steinwise.target import AbstractTarget, ScoresAtDraws, Unconstrained, on_real_line
from steinwise.target.support import AbstractSupport, supports_of

_LineMethod = TypeVar("_LineMethod", bound="AbstractLineMethod")
SCORE_BASES = tuple(SCORE_TERMS.bases)
SCORES_SHARE = 8  # of the memory that the scores of all draws may take


class AbstractLineMethod(AbstractMethod):
    """Conditionals along the lines through the draws: the options of every such method."""

    bases: Sequence[str] = ()  # each method has its own
    contexts: Sequence[str] = CONTEXTS
    directions: bool = True
    coordinates: tuple[int, ...] | None = None

    flag_meaning: ClassVar[str] = "conditional"
    reads_by_chunk: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("real", "bounded", "discrete")

    @property
    @abc.abstractmethod
    def follow(self) -> Follow:
        """Of which draws the lines are followed."""

    @property
    @abc.abstractmethod
    def line_bases(self) -> Sequence[str]:
        """The bases of functions of u."""

    @property
    def score_bases(self) -> Sequence[str]:
        """The bases of functions of the scores."""
        return SCORE_BASES

    def __check_init__(self) -> None:
        require_some("contexts", self.contexts, CONTEXTS)
        require_flag("directions", self.directions)

    @property
    def elsewhere(self) -> str:
        return "follows the density along lines"

    def restricted(self: _LineMethod, coordinates: tuple[int, ...]) -> _LineMethod:
        return replace(self, coordinates=coordinates)

    def prepare(
        self,
        samples: Samples,
        target: AbstractTarget,
        run: RunOptions,
    ) -> "Iterator[FittedLineMethod]":
        """The lines to look at: coordinates, and directions learned from a fifth of the draws.

        All of it with bounded coordinates taken to the real line.
        """
        samples, space, supports = self.on_line(samples, target)
        line_sets = self.line_sets(samples, space)
        if not available_contexts(self.contexts, line_sets[0]):
            raise InputError(
                f"contexts is {tuple(self.contexts)!r}, which need more coordinates than the "
                f"{samples.dim} that the draws have: dependence needs another one, an interaction "
                "two others. Add 'alone', or leave contexts as they are."
            )
        usable = tuple(s for s in line_sets if available_contexts(self.contexts, s))
        real = on_real_line(target, space)
        scored = self._with_scores(samples, real, run)
        modes, notes = self.search_modes(samples, real, space, run)
        yield FittedLineMethod(self, scored, usable, space, supports, modes, notes)

    def on_line(
        self, samples: Samples, target: AbstractTarget
    ) -> tuple[Samples, Unconstrained, tuple[AbstractSupport, ...]]:
        """The draws with bounded coordinates taken to the real line, and how."""
        supports = supports_of(target.support, samples.names)
        space = Unconstrained.of(supports, scale_draws(samples))
        if not space.changes_nothing:
            samples = samples.mapped(space.to_line, space.scores_on_line)
        return samples, space, supports

    def search_modes(
        self,
        samples: Samples,  # noqa: ARG002
        target: AbstractTarget,  # noqa: ARG002
        space: Unconstrained,  # noqa: ARG002
        run: RunOptions,  # noqa: ARG002
    ) -> tuple[SearchedModes | None, tuple[Note, ...]]:
        """The modes of the target, on the real line; none for a method that looks for none."""
        return None, ()

    def line_sets(self, samples: Samples, space: Unconstrained) -> tuple[LineSet, ...]:
        """Lines along coordinates and directions, and orbits of discrete coordinates."""
        chosen = np.asarray(self.chosen_coordinates(samples))
        discrete = space.discrete[chosen]
        if self.follow == "none" and discrete.all():
            raise InputError(
                f"the method {self.name!r} looks at scores, and a discrete coordinate has none: "
                "expected at least one that is not discrete. Take the default method."
            )
        line_sets = []
        if not discrete.all():
            line_sets.append(coordinate_lines(samples, chosen[~discrete].tolist()))
            if self.follows_directions(samples):
                line_sets.append(direction_lines(samples, space.discrete))
        if discrete.any() and self.follow != "none":
            line_sets.append(coordinate_lines(samples, chosen[discrete].tolist(), DISCRETE))
        return tuple(lines for lines in line_sets if lines is not None)

    def follows_some(self, samples: Samples) -> bool:
        """Whether the lines of some draws are followed, and not of all."""
        return self.follow == "some" and step_between_followed(samples.n, samples.dim) > 1

    def _with_scores(self, samples: Samples, target: AbstractTarget, run: RunOptions) -> Samples:
        """The draws with their scores, where these are needed more than once and can be held.

        For coordinates and for directions, and in a chain for the length of its batches.
        """
        needed = self.follow == "none" or self.follows_some(samples) or not samples.independent
        if not needed or samples.scores is not None or not samples.in_memory:
            return samples
        if not target.has_scores(samples.dim):
            return samples
        if samples.nbytes > run.memory // SCORES_SHARE:
            return samples
        scores = target.score(samples.rows, memory=run.memory)
        return samples.with_scores(scores.reshape(samples.values.shape), target)

    def chosen_coordinates(self, samples: Samples) -> Sequence[int]:
        if self.coordinates is None:
            return range(samples.dim)
        labels = partial(coordinate_labels, samples)
        return choose_coordinates(self.coordinates, samples.names, labels=labels)

    def follows_directions(self, samples: Samples) -> bool:
        """A direction is a part of all coordinates: it says nothing of some of them."""
        return bool(self.directions) and len(self.chosen_coordinates(samples)) == samples.dim


def require_some(name: str, chosen: Any, known: Sequence[str]) -> None:
    """Require a few of some words, none of them twice."""
    words = list(chosen) if isinstance(chosen, (list, tuple)) else []
    right = all(isinstance(word, str) and word in known for word in words)
    if not words or not right or len(set(words)) < len(words):
        raise InputError(f"{name} is {chosen!r}: expected some of {tuple(known)}, each once.")


@dataclass(frozen=True, eq=False)
class FittedLineMethod(AbstractFitted[AbstractLineMethod]):
    """A method with the lines that it looks at, and the draws that it tests."""

    # of coordinates, then of directions where there are any, then of discrete coordinates
    line_sets: tuple[LineSet, ...]
    space: Unconstrained  # in which the draws are
    supports: tuple[AbstractSupport, ...]
    modes: SearchedModes | None  # None where they were not looked for
    search_notes: tuple[Note, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.samples.names[j] for j in self._looked_at)

    @property
    def _looked_at(self) -> list[int]:
        """The numbers of the coordinates that get a verdict, in increasing order."""
        sets = [lines.own for lines in self.line_sets if lines.group != "directions"]
        return sorted(np.concatenate(sets).tolist())

    @property
    def null_columns(self) -> int:
        method, contexts = self.method, self.method.contexts
        thinned = method.follows_some(self.samples)
        sources = [method.line_bases] if method.follow != "none" else [method.score_bases]
        sources += [method.score_bases] if thinned else []
        columns = 2
        for lines in self.line_sets:
            single = len(available_contexts(contexts, lines)) * (lines.group != "directions")
            for bases in sources:
                by_family = families("", bases, contexts, lines)
                columns += (len(by_family) + single) * len(lines.labels)
                columns += sum(len(settings) for settings in by_family.values())
        if self.modes is not None:
            columns += 2 * (1 + self.modes.found.group_count)
        return columns

    def statistic(self, target: AbstractTarget, run: RunOptions) -> LineStatistic:
        method = self.method
        return LineStatistic(
            method.line_bases,
            method.score_bases,
            method.contexts,
            method.follow,
            on_real_line(target, self.space),
            self._finite(target, run),
            self.samples,
            self.line_sets,
            self.modes if self.modes is not None and self.modes.comparable else None,
            run,
        )

    def _finite(self, target: AbstractTarget, run: RunOptions) -> FiniteOrbits | None:
        """The source of terms of discrete coordinates, where there are some."""
        if not any(lines.group == DISCRETE for lines in self.line_sets):
            return None
        tail = outlier_tail(self.samples.n, sum(len(lines.labels) for lines in self.line_sets))
        return FiniteOrbits(target, run.memory, tail, self.supports, self.space)

    def test(
        self, statistic: AbstractStatistic, batches: Batches, n_bootstrap: int, seed: object
    ) -> LineEvidence:
        assert isinstance(statistic, LineStatistic)
        return statistic.test(batches, n_bootstrap, seed)

    def findings(
        self,
        statistic: AbstractStatistic,
        evidence: Evidence,
        calibration: Calibration,
        plan: BatchPlan,
        alpha: float,
    ) -> Findings:
        assert isinstance(statistic, LineStatistic)
        assert isinstance(evidence, LineEvidence)
        leading = evidence.leading
        use = leading[0].use
        kept, tested, has_pictures = use.kept, self.samples, use.source.pictured
        return Findings(
            coordinates=coordinate_results(
                evidence, calibration, tested, self.method.contexts, plan, alpha
            ),
            detectable=detectable_alone(
                evidence, calibration, tested, self.line_sets[0], plan, alpha
            ),
            evaluations=mean_evaluations(leading),
            effort=self._effort(statistic, use, breaks=evidence.breaks),
            pit=coordinate_pit(leading) if has_pictures else None,
            direction_pit=direction_pit(leading, kept) if has_pictures else None,
            directions=direction_weights(leading),
            outlier_bound=-np.log10(alpha * EXACT_SHARE / (tested.n * statistic.line_count)),
            x=self.space.from_line(use.samples.take(kept[: len(leading[0].kept)])),
            x_names=tested.names,
            outcomes=outcomes_by_name(leading),
            density_breaks=evidence.breaks,
            modes=self._modes(statistic, evidence, calibration, alpha),
            draw_index=replace(use.samples.draw_index, rows=kept),
            notes=(*self.search_notes, *evidence.notes()),
            flag_meaning=self.method.flag_meaning,
        )

    def _modes(
        self,
        statistic: LineStatistic,
        evidence: LineEvidence,
        calibration: Calibration,
        alpha: float,
    ) -> ModesFound | None:
        if self.modes is None:
            return None
        return modes_found(
            self.modes,
            evidence.modes,
            calibration,
            self.space,
            self.samples,
            statistic.target,
            alpha,
            statistic.run,
        )

    def _effort(
        self, statistic: LineStatistic, use: SourceUse, *, breaks: bool
    ) -> EffortSpent | None:
        """What was looked at; None where there is no more to look at than scores."""
        if use.source.name != "scores":
            scored = self.samples.n if statistic.uses_scores and not breaks else 0
            more = self.samples.n if self.method.follow == "some" else 0
            return EffortSpent(scored, use.samples.n, more)
        if statistic.target.noisy or isinstance(statistic.target, ScoresAtDraws):
            return None  # there is no more to look at
        step = step_between_followed(self.samples.n, self.samples.dim)
        return EffortSpent(self.samples.n, 0, -(-self.samples.n // step))
