"""A pass over all draws along some lines: what is summed, slab by slab, wherever the draws are."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.memory import chunks
from steinwise._internal.run_options import RunOptions
from steinwise._internal.threads import one_blas_thread
from steinwise.calibration.batch_plan import MIN_BATCHES
from steinwise.calibration.batches import Batches
from steinwise.draws.samples import Samples
from steinwise.draws.storage import touched_groups
from steinwise.methods.complete_conditionals.batch_products import (
    SlabFeatures,
    Sums,
    add_products,
)
from steinwise.methods.complete_conditionals.features import Features
from steinwise.methods.complete_conditionals.line_sets import LineSet
from steinwise.methods.complete_conditionals.sources import (
    AbstractSource,
    LineSummary,
    Slab,
    SlabTerms,
)

if TYPE_CHECKING:
    from tqdm import tqdm

# lines followed in one call, each through a draw, and of how many coordinates: the arrays of one
# call stay in the processor's cache
LINES_AT_ONCE, LINES_TOGETHER = 2**14, 32
SUMS_AT_ONCE = 2**21  # bytes of sums, for the same reason
# lines of a slab: as many as are followed in one call at least, and more while slabs are still a
# small part of the work, so that the few that each leaves to nodes fill a call
SLAB_LINES, MORE_SLAB_LINES, SMALL_PART = 2**14, 2**16, 4
SLAB_SHARE = 64  # a slab's arrays each take at most this part of the memory
MOST_SLAB_BYTES = 2**24


class PassResult(NamedTuple):
    """What a pass over the draws found along its lines."""

    sums: Sums
    summary: LineSummary
    kept: Float[np.ndarray, "kept c"]  # what the source keeps of some draws
    batches: Batches  # that were reached


class SlabResult(NamedTuple):
    """What a slab of draws adds: to which batches, and which of the kept draws are in it."""

    touched: slice
    first_kept: int
    sums: Sums | None  # None if they went into those of all draws
    summary: LineSummary
    kept: np.ndarray


def slab_rows(
    n: int, dim: int, lines: int, memory: int, slabs: int = 1, slabs_of_much: int = 20
) -> int:
    """Rows of a slab: as many as memory allows, and few enough to show progress.

    `slabs` are at least as many as there should be, `slabs_of_much` where there are many lines.

    >>> slab_rows(4000, 10, 10, 2**30), slab_rows(2000, 100, 100, 2**30)
    (1638, 500)
    >>> slab_rows(4000, 10, 10, 2**30, slabs=40)
    100
    """
    most = min(memory // SLAB_SHARE, MOST_SLAB_BYTES) // (8 * max(dim, lines))
    few = max(SLAB_LINES // lines, min(MORE_SLAB_LINES // lines, n // SMALL_PART))
    return max(1, min(most, max(-(-n // slabs_of_much), few), -(-n // slabs)))


def slab_spans(batches: Batches, rows: int) -> list[slice]:
    """Slabs of at most `rows` rows, which end with a batch if one ends in their second half.

    Each slab adds to the sums of all batches that it touches, which are larger than its draws where
    there are many lines.

    >>> from steinwise.calibration.batches import even_batches
    >>> spans = slab_spans(even_batches(1, 100, 4, independent=True), 30)
    >>> [(span.start, span.stop) for span in spans]
    [(0, 25), (25, 50), (50, 75), (75, 100)]
    """
    bounds, spans, start = batches.bounds, [], 0
    while start < bounds[-1]:
        stop = min(start + rows, int(bounds[-1]))
        last = int(bounds[np.searchsorted(bounds, stop, side="right") - 1])
        stop = last if last - start > rows // 2 else stop
        spans.append(slice(start, stop))
        start = stop
    return spans


@dataclass(frozen=True, eq=False)
class SlabPass:
    """Everything that is needed to sum over any slab of draws, here or on another machine."""

    source: AbstractSource
    lines: LineSet
    features: Features
    batches: Batches
    kept: Int[np.ndarray, " m"]  # the draws of which something is kept
    run: RunOptions

    def over(
        self, samples: Samples, meter: "tqdm", *, in_part: bool, slabs: int = 1
    ) -> PassResult | None:
        """Go through all draws, in at least this many slabs.

        When interrupted, return what was found until then if that is enough for a verdict; or, if
        `in_part` is False, None.
        """
        count = len(self.lines.labels)
        sums = self._no_sums(self.batches.count)
        on_slab = self if samples.on_cluster else partial(self, into=sums)
        summary = self.source.nothing(count)
        kept = np.full((len(self.kept), count if self.source.pictured else 0), np.nan)
        done = 0
        rows = slab_rows(samples.n, samples.dim, count, self.run.memory, slabs, self.source.slabs)
        try:
            for span, slab in samples.map_scored_slabs(on_slab, slab_spans(self.batches, rows)):
                if slab.sums is not None:
                    sums.part(slab.touched).add(slab.sums)
                summary = summary.joined(slab.summary)  # type: ignore[arg-type]  # of one source
                kept[slab.first_kept : slab.first_kept + len(slab.kept)] = slab.kept
                done = span.stop
                meter.update((span.stop - span.start) * count)
        except KeyboardInterrupt:
            if not in_part:
                return None
            whole = int(np.searchsorted(self.batches.bounds, done, side="right")) - 1
            if whole < MIN_BATCHES:
                raise
            reached = int(np.searchsorted(self.kept, done))
            return PassResult(sums, summary, kept[:reached], self.batches.first(whole))
        return PassResult(sums, summary, kept, self.batches)

    def _no_sums(self, batches: int) -> Sums:
        count = len(self.lines.labels)
        return Sums.zeros(self.features, self.source.layout.count, batches, count, self.run.dtype)

    def __call__(
        self,
        start: int,
        x: Float[np.ndarray, "m d"],
        known: Float[np.ndarray, "m d"] | None,
        *,
        into: Sums | None = None,
    ) -> SlabResult:
        """Sums over consecutive draws, beginning with draw number `start`.

        `known` are their scores, if these are known already. The sums are added to those of all
        draws, where these are in the same memory.
        """
        stop = start + len(x)
        span = touched_groups(self.batches.bounds, start, stop)
        bounds = np.clip(self.batches.bounds[span.start : span.stop + 1], start, stop) - start
        touched = Batches(bounds, self.batches.chain[span], self.batches.independent)
        own = None
        if into is None:
            sums = own = self._no_sums(touched.count)
        else:
            sums = into.part(span)
        positions = self.lines.positions(x)
        at, others = positions[:, self.lines.own], self.lines.others(start, positions)
        numbers = np.arange(start, stop)
        tested = self.lines.held_out.tested(numbers).astype(float)
        slab_terms = self.source.evaluate(Slab(self.lines, x, at, numbers, tested, known))
        self._add(sums, slab_terms, others, touched, tested)
        kept = slice(*np.searchsorted(self.kept, [start, stop]))
        shown = slab_terms.shown[self.kept[kept] - start]
        return SlabResult(span, kept.start, own, slab_terms.summary, shown)

    @one_blas_thread
    def _add(
        self,
        sums: Sums,
        slab_terms: SlabTerms,
        others: Float[np.ndarray, "q m"],
        batches: Batches,
        tested: Float[np.ndarray, " m"],
    ) -> None:
        """Add terms times features of all draws of a slab to its sums."""
        source, count, dtype = self.source, len(self.lines.labels), sums.alone.dtype
        blocks = [(block, self.lines.own[block]) for block in chunks(count, LINES_TOGETHER)]
        widest, longest = min(count, LINES_TOGETHER), int(batches.lengths.max())
        bytes_per_line = self.features.bytes_per_line(source.layout.count, 1, self.run.dtype)
        at_once = min(
            LINES_AT_ONCE // (longest * widest), SUMS_AT_ONCE // (widest * bytes_per_line)
        )
        done = 0
        for group in batches.runs(max(1, at_once)):
            index, weight = group.padded(np.arange(len(tested)))
            for part in chunks(index.shape[1], max(1, LINES_AT_ONCE // (group.count * widest))):
                rows = index[:, part].ravel()
                counted = weight[:, part] * tested[index[:, part]]
                features = SlabFeatures.of(others[:, rows], counted, self.features, dtype)
                for block, own in blocks:
                    add_products(
                        sums.part(slice(done, done + group.count), block),
                        slab_terms.terms(rows, block, dtype),
                        source.layout,
                        features,
                        own,
                    )
            done += group.count
