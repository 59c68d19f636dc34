"""What the methods that look at conditionals line by line share: contexts, coordinates, lines."""

import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
from steinwise.errors import InputError
from steinwise.methods.base import AbstractFitted, AbstractMethod, Evidence
from steinwise.methods.complete_conditionals.detectable import TERMS_OF_NORMAL, detectable
from steinwise.methods.complete_conditionals.effects import NormalScoreSums
from steinwise.methods.complete_conditionals.evidence import (
    LineFindings,
    SourceUse,
    TransportedEvidence,
)
from steinwise.methods.complete_conditionals.features import CONTEXTS
from steinwise.methods.complete_conditionals.line_sets import (
    DISCRETE,
    LineSet,
    coordinate_lines,
    direction_lines,
    scale_draws,
)
from steinwise.methods.complete_conditionals.mode_family import SearchedModes
from steinwise.methods.complete_conditionals.mode_findings import modes_found
from steinwise.methods.complete_conditionals.outcome_sums import OutcomeSums
from steinwise.methods.complete_conditionals.outliers import outlier_tail
from steinwise.methods.complete_conditionals.score_terms import SCORE_TERMS
from steinwise.methods.complete_conditionals.settings import (
    alone_family,
    available_contexts,
    families,
)
from steinwise.methods.complete_conditionals.sources import FiniteOrbits
from steinwise.methods.complete_conditionals.statistic import (
    Follow,
    TransportedStatistic,
    step_between_followed,
)
from steinwise.methods.statistics import AbstractStatistic
from steinwise.results.coordinate import CoordinateResult
from steinwise.results.findings import EffortSpent, Findings
from steinwise.results.misfit import Effect
from steinwise.results.modes import ModesFound
from steinwise.results.outcomes import OutcomeShares
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
        supports = supports_of(target.support, samples.names)
        space = Unconstrained.of(supports, scale_draws(samples))
        if not space.changes_nothing:
            samples = samples.mapped(space.to_line, space.scores_on_line)
        line_sets = self._line_sets(samples, space)
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

    def search_modes(
        self,
        samples: Samples,  # noqa: ARG002
        target: AbstractTarget,  # noqa: ARG002
        space: Unconstrained,  # noqa: ARG002
        run: RunOptions,  # noqa: ARG002
    ) -> tuple[SearchedModes | None, tuple[Note, ...]]:
        """The modes of the target, on the real line; none for a method that looks for none."""
        return None, ()

    def _line_sets(self, samples: Samples, space: Unconstrained) -> tuple[LineSet, ...]:
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

    def _with_scores(self, samples: Samples, target: AbstractTarget, run: RunOptions) -> Samples:
        """The draws with their scores, where these are needed more than once and can be held.

        For coordinates and for directions, and in a chain for the length of its batches.
        """
        some_lines = self.follow == "some" and step_between_followed(samples.n) > 1
        needed = self.follow == "none" or some_lines or not samples.independent
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
        return choose_coordinates(self.coordinates, samples.names)

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
        thinned = method.follow == "some" and step_between_followed(self.samples.n) > 1
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

    def statistic(self, target: AbstractTarget, run: RunOptions) -> TransportedStatistic:
        method = self.method
        return TransportedStatistic(
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
    ) -> TransportedEvidence:
        assert isinstance(statistic, TransportedStatistic)
        return statistic.test(batches, n_bootstrap, seed)

    def findings(
        self,
        statistic: AbstractStatistic,
        evidence: Evidence,
        calibration: Calibration,
        plan: BatchPlan,
        alpha: float,
    ) -> Findings:
        assert isinstance(statistic, TransportedStatistic)
        assert isinstance(evidence, TransportedEvidence)
        leading = evidence.leading
        use = leading[0].use
        kept, samples = use.kept, use.samples
        followed = use.source.pictured
        return Findings(
            coordinates=self._coordinates(evidence, calibration, plan, alpha),
            detectable=self._detectable(evidence, plan, calibration, alpha),
            evaluations=_evaluations(leading),
            effort=self._effort(statistic, use, ends=evidence.ends),
            pit=_coordinate_pit(leading) if followed else None,
            direction_pit=_direction_pit(leading, kept) if followed else None,
            directions=_direction_weights(leading),
            outlier_bound=-np.log10(alpha * EXACT_SHARE / (self.samples.n * statistic.line_count)),
            x=self.space.from_line(samples.take(kept[: len(leading[0].kept)])),
            x_names=samples.names,
            outcomes=_outcomes(leading),
            density_ends=evidence.ends,
            modes=self._modes(statistic, evidence, calibration, alpha),
            draw_index=replace(samples.draw_index, rows=kept),
            notes=(*self.search_notes, *evidence.notes()),
            flag_meaning=self.method.flag_meaning,
        )

    def _modes(
        self,
        statistic: TransportedStatistic,
        evidence: TransportedEvidence,
        calibration: Calibration,
        alpha: float,
    ) -> ModesFound | None:
        if self.modes is None:
            return None
        given = self.modes, evidence.modes, calibration, self.space, self.samples
        return modes_found(*given, statistic.target, alpha, statistic.run)

    def _effort(
        self, statistic: TransportedStatistic, use: SourceUse, *, ends: bool
    ) -> EffortSpent | None:
        """What was looked at; None where the lines of all draws were followed."""
        if use.source.name != "scores":
            scored = self.samples.n if statistic.uses_scores and not ends else 0
            spent = EffortSpent(scored, use.samples.n, self.samples.n)
            return spent if use.step > 1 else None
        if statistic.target.noisy or isinstance(statistic.target, ScoresAtDraws):
            return None  # there is no more to look at
        step = step_between_followed(self.samples.n)
        return EffortSpent(self.samples.n, 0, -(-self.samples.n // step))

    def _coordinates(
        self,
        evidence: TransportedEvidence,
        calibration: Calibration,
        plan: BatchPlan,
        alpha: float,
    ) -> tuple[CoordinateResult, ...]:
        """The verdicts on all coordinates in their order, then on directions."""
        results, order, k = [], [], 0
        for leading in evidence.leading:
            directions = leading.lines.group == "directions"
            order += (leading.lines.own + directions * self.samples.dim).tolist()
            effects = leading.summary.effects
            for j, name in enumerate(leading.lines.labels):
                misfit = None
                if calibration.adjusted_pvalues[k] <= alpha:
                    findings, context = self._decided(evidence, leading, calibration.deciding[k])
                    names = self.samples.names
                    partners = findings.partners(j, context, calibration, names, alpha)
                    misfit = leading.summary.line(j).misfit(context, partners, plan)
                results.append(
                    CoordinateResult(
                        name=name,
                        value=float(calibration.values[k]),
                        pvalue=float(calibration.coordinate_pvalues[k]),
                        adjusted_pvalue=float(calibration.adjusted_pvalues[k]),
                        effect=effects[j],
                        misfit=misfit,
                    )
                )
                k += 1
        return tuple(results[i] for i in np.argsort(order, kind="stable"))

    def _decided(
        self, evidence: TransportedEvidence, leading: LineFindings, deciding: tuple[str, int]
    ) -> tuple[LineFindings, str]:
        """The findings and the context of the setting that decided on a line."""
        family, setting = deciding
        source, _, rest = family.partition(": ")
        findings = next(
            f
            for f in evidence.found
            if f.use.source.name == source and f.lines.group == leading.lines.group
        )
        settings = families(source, findings.use.bases, self.method.contexts, findings.lines)
        if family not in settings:
            return findings, rest
        base, context = settings[family][setting]
        return findings, "dependence" if base == "strength" and context == "alone" else context

    def _detectable(
        self,
        evidence: TransportedEvidence,
        plan: BatchPlan,
        calibration: Calibration,
        alpha: float,
    ) -> Effect | None:
        """What would have been found of a coordinate by itself, where that is looked at.

        Unknown with noisy scores: how much the noise hides depends on it.
        """
        if evidence.found[0].use.source.target.noisy:
            return None
        found = []
        for use in {findings.use.source.name: findings.use for findings in evidence.found}.values():
            alone = calibration.families.get(alone_family(use.source.name, self.line_sets[0]))
            if alone is None or use.source.name not in TERMS_OF_NORMAL:
                continue
            threshold = float(np.quantile(alone.null, 1 - alpha))
            settings = [(base, "alone") for base in use.bases]
            batches = plan.batches.of_every(use.step, self.samples.n_draws)
            expected = use.source.expected_squares(settings, batches, 0)
            some = replace(plan, effective_draws=plan.effective_draws / use.step)
            found.append(detectable(threshold, some, use.source, use.bases, expected))
        if not found:
            return None
        shifts, spreads = zip(*found, strict=True)
        return Effect(min(shifts), min(spreads))


def _evaluations(found: tuple[LineFindings, ...]) -> float | None:
    """Evaluations of the log density on a line, on average; None if no lines were followed."""
    kinds = NormalScoreSums, OutcomeSums
    sums = [f.summary for f in found if isinstance(f.summary, kinds)]
    if not sums:
        return None
    spent = sum(one.evaluations.sum() for one in sums)
    return float(spent / sum(one.draws.sum() for one in sums))


def _direction_weights(found: tuple[LineFindings, ...]) -> np.ndarray | None:
    """The weights of the coordinates in the directions that were followed."""
    along = [findings.lines for findings in found if findings.lines.group == "directions"]
    return along[0].weights if along else None


def _coordinate_pit(found: tuple[LineFindings, ...]) -> np.ndarray:
    """u along the coordinates, in their order."""
    of_coordinates = [findings for findings in found if findings.lines.group != "directions"]
    order = np.argsort(np.concatenate([findings.lines.own for findings in of_coordinates]))
    return np.concatenate([findings.kept for findings in of_coordinates], axis=1)[:, order]


def _direction_pit(found: tuple[LineFindings, ...], kept: np.ndarray) -> np.ndarray | None:
    """u along directions, without the draws that the directions were taken from."""
    for findings in found:
        if findings.lines.group == "directions":
            return findings.kept[findings.lines.tested(kept) > 0]
    return None


def _outcomes(found: tuple[LineFindings, ...]) -> dict[str, OutcomeShares]:
    """How often each value of a discrete coordinate was drawn, by the coordinate's name."""
    outcomes: dict[str, OutcomeShares] = {}
    for findings in found:
        if isinstance(findings.summary, OutcomeSums):
            shares = findings.summary.shares
            outcomes |= dict(zip(findings.lines.labels, shares, strict=True))
    return outcomes
