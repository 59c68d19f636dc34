r"""The default check: transported conditionals.

F_ij, the CDF of p(. | x_i,-j), takes every coordinate of every draw to u_ij = F_ij(x_ij), which is
uniform, and independent of x_i,-j, when the draws come from p. The statistic looks for any
departure from that,

.. math:: T_j = \sum_{i \neq l} \kappa(x_{i,-j}, x_{l,-j}) \, \langle m(x_{ij}), o(u_{lj}) \rangle,

over three bases of functions and several kernels kappa of the other coordinates. Given the other
coordinates of all draws both factors have mean zero under the null, whatever kappa is, so signs
per batch calibrate it. No training, no split, linear in n.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import jax
import numpy as np
from jaxtyping import Float

from steinwise import frames, misfit, transport
from steinwise.batches import Batches, BatchPlan
from steinwise.calibration import Calibration
from steinwise.errors import InputError
from steinwise.frames import Frame
from steinwise.lines import EVALUATIONS, Guide, follow, make_guide
from steinwise.memory import chunks
from steinwise.methods.abstract import AbstractMethod, Work
from steinwise.random import stream
from steinwise.results import NO_MISFIT, CoordinateResult, Findings
from steinwise.samples import Samples
from steinwise.statistics import AbstractStatistic, BatchSums
from steinwise.target import AbstractTarget

MOST_PAIRS = 500  # products of two other coordinates that are looked at one by one
LINES_AT_ONCE = 2**15
BASES = ("shape", "shift", "tails")
CONTEXTS = ("alone", "dependence", "dependence on size", "interaction")


class Transported(AbstractMethod):
    """Conditional probability transforms of every coordinate, tested in linear time.

    Four kinds of evidence are calibrated together: all coordinates summed, largest over the
    settings (every base in every context); the single coordinate with the largest such value; the
    single other coordinate, or pair of them, on which a coordinate depends most; and the first two
    again along the leading directions of a held-out fifth of the draws.

    Parameters
    ----------
    bases
        Some of "shape" (a Stein kernel, one conditional standard deviation wide), "shift" (cosines
        of u, the low ones weighing most) and "tails" (Hermite polynomials of the normal score).
    contexts
        How a departure may vary with the other coordinates: some of "alone" (not at all),
        "dependence" (linearly), "dependence on size" (with squares) and "interaction" (with
        products of two).
    directions
        Whether directions are followed beside the coordinates.

    Examples
    --------
    >>> import numpy as np, steinwise as sw
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.normal(size=(500, 3))
    >>> draws[:, 2] = np.abs(draws[:, 2]) * np.sign(draws[:, 0] * draws[:, 1])
    >>> result = sw.check(draws, sw.Gaussian(np.zeros(3), np.eye(3)))
    >>> result.coordinates[2].verdict
    'depends on x[0] and x[1] together in a way that the target does not'
    """

    bases: Sequence[str] = BASES
    contexts: Sequence[str] = CONTEXTS
    directions: bool = True

    name: ClassVar[str] = "transported"

    def __check_init__(self) -> None:
        for chosen, known, what in (
            (self.bases, BASES, "bases"),
            (self.contexts, CONTEXTS, "contexts"),
        ):
            if isinstance(chosen, str) or not chosen or not set(chosen) <= set(known):
                raise InputError(f"{what} is {chosen!r}: expected some of {known}.")

    def describe(self) -> str:
        return "transported conditionals"

    def labels(self, samples: Samples) -> tuple[str, ...]:
        return tuple(label for frame in self._frames(samples) for label in frame.labels)

    def statistic(
        self, samples: Samples, target: AbstractTarget, work: Work
    ) -> "TransportedStatistic":
        found = self._frames(samples)
        return TransportedStatistic(
            method=self,
            target=target,
            x=samples.rows,
            frames=found,
            pairs=_pairs(samples.dim, work.seed),
            sketch=_sketch(samples.dim, work.seed),
            u=tuple(np.full(frame.at.shape, np.nan) for frame in found),
            work=work,
        )

    def _frames(self, samples: Samples) -> tuple[Frame, ...]:
        rotated = frames.directions(samples) if self.directions else None
        return (frames.axes(samples),) + (() if rotated is None else (rotated,))

    def contexts_of(self, frame: Frame) -> list[str]:
        """The contexts that a frame has features for: products need two other coordinates."""
        others = frame.others.shape[1] - 1
        left_out = {"interaction"} if frame.group == "directions" or others == 1 else set()
        if others == 0:
            left_out = set(CONTEXTS)
        return [context for context in self.contexts if context not in left_out] or ["alone"]

    def settings(self, frame: Frame) -> list[tuple[str, str]]:
        """The (base, context) of every setting of a frame, in order."""
        return [(base, context) for base in self.bases for context in self.contexts_of(frame)]

    def findings(
        self,
        samples: Samples,
        statistic: AbstractStatistic,
        plan: BatchPlan,
        verdict: Calibration,
        alpha: float,
    ) -> Findings:
        assert isinstance(statistic, TransportedStatistic)
        results = []
        for frame, u in zip(statistic.frames, statistic.u, strict=True):
            z = misfit.normal_places(u[frame.tested > 0])
            effects = misfit.effects(z)
            for j, name in enumerate(frame.labels):
                k = len(results)
                words = NO_MISFIT
                if verdict.adjusted_pvalues[k] <= alpha:
                    context = self._context(frame, verdict.deciding[k])
                    partners = statistic.partners(frame, j, context, verdict, samples.names)
                    words = misfit.words(z[:, j], effects[j], context, partners, plan)
                results.append(
                    CoordinateResult(
                        name=name,
                        value=float(verdict.values[k]),
                        pvalue=float(verdict.coordinate_pvalues[k]),
                        adjusted_pvalue=float(verdict.adjusted_pvalues[k]),
                        effect=effects[j],
                        verdict=words,
                    )
                )
        largest = verdict.largest_null[f"{statistic.frames[0].group} settings"]
        return Findings(
            coordinates=tuple(results),
            detectable=misfit.detectable(float(np.quantile(largest, 1 - alpha)), plan),
            evaluations=statistic.evaluations,
            pit=statistic.u[0],
            x=statistic.x,
        )

    def _context(self, frame: Frame, deciding: tuple[str, int]) -> str:
        family, setting = deciding
        return self.settings(frame)[setting][1] if family.endswith("settings") else family


def _pairs(d: int, seed: object) -> np.ndarray:
    """The pairs of coordinates whose products are looked at: all, or as many drawn at random."""
    every = np.stack(np.triu_indices(d, 1), axis=1)
    if len(every) <= MOST_PAIRS:
        return every
    chosen = stream(seed, "pairs").choice(len(every), MOST_PAIRS, replace=False)
    return every[np.sort(chosen)]


def _sketch(d: int, seed: object) -> np.ndarray | None:
    """Random signs that stand for the sum over all products, where there are many."""
    if d * (d - 1) // 2 <= transport.SKETCHES:
        return None
    return stream(seed, "sketch").choice([-1.0, 1.0], size=(2, d, transport.SKETCHES))


@dataclass(frozen=True, eq=False)
class TransportedStatistic(AbstractStatistic):
    """Feature products on batch sums, some lines at a time."""

    method: Transported
    target: AbstractTarget
    x: Float[np.ndarray, "n d"]
    frames: tuple[Frame, ...]
    pairs: np.ndarray
    sketch: np.ndarray | None
    u: tuple[np.ndarray, ...]  # per frame, filled by batch_sums as it goes
    work: Work
    most_batches: ClassVar[int] = 100

    @property
    def evaluations(self) -> int:
        """Evaluations of the target per line."""
        return EVALUATIONS if self.target.normal_along(self.x[:1], np.arange(1)) is None else 0

    def averaged(self) -> np.ndarray:
        scores = self.target.score(self.x, memory=self.work.memory)
        places = np.concatenate([frame.others[:, frame.own] for frame in self.frames], axis=1)
        return np.concatenate([places, places**2, scores], axis=1)

    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        n, d = self.x.shape
        places = transport.context_slices(d, self.pairs, self.sketch)
        entries = batches.count * transport.TERMS * places["last"].stop
        per_block = max(1, min(self.work.memory // (4 * 8 * entries), LINES_AT_ONCE // n))
        blocks = [
            (frame, u, block)
            for frame, u in zip(self.frames, self.u, strict=True)
            for block in chunks(len(frame.labels), per_block)
        ]
        for frame, u, block in self.work.bar(blocks, len(blocks), "lines"):
            guide = make_guide(frame.at[:, block])
            at_once = max(1, LINES_AT_ONCE // (block.stop - block.start))
            runs = batches.runs(max(1, batches.count * at_once // n))
            sums = np.concatenate([self._sums(frame, u, block, run, guide) for run in runs])
            yield from self._families(frame, sums, places, batches)

    def _sums(
        self, frame: Frame, u: np.ndarray, block: slice, run: Batches, guide: Guide
    ) -> np.ndarray:
        """(batch, line, term, feature): sums over the draws of each batch."""
        index, weight = run.padded(np.arange(len(self.x)))
        rows = index.ravel()
        at = frame.at[rows, block]
        memory = self.work.memory
        lines = follow(self.target, self.x[rows], frame.directions[block], at, guide, memory)
        u[rows, block] = lines.u
        with jax.enable_x64(True):
            sums = transport.batch_products(
                lines,
                at,
                frame.others[rows],
                weight * frame.tested[index],
                frame.own[block],
                self.pairs,
                self.sketch,
            )
        return np.asarray(sums)

    def _families(
        self, frame: Frame, sums: np.ndarray, places: dict[str, slice], batches: Batches
    ) -> Iterator[BatchSums]:
        settings = tuple(
            (base, places[context].start, places[context].stop)
            for base, context in self.method.settings(frame)
        )
        with jax.enable_x64(True):
            values = np.asarray(transport.products(sums, settings))
        name = f"{frame.group} settings"
        yield BatchSums(values, batches, name, frame.group, sparse=True)
        if frame.group == "directions":
            return
        for context in self.method.contexts_of(frame):
            if context == "alone":
                continue
            features = places["pairs" if context == "interaction" else context]
            single = sums[:, :, transport.SINGLE_TERMS, features]
            single = single.reshape(*sums.shape[:2], -1)  # (batch, line, term and feature)
            yield BatchSums(
                np.moveaxis(single, (0, 1, 2), (2, 1, 0)),
                batches,
                context,
                frame.group,
                dense=False,
                sparse=True,
                two_sided=True,
            )

    def partners(
        self, frame: Frame, j: int, context: str, verdict: Calibration, names: tuple[str, ...]
    ) -> tuple[str, ...]:
        """The other coordinates that a coordinate depends on most, in this context."""
        if context not in verdict.settings or frame.group == "directions":
            return ()
        chosen = int(verdict.settings[context][j])
        if context == "interaction":
            return tuple(names[k] for k in self.pairs[chosen % len(self.pairs)])
        return (names[chosen % len(names)],)
