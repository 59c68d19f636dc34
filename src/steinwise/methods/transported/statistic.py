r"""The statistic of the default check, tested some lines at a time.

.. math:: T_j = \sum_{i \neq l} \kappa(x_{i,-j}, x_{l,-j}) \, \langle m(x_{ij}), o(u_{lj}) \rangle,

over three bases of functions and several kernels kappa of the other coordinates. Given the other
coordinates of all draws both factors have mean zero under the null, whatever kappa is, so signs
per batch calibrate it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.memory import chunks
from steinwise._internal.notes import Note, note
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batch_sums import BatchSums
from steinwise.calibration.batches import Batches
from steinwise.calibration.families import Calibrator
from steinwise.calibration.pvalues import EXACT_SHARE, Calibration
from steinwise.draws.samples import Samples
from steinwise.methods.base import Evidence
from steinwise.methods.statistics import AbstractStatistic
from steinwise.methods.transported.batch_products import Sums, products
from steinwise.methods.transported.effects import NormalScoreSums
from steinwise.methods.transported.features import Features
from steinwise.methods.transported.line_sets import LineSet
from steinwise.methods.transported.settings import (
    WEIGHTS,
    available_contexts,
    expected_squares,
    families,
)
from steinwise.methods.transported.slab_pass import PassResult, SlabPass
from steinwise.orbits.quadrature import evaluations_per_line
from steinwise.target import AbstractTarget

LINES_PER_BLOCK = 64  # whose bootstraps exist at the same time
MOST_KEPT, ENTRIES_KEPT = 100_000, 2**23  # draws, and entries of them, whose transforms are kept
# With G batches a mean of size z, in standard errors, stands out as z / sqrt(1 + z^2 / G): few
# draws, whose evidence is scarce and cheap, are cut finely.
FEW_DRAWS, FINE_BATCHES, COARSE_BATCHES = 512, 128, 64
OUTLIER_LEVEL = 0.05 * EXACT_SHARE  # of calling any draw an outlier, where all are right


class DroppedSetting(NamedTuple):
    """A setting of a line that says nothing, because its numbers overflow or underflow."""

    base: str
    context: str
    line: str
    why: str  # "overflow" or "underflow"


@dataclass(frozen=True, eq=False)
class LineFindings:
    """What was found along the lines of one set."""

    lines: LineSet
    features: Features
    normal_scores: NormalScoreSums
    u: Float[np.ndarray, "kept c"]

    def joined(self, other: "LineFindings") -> "LineFindings":
        """With more lines of the same set."""
        return replace(
            self,
            lines=self.lines.joined(other.lines),
            normal_scores=NormalScoreSums.side_by_side([self.normal_scores, other.normal_scores]),
            u=np.concatenate([self.u, other.u], axis=1),
        )

    def partners(
        self, j: int, context: str, calibration: Calibration, names: tuple[str, ...], alpha: float
    ) -> tuple[str, ...]:
        """The other coordinates that a coordinate depends on most, in this context.

        None where no single one stands out by itself: of many, only some are looked at one by one.
        """
        family = calibration.families.get(context)
        if family is None or self.lines.group == "directions" or family.pvalues[j] > alpha:
            return ()
        return tuple(names[k] for k in self.features.partners(context, int(family.setting[j])))


@dataclass(frozen=True, eq=False)
class TransportedEvidence(Evidence):
    """What was found along all lines, or along those reached before an interruption."""

    found: tuple[LineFindings, ...]  # of coordinates, then of directions
    dropped: tuple[DroppedSetting, ...]
    lines: int  # that were to be followed

    def notes(self) -> tuple[Note, ...]:
        followed = sum(len(found.lines.labels) for found in self.found)
        notes = [dropped for why in ("overflow", "underflow") for dropped in self._dropped(why)]
        if followed < self.lines:
            notes.append(note("lines interrupted", done=followed, lines=self.lines))
        return tuple(notes)

    def _dropped(self, why: str) -> Iterator[Note]:
        settings = [setting for setting in self.dropped if setting.why == why]
        if settings:
            base, context, line, _ = settings[0]
            more = f" and {len(settings) - 1} more" if len(settings) > 1 else ""
            yield note(why, base=base, context=context, line=line, more=more)


@dataclass(frozen=True, eq=False)
class TransportedStatistic(AbstractStatistic):
    """Feature products on batch sums, some lines at a time."""

    bases: Sequence[str]
    contexts: Sequence[str]
    target: AbstractTarget
    samples: Samples
    line_sets: tuple[LineSet, ...]
    run: RunOptions

    @property
    def most_batches(self) -> int:
        return FINE_BATCHES if self.samples.n <= FEW_DRAWS else COARSE_BATCHES

    @property
    def evaluations(self) -> int:
        """Evaluations of the target per line."""
        return evaluations_per_line(self.target, self.samples.evenly_spaced(1))

    @property
    def kept(self) -> Int[np.ndarray, " m"]:
        """The numbers of the draws whose transforms are kept, for pictures of them."""
        most = min(MOST_KEPT, max(1000, ENTRIES_KEPT // self.samples.dim))
        return evenly_spaced_indices(self.samples.n, most)

    def monitored_columns(
        self,
        start: int,  # noqa: ARG002
        x: Float[np.ndarray, "m d"],
    ) -> Float[np.ndarray, "m q"]:
        scores = self.target.score(x, memory=self.run.memory)
        normal_scores = np.concatenate(
            [lines.scores(lines.positions(x))[:, lines.own] for lines in self.line_sets], axis=1
        )
        return np.concatenate([normal_scores, normal_scores**2, scores], axis=1)

    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        for lines, features, result in self._passes(batches):
            for block, _ in self._blocks(lines, features, result):
                yield block

    def test(self, batches: Batches, n_bootstrap: int, seed: object) -> TransportedEvidence:
        """Pass over the draws, set of lines by set of lines, and judge what was found."""
        calibrator = Calibrator(n_bootstrap, seed)
        found: list[LineFindings] = []
        dropped: list[DroppedSetting] = []
        reached = batches
        for lines, features, result in self._passes(batches):
            for block, left_out in self._blocks(lines, features, result):
                calibrator.add(block)
                dropped += left_out
            findings = LineFindings(lines, features, result.normal_scores, result.u)
            if found and found[-1].lines.group == lines.group:
                found[-1] = found[-1].joined(findings)
            else:
                found.append(findings)
            reached = result.batches
        exact = np.concatenate([outlier_pvalues(findings.normal_scores) for findings in found])
        return TransportedEvidence(
            calibrator.calibration().joined_with(exact),
            reached,
            tuple(found),
            tuple(dropped),
            sum(len(lines.labels) for lines in self.line_sets),
        )

    def _passes(self, batches: Batches) -> Iterator[tuple[LineSet, Features, PassResult]]:
        """Passes over the draws, each along as many lines as memory allows.

        An interruption ends them: the first pass keeps the batches it reached, of a later one
        nothing is kept.
        """
        count = sum(len(lines.labels) for lines in self.line_sets)
        cost = f", {self.samples.n * count * self.evaluations:.2g} evaluations"
        outlier_tail = OUTLIER_LEVEL / (2 * self.samples.n * count)
        first = True
        with self.run.meter(self.samples.n * count, "line", f"lines{cost}") as meter:
            for lines in self.line_sets:
                features = Features.draw(len(lines.scores.values), self.run.seed)
                bytes_per_line = features.bytes_per_line(batches.count, self.run.dtype)
                for part in chunks(len(lines.labels), self.run.memory // (2 * bytes_per_line)):
                    some = lines.part(part)
                    slab_pass = SlabPass(
                        self.target, some, features, batches, self.kept, outlier_tail, self.run
                    )
                    result = slab_pass.over(self.samples, meter, in_part=first)
                    if result is None:
                        return
                    yield some, features, result
                    if result.batches.count < batches.count:
                        return
                    first = False

    def _blocks(
        self, lines: LineSet, features: Features, result: PassResult
    ) -> Iterator[tuple[BatchSums, list[DroppedSetting]]]:
        """The batch sums of a pass, some lines at a time, and the settings that say nothing."""
        reached = slice(result.batches.count)
        for part in chunks(len(lines.labels), LINES_PER_BLOCK):
            sums = result.sums.part(reached, part)
            labels = lines.labels[part]
            by_family = families(self.bases, self.contexts, lines)
            for family, settings in by_family.items():
                values = products(sums, settings)
                dropped = _drop_unusable(values, settings, labels)
                weights = WEIGHTS[lines.group] if family.endswith("alone") else (1.0, 1.0)
                expected = expected_squares(settings, result.batches, lines.held_out)
                yield (
                    BatchSums(
                        values, result.batches, family, lines.group, *weights, expected=expected
                    ),
                    dropped,
                )
            if lines.group == "directions":
                continue
            for context in available_contexts(self.contexts, lines):
                if context != "alone":  # single terms with single features: they name partners
                    yield _single_features(sums, features, context, lines, result.batches), []


def _drop_unusable(
    values: Float[np.ndarray, "setting c batch batch"],
    settings: Sequence[tuple[str, str]],
    labels: tuple[str, ...],
) -> list[DroppedSetting]:
    """Set what overflows to 0, as what underflows is; and say which settings say nothing."""
    largest = np.abs(values).max(axis=(2, 3))
    dropped = []
    for s, k in zip(*np.nonzero(~((largest > 0) & np.isfinite(largest))), strict=True):
        why = "underflow" if largest[s, k] == 0 else "overflow"
        base, context = settings[s]
        dropped.append(DroppedSetting(base, context, labels[k], why))
        values[s, k] = 0.0
    return dropped


def _single_features(
    sums: Sums, features: Features, context: str, lines: LineSet, batches: Batches
) -> BatchSums:
    single = sums.singles(features, context)
    batch, line, term, feature = single.shape
    values = single.transpose(2, 3, 1, 0).reshape(term * feature, line, batch)
    return BatchSums(values, batches, context, lines.group, 0.0, 1.0, two_sided=True)


def outlier_pvalues(normal_scores: NormalScoreSums) -> Float[np.ndarray, " c"]:
    """Whether a single draw stands where the target's conditional has next to nothing.

    Signs cannot tell a few draws far out from a chance of signs. But P(2 min(u, 1 - u) <= t)
    is t for every draw that comes from p, so the least over n draws, times n, is a p-value,
    however the draws depend on each other.
    """
    tails = normal_scores.least * 2 * normal_scores.draws
    return np.clip(tails, np.finfo(float).eps, 1.0)  # 1 - u is known to this precision
