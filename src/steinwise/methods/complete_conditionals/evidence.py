"""What was found along lines: by source, by set of lines, and in all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.notes import Note, note
from steinwise.calibration.pvalues import Calibration
from steinwise.draws.samples import Samples
from steinwise.methods.base import Evidence
from steinwise.methods.complete_conditionals.features import Features
from steinwise.methods.complete_conditionals.line_sets import LineSet
from steinwise.methods.complete_conditionals.mode_family import ModeCounts
from steinwise.methods.complete_conditionals.settings import single_family
from steinwise.methods.complete_conditionals.sources import AbstractSource, LineSummary

MOST_KEPT, ENTRIES_KEPT = 100_000, 2**23  # draws, and entries of them, whose transforms are kept


class DroppedSetting(NamedTuple):
    """A setting of a line that says nothing, because its numbers overflow or underflow."""

    base: str
    context: str
    line: str
    why: str  # "overflow" or "underflow"


class SourceUse(NamedTuple):
    """A source of terms, which of its bases are used, and on which draws."""

    source: AbstractSource
    bases: Sequence[str]
    samples: Samples  # all draws, or every step-th of each chain
    step: int

    @property
    def kept(self) -> Int[np.ndarray, " m"]:
        """The numbers of the draws of which something is kept, for pictures of them."""
        most = min(MOST_KEPT, max(1000, ENTRIES_KEPT // self.samples.dim))
        return evenly_spaced_indices(self.samples.n, most)


@dataclass(frozen=True, eq=False)
class LineFindings:
    """What was found along the lines of one set."""

    use: SourceUse
    lines: LineSet
    features: Features
    summary: LineSummary
    kept: Float[np.ndarray, "kept k"]  # u of some draws on every line; no columns of scores

    def joined(self, other: "LineFindings") -> "LineFindings":
        """With more lines of the same set."""
        return replace(
            self,
            lines=self.lines.joined(other.lines),
            summary=self.summary.side_by_side([self.summary, other.summary]),  # type: ignore[list-item]
            kept=np.concatenate([self.kept, other.kept], axis=1),
        )

    def partners(
        self, j: int, context: str, calibration: Calibration, names: tuple[str, ...], alpha: float
    ) -> tuple[str, ...]:
        """The other coordinates that a coordinate depends on most, in this context.

        None where no single one stands out by itself: of many, only some are looked at one by one.
        """
        family = calibration.families.get(single_family(self.use.source.name, context))
        if family is None or self.lines.group == "directions" or family.pvalues[j] > alpha:
            return ()
        return tuple(names[k] for k in self.features.partners(context, int(family.setting[j])))


@dataclass(frozen=True, eq=False)
class LineEvidence(Evidence):
    """What was found along all lines, or along those reached before an interruption."""

    found: tuple[LineFindings, ...]  # from scores, then from lines; of coordinates, then directions
    dropped: tuple[DroppedSetting, ...]
    lines: int  # that each source was to look at
    interrupted: bool  # before lines were followed, so that there are scores only
    breaks: bool  # of the density, edges and jumps among the draws: scores were left out
    modes: ModeCounts | None  # of the draws, where several modes were found
    simulated: bool  # correct draws, of which there is a single coordinate

    @property
    def leading(self) -> tuple[LineFindings, ...]:
        """Of each group the findings that tell most: from lines, where they were followed."""
        by_group: dict[str, LineFindings] = {}
        for findings in self.found:
            by_group[findings.lines.group] = findings
        return tuple(by_group.values())

    def notes(self) -> tuple[Note, ...]:
        looked_at = sum(len(findings.lines.labels) for findings in self.leading)
        notes = [dropped for why in ("overflow", "underflow") for dropped in self._dropped(why)]
        if self.breaks:
            notes.append(note("density breaks"))
        if self.interrupted:
            notes.append(note("only scores"))
        if looked_at < self.lines:
            notes.append(note("lines interrupted", done=looked_at, lines=self.lines))
        return tuple(notes)

    def _dropped(self, why: str) -> Iterator[Note]:
        settings = [setting for setting in self.dropped if setting.why == why]
        if settings:
            base, context, line, _ = settings[0]
            more = f", and {len(settings) - 1} more like it," if len(settings) > 1 else ""
            yield note(why, base=base, context=context, line=line, more=more)
