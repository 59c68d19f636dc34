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
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from steinwise import frames, misfit, transport
from steinwise.batches import Batches, BatchPlan
from steinwise.calibration import EXACT_SHARE, Calibration
from steinwise.errors import InputError
from steinwise.frames import Frame
from steinwise.lines import EVALUATIONS, Guide, follow, make_guide
from steinwise.memory import chunks
from steinwise.methods.abstract import AbstractMethod
from steinwise.random import stream
from steinwise.results import DEPENDENCE_NOTE, NO_MISFIT, CoordinateResult, Findings
from steinwise.samples import Samples
from steinwise.statistics import AbstractStatistic, BatchSums
from steinwise.target import AbstractTarget
from steinwise.work import Work

MOST_PAIRS = 500  # products of two other coordinates that are looked at one by one
LINES_AT_ONCE, LINES_PER_BLOCK = 2**13, 64  # lines, each of a draw; lines that share their sums
# With G batches a mean of size z, in standard errors, stands out as z / sqrt(1 + z^2 / G): few
# draws, whose evidence is scarce and cheap, are cut finely.
FEW_DRAWS, FINE_BATCHES, COARSE_BATCHES = 512, 128, 64
BASES = ("shape", "shift", "tails")
# what a coordinate's fault by itself, summed and largest, counts beside any one kind of dependence
WEIGHTS = {"coordinates": (8.0, 16.0), "directions": (8.0, 8.0)}
CONTEXTS = ("alone", "dependence", "dependence on size", "interaction")


class Transported(AbstractMethod):
    """Conditional probability transforms of every coordinate, tested in linear time.

    Several kinds of evidence are calibrated together: all coordinates summed, and the single
    coordinate that stands out most, each by itself (largest over the bases) and with others
    (largest over bases and contexts); the single other coordinate, or pair of them, on which a
    coordinate depends most; and the first ones again along the leading directions of a held-out
    fifth of the draws. Faults of a coordinate by itself weigh most. Beside them a hundredth of the
    level goes to single draws far out, which no signs can judge.

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
    flag_note: ClassVar[str] = DEPENDENCE_NOTE
    bootstrap_share: ClassVar[float] = 1 - EXACT_SHARE

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
            work=work,
            u=tuple(np.full(frame.at.shape, np.nan) for frame in found),
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

    def settings(self, frame: Frame) -> dict[str, list[tuple[str, str]]]:
        """The (base, context) of every setting, by family: a coordinate alone, or with others."""
        every = [(base, context) for base in self.bases for context in self.contexts_of(frame)]
        alone = [setting for setting in every if setting[1] == "alone"]
        others = [setting for setting in every if setting[1] != "alone"]
        families = {f"{frame.group} alone": alone, f"{frame.group} with others": others}
        return {family: settings for family, settings in families.items() if settings}

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
                    outlying = statistic.outlying(frame, j, alpha)
                    words = misfit.words(z[:, j], effects[j], context, partners, outlying, plan)
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
        largest = verdict.largest_null[next(iter(self.settings(statistic.frames[0])))]
        return Findings(
            coordinates=tuple(results),
            detectable=misfit.detectable(float(np.quantile(largest, 1 - alpha)), plan),
            evaluations=statistic.evaluations,
            pit=statistic.u[0],
            x=statistic.x,
            places=samples.places,
            notes=_overflow_note(statistic.dropped),
            flag_note=self.flag_note,
        )

    def _context(self, frame: Frame, deciding: tuple[str, int]) -> str:
        family, setting = deciding
        settings = self.settings(frame)
        return settings[family][setting][1] if family in settings else family


def _overflow_note(dropped: list[tuple[str, str, str]]) -> tuple[str, ...]:
    if not dropped:
        return ()
    base, context, line = dropped[0]
    others = f" and {len(dropped) - 1} others" if len(dropped) > 1 else ""
    return (
        f"the setting {base!r}, {context!r} of {line}{others} left out: numbers overflow. Are "
        "there draws at an absurd distance?",
    )


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
    work: Work
    u: tuple[np.ndarray, ...]  # per frame, filled by batch_sums as it goes
    dropped: list[tuple[str, str, str]] = field(default_factory=list)  # and so are base, context

    @property
    def most_batches(self) -> int:
        return FINE_BATCHES if len(self.x) <= FEW_DRAWS else COARSE_BATCHES

    @property
    def evaluations(self) -> int:
        """Evaluations of the target per line."""
        return EVALUATIONS if self.target.normal_along(self.x[:1], np.arange(1)) is None else 0

    def averaged(self) -> np.ndarray:
        scores = self.target.score(self.x, memory=self.work.memory)
        places = np.concatenate([frame.others[:, frame.own] for frame in self.frames], axis=1)
        return np.concatenate([places, places**2, scores], axis=1)

    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        places = transport.context_slices(self.x.shape[1], self.pairs, self.sketch)
        features = places["interaction"].stop, len(self.pairs)
        bytes_per_line = 4 * 8 * batches.count * (transport.TERMS * features[0] + features[1])
        per_block = int(np.clip(self.work.memory // bytes_per_line, 1, LINES_PER_BLOCK))
        longest = int(batches.lengths.max())
        blocks = [
            (frame, u, block)
            for frame, u in zip(self.frames, self.u, strict=True)
            for block in chunks(len(frame.labels), per_block)
        ]
        for frame, u, block in self.work.bar(blocks, len(blocks), "lines"):
            lines = block.stop - block.start
            guide = make_guide(frame.at[:, block])
            sums = transport.Sums.zeros(batches.count, lines, *features, self.work.dtype)
            done = 0
            for run in batches.runs(max(1, LINES_AT_ONCE // (longest * lines))):
                index, weight = run.padded(np.arange(len(self.x)))
                out = sums.of(slice(done, done + run.count))
                for part in chunks(longest, max(1, LINES_AT_ONCE // (run.count * lines))):
                    self._add(out, frame, u, block, index[:, part], weight[:, part], guide)
                done += run.count
            yield from self._families(frame, block, sums, places, batches)

    def _add(
        self,
        out: transport.Sums,
        frame: Frame,
        u: np.ndarray,
        block: slice,
        index: Int[np.ndarray, "batch longest"],
        weight: Float[np.ndarray, "batch longest"],
        guide: Guide,
    ) -> None:
        """Add these draws to the sums of their batches."""
        rows = index.ravel()
        at = frame.at[rows, block]
        memory = self.work.memory
        lines = follow(self.target, self.x[rows], frame.directions[block], at, guide, memory)
        u[rows, block] = lines.u
        transport.batch_products(
            out,
            lines,
            at,
            frame.others[rows],
            weight * frame.tested[index],
            frame.own[block],
            self.pairs,
            self.sketch,
        )

    def _families(
        self,
        frame: Frame,
        block: slice,
        sums: transport.Sums,
        places: dict[str, slice],
        batches: Batches,
    ) -> Iterator[BatchSums]:
        for family, settings in self.method.settings(frame).items():
            spans = [(base, places[context]) for base, context in settings]
            values = transport.products(sums.of_contexts, spans)
            for s, k in zip(*np.nonzero(~np.isfinite(values).all(axis=(2, 3))), strict=True):
                self.dropped.append((*settings[s], frame.labels[block.start + k]))
                values[s, k] = 0.0
            alone = family.endswith("alone")
            weights = WEIGHTS[frame.group] if alone else (1.0, 1.0)
            yield BatchSums(values, batches, family, frame.group, *weights)
        if frame.group == "directions":
            return
        for context, single in self._singles(frame, sums, places):
            yield BatchSums(single, batches, context, frame.group, 0.0, 1.0, two_sided=True)

    def _singles(
        self, frame: Frame, sums: transport.Sums, places: dict[str, slice]
    ) -> Iterator[tuple[str, Float[np.ndarray, "setting c batch"]]]:
        """Single terms with single features of the others: they name partners."""
        for context in self.method.contexts_of(frame):
            if context == "alone":
                continue
            if context == "interaction":
                single = sums.of_pairs[:, :, None, :]
            else:
                single = sums.of_contexts[:, :, transport.SINGLE_TERMS, places[context]]
            batch, line, term, feature = single.shape
            yield context, single.transpose(2, 3, 1, 0).reshape(term * feature, line, batch)

    def exact_pvalues(self) -> Float[np.ndarray, " k"]:
        """Whether a single draw stands where the target's conditional has next to nothing.

        Signs cannot tell a few draws far out from a chance of signs. But P(2 min(u, 1 - u) <= t)
        is t for every draw that comes from p, so the least over n draws, times n, is a p-value,
        however the draws depend on each other.
        """
        tails = [
            np.minimum(u, 1 - u)[frame.tested > 0].min(axis=0) * 2 * frame.tested.sum()
            for frame, u in zip(self.frames, self.u, strict=True)
        ]
        return np.clip(np.concatenate(tails), np.finfo(float).eps, 1.0)  # as 1 - u is known

    def outlying(self, frame: Frame, j: int, alpha: float) -> int:
        """How many draws are outliers each for itself."""
        u = self.u[self.frames.index(frame)][frame.tested > 0, j]
        lines = sum(len(one.labels) for one in self.frames)
        return int((np.minimum(u, 1 - u) * 2 * len(u) * lines <= alpha * EXACT_SHARE).sum())

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
