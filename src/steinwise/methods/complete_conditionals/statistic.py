r"""The statistic of the default check, tested some lines at a time.

.. math:: T_j = \sum_{i \neq l} \kappa(x_{i,-j}, x_{l,-j}) \, \langle m(x_{ij}), o(u_{lj}) \rangle,

over three bases of functions and several kernels kappa of the other coordinates. Given the other
coordinates of all draws both factors have mean zero under the null, whatever kappa is, so signs
per batch calibrate it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.memory import chunks
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import Batches
from steinwise.calibration.families import Calibrator
from steinwise.calibration.pvalues import Calibration
from steinwise.draws.chain_diagnostics import MOST_COLUMNS
from steinwise.draws.samples import Samples
from steinwise.methods.complete_conditionals.effects import NormalScoreSums
from steinwise.methods.complete_conditionals.evidence import (
    DroppedSetting,
    LineEvidence,
    LineFindings,
    SourceUse,
)
from steinwise.methods.complete_conditionals.features import Features
from steinwise.methods.complete_conditionals.known_null import MOST_DRAWS, simulated_calibration
from steinwise.methods.complete_conditionals.line_blocks import line_blocks
from steinwise.methods.complete_conditionals.line_sets import LineSet
from steinwise.methods.complete_conditionals.mode_family import (
    ModeCounts,
    SearchedModes,
    count_modes,
)
from steinwise.methods.complete_conditionals.outcome_sums import OutcomeSums
from steinwise.methods.complete_conditionals.outliers import outlier_pvalues, outlier_tail
from steinwise.methods.complete_conditionals.settings import alone_family
from steinwise.methods.complete_conditionals.slab_pass import PassResult, SlabPass
from steinwise.methods.complete_conditionals.sources import (
    AbstractSource,
    DrawScores,
    FiniteOrbits,
    FollowedLines,
    LineSummary,
)
from steinwise.methods.complete_conditionals.time_ahead import seconds_ahead
from steinwise.methods.statistics import AbstractStatistic
from steinwise.results.wording import PROGRESS, time_ahead
from steinwise.target import AbstractTarget

# With G batches a mean of size z, in standard errors, stands out as z / sqrt(1 + z^2 / G): few
# draws, whose evidence is scarce and cheap, are cut finely.
FEW_DRAWS, FINE_BATCHES, COARSE_BATCHES = 512, 128, 64
# Draws whose lines are followed where not all are: at least as many as have FOLLOWED_LINES lines
# together, within the bounds that follow, and less than twice as many. Set so that a check of a
# regression with 105 coordinates, and of stochastic volatility with 503, takes about as long as the
# NUTS run (`python -m benchmarks.against_sampling`).
FOLLOWED_LINES, LEAST_FOLLOWED, MOST_FOLLOWED = 80_000, 500, 1000

SECONDS_OF_A_SLAB = 4  # where lines take long: a bar without an estimate looks stuck

Follow = Literal["none", "some", "all"]  # of the draws' lines


@dataclass(frozen=True, eq=False)
class LineStatistic(AbstractStatistic):
    """Feature products on batch sums, some lines at a time."""

    bases: Sequence[str]  # of functions of u
    score_bases: Sequence[str]  # of functions of scores
    contexts: Sequence[str]
    follow: Follow
    target: AbstractTarget
    finite: FiniteOrbits | None  # where there are discrete coordinates that are looked at
    samples: Samples
    line_sets: tuple[LineSet, ...]
    modes: SearchedModes | None  # where several were found
    run: RunOptions

    @property
    def most_batches(self) -> int:
        return FINE_BATCHES if self.samples.n <= FEW_DRAWS else COARSE_BATCHES

    @property
    def line_count(self) -> int:
        return sum(len(lines.labels) for lines in self.line_sets)

    def uses(self, batches: Batches) -> list[SourceUse]:
        """Scores of all draws, then lines of some; lines alone where all are followed.

        Then the orbits of discrete coordinates, of the draws whose lines are followed, or of all.
        """
        lines = self._line_uses(batches)
        if self.finite is None:
            return lines
        if all(self.finite.takes(given) for given in self.line_sets):
            return [SourceUse(self.finite, self.finite_bases, self.samples, 1)]
        return [*lines, lines[-1]._replace(source=self.finite, bases=self.finite_bases)]

    @property
    def finite_bases(self) -> Sequence[str]:
        """Of functions of a step, which has no shape but follows the others or does not."""
        return ["strength" if base == "shape" else base for base in self.bases]

    def count_of(self, source: AbstractSource) -> int:
        """How many lines a source is to look at."""
        return sum(len(lines.labels) for lines in self.line_sets if source.takes(lines))

    def _line_uses(self, batches: Batches) -> list[SourceUse]:
        scores = DrawScores(self.target, self.run.memory)
        of_scores = SourceUse(scores, self.score_bases, self.samples, 1)
        if self.follow == "none":
            return [of_scores]
        tail = outlier_tail(self.samples.n, self.line_count)
        lines = FollowedLines(self.target, self.run.memory, tail)
        step = (
            1 if self.follow == "all" else step_between_followed(self.samples.n, self.samples.dim)
        )
        step = min(step, int(batches.lengths.min()))
        if step == 1:
            return [SourceUse(lines, self.bases, self.samples, 1)]
        of_lines = SourceUse(lines, self.bases, self.samples.thinned(step), step)
        return [of_scores, of_lines] if self.uses_scores else [of_lines]

    @property
    def uses_scores(self) -> bool:
        """Whether the density has scores: by its values alone only lines can be followed."""
        return self.target.has_scores(self.samples.dim)

    def monitored_columns(
        self,
        start: int,
        x: Float[np.ndarray, "m d"],
        scores: Float[np.ndarray, "m d"] | None = None,
        /,
    ) -> Float[np.ndarray, "m q"]:
        # normal scores, their squares and the scores of the target: as many as are looked at
        lines, exact = self.line_count, self.uses_scores and not self.target.noisy
        chosen = evenly_spaced_indices(2 * lines + exact * x.shape[1], MOST_COLUMNS)
        places, squares = (
            self._normal_scores(start, x, chosen[(chosen >= k) & (chosen < k + lines)] - k)
            for k in (0, lines)
        )
        columns = [places, squares**2]
        if exact:  # noise is independent, and would hide a slow chain
            known = self.target.score(x, memory=self.run.memory) if scores is None else scores
            columns.append(known[:, chosen[chosen >= 2 * lines] - 2 * lines])
        if self.modes is not None:
            columns.append(self.modes.residuals(self.target, x, self.run.memory))
        return np.concatenate(columns, axis=1)

    def _normal_scores(
        self, start: int, x: Float[np.ndarray, "m d"], chosen: Int[np.ndarray, " k"]
    ) -> Float[np.ndarray, "m k"]:
        """Where consecutive draws stand on some of the lines of all sets.

        NaN for draws that lines were learned from: a direction in which the start of a chain
        happens to spread fits it too well, which would pass for a start far away.
        """
        rows = np.arange(start, start + len(x))
        parts, first = [], 0
        for lines in self.line_sets:
            last = first + len(lines.labels)
            some = chosen[(chosen >= first) & (chosen < last)] - first
            scores = lines.normal_scores(start, x, some)
            parts.append(np.where(lines.held_out.tested(rows)[:, None], scores, np.nan))
            first = last
        return np.concatenate(parts, axis=1)

    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        for use in self.uses(batches):
            for lines, features, result in self._passes(use, batches, in_part=True):
                for block, _ in line_blocks(use, self.contexts, lines, features, result):
                    yield block
        counted = self._count_modes(batches)
        yield from () if counted is None else counted.blocks

    def _count_modes(self, batches: Batches) -> ModeCounts | None:
        if self.modes is None:
            return None
        return count_modes(self.modes, self.target, self.samples, batches, self.run)

    def test(self, batches: Batches, n_bootstrap: int, seed: object) -> LineEvidence:
        """Pass over the draws, source by source and set of lines by set of lines, and judge."""
        calibrator = Calibrator(n_bootstrap, seed)
        found: list[LineFindings] = []
        dropped: list[DroppedSetting] = []
        reached, interrupted = batches, False
        simulated: Calibration | None = None
        for use in self.uses(batches):
            of_source: list[LineFindings] = []
            for lines, features, result in self._passes(use, batches, in_part=not found):
                if self._null_is_known(use):
                    simulated = self._simulated(use, lines, result, n_bootstrap, seed)
                else:
                    blocks = line_blocks(use, self.contexts, lines, features, result)
                    for block, left_out in blocks:
                        calibrator.add(block)
                        dropped += left_out
                findings = LineFindings(use, lines, features, result.summary, result.kept)
                if of_source and of_source[-1].lines.group == lines.group:
                    of_source[-1] = of_source[-1].joined(findings)
                else:
                    of_source.append(findings)
                if not found:
                    reached = result.batches
            finished = sum(len(findings.lines.labels) for findings in of_source)
            if found and finished < self.count_of(use.source):
                # coordinates must have the same evidence: what there is of this source is left out
                calibrator.forget(f"{use.source.name}: ")
                interrupted = True
            else:
                found += of_source
            if reached.count < batches.count:
                break
        breaks = self.uses_scores and any(_breaks(findings.summary) for findings in found)
        if breaks:  # Stein's identity does not hold: what scores show is no evidence
            calibrator.forget("scores: ")
            found = [findings for findings in found if findings.use.source.name != "scores"]
        modes = self._count_modes(reached)
        for block in () if modes is None else modes.blocks:
            calibrator.add(block)
        evidence = LineEvidence(
            simulated or calibrator.calibration(),
            reached,
            tuple(found),
            tuple(dropped),
            self.line_count,
            interrupted,
            breaks,
            modes,
            simulated is not None,
        )
        kinds = NormalScoreSums, OutcomeSums
        sums = [f.summary for f in evidence.leading if isinstance(f.summary, kinds)]
        if not sums:
            return evidence
        by_signs_alone = np.ones(0 if modes is None else len(modes.judged))
        exact = np.concatenate([*map(outlier_pvalues, sums), by_signs_alone])
        return replace(evidence, calibration=evidence.calibration.joined_with(exact))

    def _null_is_known(self, use: SourceUse) -> bool:
        """Whether places of correct draws are independent, and all that there is to see."""
        alone = self.samples.dim == 1 and self.samples.independent and self.modes is None
        all_lines = use.step == 1 and use.source.name != "scores"
        return alone and all_lines and self.samples.n <= MOST_DRAWS

    def _simulated(
        self, use: SourceUse, lines: LineSet, result: PassResult, n_bootstrap: int, seed: object
    ) -> Calibration:
        summary = result.summary
        return simulated_calibration(
            result.sums.alone[: result.batches.count, 0, :, 0],
            use.source.layout,
            use.bases,
            result.batches,
            summary if isinstance(summary, OutcomeSums) else None,
            alone_family(use.source.name, lines),
            n_bootstrap,
            seed,
        )

    def _passes(
        self, use: SourceUse, batches: Batches, *, in_part: bool
    ) -> Iterator[tuple[LineSet, Features, PassResult]]:
        """Passes over the draws, each along as many lines as memory allows.

        An interruption ends them: the first pass keeps the batches it reached, if `in_part`; of a
        later one nothing is kept.
        """
        source, samples = use.source, use.samples
        try:
            slabs = self._announce(use)
        except KeyboardInterrupt:
            if in_part:
                raise
            return
        some_batches = batches.of_every(use.step, self.samples.n_draws) if use.step > 1 else batches
        total, label = samples.n * self.count_of(source), PROGRESS[source.name]
        with self.run.meter(total, "line", label) as meter:
            for given in filter(source.takes, self.line_sets):
                lines = given.thinned(use.step, samples.n_chains, samples.n_draws)
                by_name = lines.group != "directions"
                others = len(lines.scores.values)
                features = Features.draw(others, self.run.seed, one_by_one=by_name)
                bytes_per_line = features.bytes_per_line(
                    source.layout.count, batches.count, self.run.dtype
                )
                for part in chunks(len(lines.labels), self.run.memory // (2 * bytes_per_line)):
                    some = lines.part(part)
                    slab_pass = SlabPass(source, some, features, some_batches, use.kept, self.run)
                    result = slab_pass.over(samples, meter, in_part=in_part, slabs=slabs)
                    if result is None:
                        return
                    yield some, features, result
                    if result.batches.count < batches.count:
                        return
                    in_part = False

    def _announce(self, use: SourceUse) -> int:
        """Where progress is shown: how long the lines will take, if that is long.

        Returns the number of slabs in which a bar moves every few seconds then.
        """
        followed = isinstance(use.source, FollowedLines)
        if not (followed and self.run.shows_progress) or use.samples.on_cluster:
            return 1
        with self.run.stage(PROGRESS["first lines"]):
            seconds = seconds_ahead(use.source, self.line_sets, use.samples)
        if seconds is None:
            return 1
        step = step_between_followed(self.samples.n, self.samples.dim)
        fewer = -(-self.samples.n // step)
        fewer = fewer if use.step == 1 and fewer < self.samples.n else None
        self.run.announce(time_ahead(seconds, use.samples.n, fewer, self.uses_scores))
        return -(-int(seconds) // SECONDS_OF_A_SLAB)


def _breaks(summary: LineSummary) -> bool:
    """Whether the density ends along a line, or jumps."""
    return isinstance(summary, NormalScoreSums) and bool(summary.breaks.any())


def step_between_followed(draws: int, dim: int) -> int:
    """The distance between draws whose lines are followed, where only some are.

    A function of the shape of the draws alone: the same draws give the same numbers on any machine.

    >>> [step_between_followed(draws, 30) for draws in (1999, 4000, 100_000)]
    [1, 4, 100]
    >>> [step_between_followed(4000, dim) for dim in (80, 100, 1000)]
    [4, 5, 8]
    """
    followed = np.clip(FOLLOWED_LINES // dim, LEAST_FOLLOWED, MOST_FOLLOWED)
    return max(1, draws // int(followed))
