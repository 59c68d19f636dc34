"""A walk over all draws along some lines: what is summed, slab by slab, wherever the draws are."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.memory import chunks
from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import MIN_BATCHES, Batches
from steinwise.draws.samples import Samples
from steinwise.draws.storage import touched_groups
from steinwise.methods.transported import terms as transport
from steinwise.methods.transported.effects import Tally
from steinwise.methods.transported.line_sets import Frame
from steinwise.methods.transported.terms import Features, Sums
from steinwise.orbits.quadrature import follow
from steinwise.target import AbstractTarget

if TYPE_CHECKING:
    from tqdm import tqdm

LINES_AT_ONCE, LINES_TOGETHER = 2**14, 64  # lines, each of a draw; and of how many coordinates
SUMS_AT_ONCE = 2**22  # bytes of sums, which stay in the processor's cache
SLAB_LINES = 2**16  # of a slab at least, after which progress is shown
SLAB_SHARE = 64  # of the memory, for each array of a slab
MOST_SLAB_BYTES = 2**24


class PassResult(NamedTuple):
    """What a walk, or a slab of it, leaves behind."""

    sums: Sums
    tally: Tally
    u: Float[np.ndarray, "kept c"]
    batches: Batches  # that were walked to the end


class _Piece(NamedTuple):
    """What a slab of draws adds: to which batches, and which of the kept draws are in it."""

    touched: slice
    first_kept: int
    sums: Sums | None  # None if they went into those of all draws
    tally: Tally
    u: np.ndarray


@dataclass(frozen=True, eq=False)
class Walk:
    """Everything that is needed to sum over any slab of draws, here or on another machine."""

    target: AbstractTarget
    frame: Frame
    features: Features
    batches: Batches
    kept: Int[np.ndarray, " m"]  # the draws whose transforms are kept
    unlikely: float  # u or 1 - u of an outlier is below this
    run: RunOptions

    def over(self, samples: Samples, meter: "tqdm", *, in_part: bool) -> PassResult | None:
        """Walk over all draws.

        When interrupted, give what was found until then if that is enough for a verdict, or, if
        `in_part` is False, None.
        """
        lines = len(self.frame.labels)
        sums = self.features.sums(self.batches.count, lines, self.run.dtype)
        walk = self if samples.on_cluster else partial(self, into=sums)
        tally, u = Tally.none(lines), np.full((len(self.kept), lines), np.nan)
        done = 0
        try:
            for part, piece in samples.mapped(walk, self._slab(samples)):
                if piece.sums is not None:
                    sums.part(piece.touched).add(piece.sums)
                tally = tally.joined(piece.tally)
                u[piece.first_kept : piece.first_kept + len(piece.u)] = piece.u
                done = part.stop
                meter.update((part.stop - part.start) * lines)
        except KeyboardInterrupt:
            if not in_part:
                return None
            whole = int(np.searchsorted(self.batches.bounds, done, side="right")) - 1
            if whole < MIN_BATCHES:
                raise
            kept = int(np.searchsorted(self.kept, done))
            return PassResult(sums, tally, u[:kept], self.batches.first(whole))
        return PassResult(sums, tally, u, self.batches)

    def _slab(self, samples: Samples) -> int:
        """Rows of a slab: as many as memory allows, and as show progress."""
        lines = len(self.frame.labels)
        most = min(self.run.memory // SLAB_SHARE, MOST_SLAB_BYTES) // (8 * max(samples.dim, lines))
        return max(1, min(most, max(-(-samples.n // 20), SLAB_LINES // lines)))

    def __call__(
        self, start: int, x: Float[np.ndarray, "m d"], *, into: Sums | None = None
    ) -> _Piece:
        """Sums over consecutive draws, the first of which has the number `start`.

        They are added to the sums of all draws, where these are at hand.
        """
        stop = start + len(x)
        span = touched_groups(self.batches.bounds, start, stop)
        bounds = np.clip(self.batches.bounds[span.start : span.stop + 1], start, stop) - start
        touched = Batches(bounds, self.batches.chain[span], self.batches.independent)
        lines = len(self.frame.labels)
        own = None
        if into is None:
            sums = own = self.features.sums(touched.count, lines, self.run.dtype)
        else:
            sums = into.part(span)
        coordinates = self.frame.places(x)
        at, others = coordinates[:, self.frame.own], self.frame.scores(coordinates)
        u = np.empty((len(x), lines))
        tested = self.frame.tested(np.arange(start, stop))
        blocks = [(block, self.frame.part(block)) for block in chunks(lines, LINES_TOGETHER)]
        widest, longest = min(lines, LINES_TOGETHER), int(touched.lengths.max())
        done = 0
        of_batch = widest * self.features.bytes_per_line(1, self.run.dtype)
        at_once = min(LINES_AT_ONCE // (longest * widest), SUMS_AT_ONCE // of_batch)
        for run in touched.runs(max(1, at_once)):
            index, weight = run.padded(np.arange(len(x)))
            for some in chunks(index.shape[1], max(1, LINES_AT_ONCE // (run.count * widest))):
                rows = index[:, some]
                counted = weight[:, some] * tested[rows]
                rows = rows.ravel()
                for block, frame in blocks:
                    place = at[rows, block]
                    found = follow(
                        self.target,
                        x[rows],
                        frame.directions,
                        place,
                        frame.guide,
                        self.run.memory,
                        start + rows,
                    )
                    u[rows, block] = found.u
                    transport.batch_products(
                        sums.part(slice(done, done + run.count), block),
                        found,
                        place,
                        others[rows],
                        counted,
                        frame.own,
                        self.features,
                    )
            done += run.count
        kept = slice(*np.searchsorted(self.kept, [start, stop]))
        return _Piece(
            span,
            kept.start,
            own,
            Tally.none(lines).with_draws(u, tested, self.unlikely),
            u[self.kept[kept] - start],
        )
