"""A pass over all draws along some lines: what is summed, slab by slab, wherever the draws are."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.memory import chunks
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batch_plan import MIN_BATCHES
from steinwise.calibration.batches import Batches
from steinwise.draws.samples import Samples
from steinwise.draws.storage import touched_groups
from steinwise.methods.transported.batch_products import Sums, add_products
from steinwise.methods.transported.effects import NormalScoreSums
from steinwise.methods.transported.features import Features
from steinwise.methods.transported.line_sets import LineSet
from steinwise.orbits.quadrature import follow_lines
from steinwise.target import AbstractTarget

if TYPE_CHECKING:
    from tqdm import tqdm

# lines followed in one call, each through a draw, and of how many coordinates: the arrays of one
# call stay in the processor's cache
LINES_AT_ONCE, LINES_TOGETHER = 2**14, 64
SUMS_AT_ONCE = 2**22  # bytes of sums, for the same reason
SLAB_LINES = 2**16  # of a slab at least: progress is shown after each
SLAB_SHARE = 64  # a slab's arrays each take at most this part of the memory
MOST_SLAB_BYTES = 2**24


class PassResult(NamedTuple):
    """What a pass over the draws found along its lines."""

    sums: Sums
    normal_scores: NormalScoreSums
    u: Float[np.ndarray, "kept c"]
    batches: Batches  # that were reached


class SlabResult(NamedTuple):
    """What a slab of draws adds: to which batches, and which of the kept draws are in it."""

    touched: slice
    first_kept: int
    sums: Sums | None  # None if they went into those of all draws
    normal_scores: NormalScoreSums
    u: np.ndarray


@dataclass(frozen=True, eq=False)
class SlabPass:
    """Everything that is needed to sum over any slab of draws, here or on another machine."""

    target: AbstractTarget
    lines: LineSet
    features: Features
    batches: Batches
    kept: Int[np.ndarray, " m"]  # the draws whose transforms are kept
    outlier_tail: float  # u or 1 - u of an outlier is below this
    run: RunOptions

    def over(self, samples: Samples, meter: "tqdm", *, in_part: bool) -> PassResult | None:
        """Go through all draws.

        When interrupted, return what was found until then if that is enough for a verdict; or, if
        `in_part` is False, None.
        """
        count = len(self.lines.labels)
        sums = Sums.zeros(self.features, self.batches.count, count, self.run.dtype)
        on_slab = self if samples.on_cluster else partial(self, into=sums)
        normal_scores, u = NormalScoreSums.none(count), np.full((len(self.kept), count), np.nan)
        done = 0
        try:
            for span, slab in samples.map_slabs(on_slab, self._slab_rows(samples)):
                if slab.sums is not None:
                    sums.part(slab.touched).add(slab.sums)
                normal_scores = normal_scores.joined(slab.normal_scores)
                u[slab.first_kept : slab.first_kept + len(slab.u)] = slab.u
                done = span.stop
                meter.update((span.stop - span.start) * count)
        except KeyboardInterrupt:
            if not in_part:
                return None
            whole = int(np.searchsorted(self.batches.bounds, done, side="right")) - 1
            if whole < MIN_BATCHES:
                raise
            kept = int(np.searchsorted(self.kept, done))
            return PassResult(sums, normal_scores, u[:kept], self.batches.first(whole))
        return PassResult(sums, normal_scores, u, self.batches)

    def _slab_rows(self, samples: Samples) -> int:
        """Rows of a slab: as many as memory allows, and few enough to show progress."""
        count = len(self.lines.labels)
        most = min(self.run.memory // SLAB_SHARE, MOST_SLAB_BYTES) // (8 * max(samples.dim, count))
        return max(1, min(most, max(-(-samples.n // 20), SLAB_LINES // count)))

    def __call__(
        self, start: int, x: Float[np.ndarray, "m d"], *, into: Sums | None = None
    ) -> SlabResult:
        """Sums over consecutive draws, beginning with draw number `start`.

        They are added to the sums of all draws, where these are in the same memory.
        """
        stop = start + len(x)
        span = touched_groups(self.batches.bounds, start, stop)
        bounds = np.clip(self.batches.bounds[span.start : span.stop + 1], start, stop) - start
        touched = Batches(bounds, self.batches.chain[span], self.batches.independent)
        own = None
        if into is None:
            count = len(self.lines.labels)
            sums = own = Sums.zeros(self.features, touched.count, count, self.run.dtype)
        else:
            sums = into.part(span)
        tested = self.lines.tested(np.arange(start, stop))
        u = self._follow_and_add(sums, start, x, touched, tested)
        kept = slice(*np.searchsorted(self.kept, [start, stop]))
        return SlabResult(
            span,
            kept.start,
            own,
            NormalScoreSums.none(u.shape[1]).with_draws(u, tested, self.outlier_tail),
            u[self.kept[kept] - start],
        )

    def _follow_and_add(
        self,
        sums: Sums,
        start: int,
        x: Float[np.ndarray, "m d"],
        batches: Batches,
        tested: Float[np.ndarray, " m"],
    ) -> Float[np.ndarray, "m c"]:
        """Follow the lines through all draws of a slab and add to its sums; u of every line."""
        count = len(self.lines.labels)
        positions = self.lines.positions(x)
        at, others = positions[:, self.lines.own], self.lines.scores(positions)
        blocks = [(block, self.lines.part(block)) for block in chunks(count, LINES_TOGETHER)]
        widest, longest = min(count, LINES_TOGETHER), int(batches.lengths.max())
        bytes_per_batch = widest * self.features.bytes_per_line(1, self.run.dtype)
        at_once = min(LINES_AT_ONCE // (longest * widest), SUMS_AT_ONCE // bytes_per_batch)
        u = np.empty((len(x), count))
        done = 0
        for group in batches.runs(max(1, at_once)):
            index, weight = group.padded(np.arange(len(x)))
            for part in chunks(index.shape[1], max(1, LINES_AT_ONCE // (group.count * widest))):
                counted = weight[:, part] * tested[index[:, part]]
                rows = index[:, part].ravel()
                for block, lines in blocks:
                    position = at[rows, block]
                    conditionals = follow_lines(
                        self.target,
                        x[rows],
                        lines.directions,
                        position,
                        lines.ranges,
                        self.run.memory,
                        start + rows,
                    )
                    u[rows, block] = conditionals.u
                    add_products(
                        sums.part(slice(done, done + group.count), block),
                        conditionals,
                        position,
                        others[rows],
                        counted,
                        lines.own,
                        self.features,
                    )
            done += group.count
        return u
