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
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from steinwise._internal.indices import evenly_spaced_indices
from steinwise._internal.memory import chunks
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import choose_coordinates, require_flag
from steinwise.calibration.batch_sums import BatchSums, Expected
from steinwise.calibration.batches import Batches, BatchPlan
from steinwise.calibration.pvalues import EXACT_SHARE, Calibration
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.methods.base import AbstractMethod
from steinwise.methods.statistics import AbstractStatistic
from steinwise.methods.transported import effects as misfit
from steinwise.methods.transported import line_sets as frames
from steinwise.methods.transported import terms as transport
from steinwise.methods.transported.detectable import detectable
from steinwise.methods.transported.effects import Tally
from steinwise.methods.transported.line_sets import Frame
from steinwise.methods.transported.slab_pass import PassResult, Walk
from steinwise.methods.transported.terms import CONTEXTS, Features, Sums
from steinwise.orbits.quadrature import evaluations_per_line
from steinwise.results.check import DEPENDENCE_NOTE, NO_MISFIT, CoordinateResult, Effect, Findings
from steinwise.target import AbstractTarget

LINES_PER_BLOCK = 64  # whose bootstraps exist at the same time
MOST_KEPT, ENTRIES_KEPT = 100_000, 2**23  # draws, and entries of them, whose transforms are kept
# With G batches a mean of size z, in standard errors, stands out as z / sqrt(1 + z^2 / G): few
# draws, whose evidence is scarce and cheap, are cut finely.
FEW_DRAWS, FINE_BATCHES, COARSE_BATCHES = 512, 128, 64
BASES = ("shape", "shift", "tails")
KNOWN_DRAWS = 50  # as which the known spread of skewed terms counts, beside what is seen of it
# what a coordinate's fault by itself, summed and largest, counts beside any one kind of dependence
WEIGHTS = {"coordinates": (8.0, 16.0), "directions": (8.0, 8.0)}
OUTLIER_LEVEL = 0.05 * EXACT_SHARE  # of all draws that are called outliers each for itself


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
    coordinates
        The numbers of the coordinates that are tested, all by default; the others still serve as
        those on which they may depend. Then no directions are followed.

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
    coordinates: tuple[int, ...] | None = None

    name: ClassVar[str] = "transported"
    flag_note: ClassVar[str] = DEPENDENCE_NOTE
    bootstrap_share: ClassVar[float] = 1 - EXACT_SHARE
    reads_by_chunk: ClassVar[bool] = True

    def __check_init__(self) -> None:
        for chosen, known, what in (
            (self.bases, BASES, "bases"),
            (self.contexts, CONTEXTS, "contexts"),
        ):
            if isinstance(chosen, str) or not len(chosen) or not set(chosen) <= set(known):
                raise InputError(f"{what} is {chosen!r}: expected some of {known}.")
        require_flag("directions", self.directions)

    def describe(self) -> str:
        return "transported conditionals"

    def labels(self, samples: Samples) -> tuple[str, ...]:
        return tuple(samples.names[j] for j in self._lines(samples))

    def _lines(self, samples: Samples) -> Sequence[int]:
        if self.coordinates is None:
            return range(samples.dim)
        return choose_coordinates(self.coordinates, samples.names)

    def restricted(self, coordinates: tuple[int, ...]) -> "Transported":
        return replace(self, coordinates=coordinates)

    def evaluations(self, samples: Samples, target: AbstractTarget) -> int:
        lines = len(self.labels(samples))
        if self._follows_directions:
            lines += frames.most_directions(samples.dim)
        return lines * evaluations_per_line(target, samples.spaced(1))

    @property
    def _follows_directions(self) -> bool:
        return self.directions and self.coordinates is None

    def statistic(
        self, samples: Samples, target: AbstractTarget, run: RunOptions
    ) -> "TransportedStatistic":
        axes = frames.axes(samples, self._lines(samples))
        if not self.contexts_of(axes):
            raise InputError(
                f"contexts is {tuple(self.contexts)!r}, which need more coordinates than the "
                f"{samples.dim} that the draws have: dependence needs another one, an interaction "
                "two others. Add 'alone', or leave contexts as they are."
            )
        rotated = frames.directions(samples) if self._follows_directions else None
        followed = (axes,) if rotated is None else (axes, rotated)
        return TransportedStatistic(
            method=self,
            target=target,
            samples=samples,
            frames=tuple(frame for frame in followed if self.contexts_of(frame)),
            run=run,
        )

    def contexts_of(self, frame: Frame) -> list[str]:
        """The chosen contexts that a frame has features for: products need two others."""
        others = len(frame.scores.places) - 1
        has = set(CONTEXTS if others else ["alone"])
        if others == 1 or frame.group == "directions":
            has.discard("interaction")
        return [context for context in self.contexts if context in has]

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
        for found in statistic.found:
            effects = found.tally.effects
            for j, name in enumerate(found.frame.labels):
                k = len(results)
                kind, partners, words = "", (), NO_MISFIT
                if verdict.adjusted_pvalues[k] <= alpha:
                    context = self._context(found.frame, verdict.deciding[k])
                    partners = found.partners(j, context, verdict, samples.names, alpha)
                    line = found.tally.line(j)
                    kind, partners, words = misfit.named(line, context, partners, plan)
                results.append(
                    CoordinateResult(
                        name=name,
                        value=float(verdict.values[k]),
                        pvalue=float(verdict.coordinate_pvalues[k]),
                        adjusted_pvalue=float(verdict.adjusted_pvalues[k]),
                        effect=effects[j],
                        verdict=words,
                        kind=kind,
                        partners=partners,
                    )
                )
        return Findings(
            coordinates=tuple(results),
            detectable=self._detectable(statistic.frames[0], plan, verdict, alpha),
            evaluations=statistic.evaluations,
            pit=statistic.found[0].u,
            direction_pit=statistic.direction_pit,
            x=statistic.kept_draws,
            x_names=samples.names,
            places=replace(samples.places, rows=statistic.kept),
            notes=(*_dropped_notes(statistic.dropped), *statistic.left_out),
            flag_note=self.flag_note,
        )

    def _detectable(
        self, frame: Frame, plan: BatchPlan, verdict: Calibration, alpha: float
    ) -> Effect | None:
        """What would have been found of a coordinate alone, where that is looked at."""
        alone = verdict.families.get(f"{frame.group} alone")
        if alone is None:
            return None
        threshold = float(np.quantile(alone.null, 1 - alpha))
        expected = _expected([(base, "alone") for base in self.bases], plan.batches, 0)
        return detectable(threshold, plan, self.bases, expected)

    def _context(self, frame: Frame, deciding: tuple[str, int]) -> str:
        family, setting = deciding
        settings = self.settings(frame)
        return settings[family][setting][1] if family in settings else family


def _expected(settings: list[tuple[str, str]], batches: Batches, held_out: int) -> Expected | None:
    """The squares of skewed terms of a coordinate alone, known for independent draws.

    The first so many of which are held out.
    """
    if not batches.independent:
        return None
    tested = np.diff(np.maximum(batches.bounds, held_out)).astype(float)
    pairs = tested.sum() ** 2 - (tested**2).sum()
    known = [transport.SKEWED.get(base, 0) * (context == "alone") for base, context in settings]
    squares = 2 * pairs * np.array(known, float)  # U_gh = U_hg
    return Expected(squares, np.where(squares > 0, KNOWN_DRAWS / (KNOWN_DRAWS + tested.sum()), 0.0))


class _Dropped(NamedTuple):
    """A setting of a line that says nothing."""

    base: str
    context: str
    line: str
    why: str


def _dropped_notes(dropped: list[_Dropped]) -> Iterator[str]:
    for why, cause in (
        ("overflow", "Are there draws at an absurd distance?"),
        ("underflow", "No draw is where the target's conditional has its mass."),
    ):
        its = [one for one in dropped if one.why == why]
        if its:
            more = f" and {len(its) - 1} more" if len(its) > 1 else ""
            setting = f"{its[0].base!r}, {its[0].context!r} of {its[0].line}{more}"
            yield f"the setting {setting} left out: numbers {why}. {cause}"


@dataclass(eq=False)
class _Found:
    """What was found along the lines of a frame, pass by pass."""

    frame: Frame
    features: Features
    tally: Tally
    u: Float[np.ndarray, "kept c"]

    def partners(
        self, j: int, context: str, verdict: Calibration, names: tuple[str, ...], alpha: float
    ) -> tuple[str, ...]:
        """The other coordinates that a coordinate depends on most, in this context.

        None where no single one stands out by itself: of many, only some are looked at one by one.
        """
        found = verdict.families.get(context)
        if found is None or self.frame.group == "directions" or found.pvalues[j] > alpha:
            return ()
        return tuple(names[k] for k in self.features.partners(context, int(found.setting[j])))


@dataclass(frozen=True, eq=False)
class TransportedStatistic(AbstractStatistic):
    """Feature products on batch sums, some lines at a time; `found` is filled by `batch_sums`."""

    method: Transported
    target: AbstractTarget
    samples: Samples
    frames: tuple[Frame, ...]
    run: RunOptions
    found: list[_Found] = field(default_factory=list)  # of each frame
    dropped: list[_Dropped] = field(default_factory=list)
    cut: list[Batches] = field(default_factory=list)  # the batches that an interruption left

    @property
    def most_batches(self) -> int:
        return FINE_BATCHES if self.samples.n <= FEW_DRAWS else COARSE_BATCHES

    @property
    def evaluations(self) -> int:
        """Evaluations of the target per line."""
        return evaluations_per_line(self.target, self.samples.spaced(1))

    @property
    def kept(self) -> Int[np.ndarray, " m"]:
        """The numbers of the draws whose transforms are kept, for pictures of them."""
        return evenly_spaced_indices(
            self.samples.n, min(MOST_KEPT, max(1000, ENTRIES_KEPT // self.samples.dim))
        )

    @property
    def kept_draws(self) -> Float[np.ndarray, "m d"]:
        return self.samples.take(self.kept[: len(self.found[0].u)])

    @property
    def direction_pit(self) -> Float[np.ndarray, "t k"] | None:
        """u along directions, without the draws that the directions were taken from."""
        if len(self.found) == 1:
            return None
        return self.found[1].u[self.found[1].frame.tested(self.kept) > 0]

    def averaged(
        self,
        start: int,  # noqa: ARG002
        x: Float[np.ndarray, "m d"],
    ) -> Float[np.ndarray, "m q"]:
        scores = self.target.score(x, memory=self.run.memory)
        places = [frame.scores(frame.places(x))[:, frame.own] for frame in self.frames]
        every = np.concatenate(places, axis=1)
        return np.concatenate([every, every**2, scores], axis=1)

    def batch_sums(self, batches: Batches) -> Iterator[BatchSums]:
        for filled in (self.found, self.dropped, self.cut):
            filled.clear()
        features = [Features.draw(len(frame.scores.places), self.run.seed) for frame in self.frames]
        lines = sum(len(frame.labels) for frame in self.frames)
        cost = f", {self.samples.n * lines * self.evaluations:.2g} evaluations"
        unlikely = OUTLIER_LEVEL / (2 * self.samples.n * lines)
        with self.run.meter(self.samples.n * lines, "line", f"lines{cost}") as meter:
            for frame, its in zip(self.frames, features, strict=True):
                bytes_per_line = its.bytes_per_line(batches.count, self.run.dtype)
                for part in chunks(len(frame.labels), self.run.memory // (2 * bytes_per_line)):
                    walk = Walk(
                        self.target, frame.part(part), its, batches, self.kept, unlikely, self.run
                    )
                    walked = walk.over(self.samples, meter, in_part=not self.found)
                    if walked is None:  # interrupted: what was found before stands by itself
                        return
                    self._keep(walk, walked)
                    for block in chunks(len(walk.frame.labels), LINES_PER_BLOCK):
                        sums = walked.sums.part(slice(walked.batches.count), block)
                        yield from self._families(walk.frame, block, sums, its, walked.batches)
                    if walked.batches.count < batches.count:
                        self.cut.append(walked.batches)
                        return

    def _keep(self, walk: Walk, walked: PassResult) -> None:
        last = self.found[-1] if self.found else None
        if last is None or last.frame.group != walk.frame.group:
            self.found.append(_Found(walk.frame, walk.features, walked.tally, walked.u))
            return
        last.frame = last.frame.joined(walk.frame)
        last.tally = Tally.side_by_side([last.tally, walked.tally])
        last.u = np.concatenate([last.u, walked.u], axis=1)

    def reached(self, batches: Batches) -> Batches:
        return self.cut[0] if self.cut else batches

    @property
    def left_out(self) -> tuple[str, ...]:
        """A note on the lines that an interruption left out."""
        lines = sum(len(frame.labels) for frame in self.frames)
        done = sum(len(found.frame.labels) for found in self.found)
        if done == lines:
            return ()
        return (
            f"interrupted: {done} of {lines} coordinates and directions were looked at. The "
            "verdict speaks of these only.",
        )

    def _families(
        self, frame: Frame, block: slice, sums: Sums, features: Features, batches: Batches
    ) -> Iterator[BatchSums]:
        for family, settings in self.method.settings(frame).items():
            values = transport.products(sums, settings)
            largest = np.abs(values).max(axis=(2, 3))
            for s, k in zip(*np.nonzero(~((largest > 0) & np.isfinite(largest))), strict=True):
                why = "underflow" if largest[s, k] == 0 else "overflow"
                base, context = settings[s]
                self.dropped.append(_Dropped(base, context, frame.labels[block.start + k], why))
                values[s, k] = 0.0
            alone = family.endswith("alone")
            weights = WEIGHTS[frame.group] if alone else (1.0, 1.0)
            expected = _expected(settings, batches, frame.held[0])
            yield BatchSums(values, batches, family, frame.group, *weights, expected=expected)
        if frame.group == "directions":
            return
        for context in self.method.contexts_of(frame):
            if context != "alone":  # single terms with single features: they name partners
                single = features.singles(sums, context)
                batch, line, term, feature = single.shape
                values = single.transpose(2, 3, 1, 0).reshape(term * feature, line, batch)
                yield BatchSums(values, batches, context, frame.group, 0.0, 1.0, two_sided=True)

    def exact_pvalues(self) -> Float[np.ndarray, " k"]:
        """Whether a single draw stands where the target's conditional has next to nothing.

        Signs cannot tell a few draws far out from a chance of signs. But P(2 min(u, 1 - u) <= t)
        is t for every draw that comes from p, so the least over n draws, times n, is a p-value,
        however the draws depend on each other.
        """
        tails = [found.tally.least * 2 * found.tally.draws for found in self.found]
        return np.clip(np.concatenate(tails), np.finfo(float).eps, 1.0)  # as 1 - u is known
