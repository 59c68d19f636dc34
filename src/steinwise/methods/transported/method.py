r"""The default check: transported conditionals.

F_ij, the CDF of p(. | x_i,-j), takes every coordinate of every draw to u_ij = F_ij(x_ij), which is
uniform, and independent of x_i,-j, when the draws come from p. The statistic looks for any
departure from that. No training, no split, linear in n.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from steinwise._internal.coordinates import choose_coordinates
from steinwise._internal.run_options import RunOptions
from steinwise._internal.validation import require_flag
from steinwise.calibration.batch_plan import BatchPlan
from steinwise.calibration.batches import Batches
from steinwise.calibration.pvalues import EXACT_SHARE, Calibration
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.methods.base import AbstractFitted, AbstractMethod, Evidence
from steinwise.methods.statistics import AbstractStatistic
from steinwise.methods.transported.detectable import detectable
from steinwise.methods.transported.effects import kind_of_misfit
from steinwise.methods.transported.features import CONTEXTS
from steinwise.methods.transported.line_sets import (
    LineSet,
    coordinate_lines,
    direction_lines,
    most_directions,
)
from steinwise.methods.transported.settings import (
    BASES,
    alone_family,
    available_contexts,
    expected_squares,
    families,
)
from steinwise.methods.transported.statistic import (
    LineFindings,
    TransportedEvidence,
    TransportedStatistic,
)
from steinwise.orbits.quadrature import evaluations_per_line
from steinwise.results.coordinate import CoordinateResult, Effect
from steinwise.results.findings import Findings
from steinwise.target import AbstractTarget


class Transported(AbstractMethod):
    """Conditional probability transforms of every coordinate, tested in linear time.

    Several kinds of evidence are calibrated together: all coordinates summed, and the single
    coordinate that stands out most, each by itself (largest over the bases) and with others
    (largest over bases and contexts); the single other coordinate, or pair of them, on which a
    coordinate depends most; and the first ones again along the leading directions of a held-out
    fifth of the draws. Faults of a coordinate by itself weigh most. A hundredth of the level goes
    to single draws far out, which no signs can judge.

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
        Whether directions are followed as well as the coordinates.
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
    flag_meaning: ClassVar[str] = "conditional"
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

    def restricted(self, coordinates: tuple[int, ...]) -> "Transported":
        return replace(self, coordinates=coordinates)

    def evaluations(self, samples: Samples, target: AbstractTarget) -> int:
        lines = len(self._coordinates(samples))
        if self._follows_directions:
            lines += most_directions(samples.dim)
        return lines * evaluations_per_line(target, samples.evenly_spaced(1))

    def prepare(
        self,
        samples: Samples,
        target: AbstractTarget,  # noqa: ARG002
        run: RunOptions,  # noqa: ARG002
    ) -> "Iterator[FittedTransported]":
        """The lines to follow: coordinates, and directions learned from a fifth of the draws."""
        axes = coordinate_lines(samples, self._coordinates(samples))
        if not available_contexts(self.contexts, axes):
            raise InputError(
                f"contexts is {tuple(self.contexts)!r}, which need more coordinates than the "
                f"{samples.dim} that the draws have: dependence needs another one, an interaction "
                "two others. Add 'alone', or leave contexts as they are."
            )
        rotated = direction_lines(samples) if self._follows_directions else None
        line_sets = (axes,) if rotated is None else (axes, rotated)
        usable = tuple(s for s in line_sets if available_contexts(self.contexts, s))
        yield FittedTransported(self, samples, usable)

    def _coordinates(self, samples: Samples) -> Sequence[int]:
        if self.coordinates is None:
            return range(samples.dim)
        return choose_coordinates(self.coordinates, samples.names)

    @property
    def _follows_directions(self) -> bool:
        return self.directions and self.coordinates is None


@dataclass(frozen=True, eq=False)
class FittedTransported(AbstractFitted[Transported]):
    """The default check with the lines that it follows, and the draws that it tests."""

    line_sets: tuple[LineSet, ...]  # of coordinates, then of directions where there are any

    @property
    def labels(self) -> tuple[str, ...]:
        return self.line_sets[0].labels

    def statistic(self, target: AbstractTarget, run: RunOptions) -> TransportedStatistic:
        options = self.method.bases, self.method.contexts
        return TransportedStatistic(*options, target, self.samples, self.line_sets, run)

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
        coordinates = self._coordinates(evidence.found, calibration, plan, alpha)
        u, samples = evidence.found[0].u, self.samples
        kept = statistic.kept
        lines = sum(len(found.lines.labels) for found in evidence.found)
        return Findings(
            coordinates=tuple(coordinates),
            detectable=self._detectable(plan, calibration, alpha),
            evaluations=statistic.evaluations,
            pit=u,
            direction_pit=_direction_pit(evidence.found, kept),
            outlier_bound=-np.log10(alpha * EXACT_SHARE / (samples.n * lines)),
            x=samples.take(kept[: len(u)]),
            x_names=samples.names,
            draw_index=replace(samples.draw_index, rows=kept),
            notes=evidence.notes(),
            flag_meaning=self.method.flag_meaning,
        )

    def _coordinates(
        self,
        found: tuple[LineFindings, ...],
        calibration: Calibration,
        plan: BatchPlan,
        alpha: float,
    ) -> Iterator[CoordinateResult]:
        k = 0
        for line_findings in found:
            lines = line_findings.lines
            effects = line_findings.normal_scores.effects
            for j, name in enumerate(lines.labels):
                misfit = None
                if calibration.adjusted_pvalues[k] <= alpha:
                    context = self._context(lines, calibration.deciding[k])
                    names = self.samples.names
                    partners = line_findings.partners(j, context, calibration, names, alpha)
                    line = line_findings.normal_scores.line(j)
                    misfit = kind_of_misfit(line, context, partners, plan)
                yield CoordinateResult(
                    name=name,
                    value=float(calibration.values[k]),
                    pvalue=float(calibration.coordinate_pvalues[k]),
                    adjusted_pvalue=float(calibration.adjusted_pvalues[k]),
                    effect=effects[j],
                    misfit=misfit,
                )
                k += 1

    def _context(self, lines: LineSet, deciding: tuple[str, int]) -> str:
        """The context of the setting that decided; families of single features have its name."""
        family, setting = deciding
        settings = families(self.method.bases, self.method.contexts, lines)
        return settings[family][setting][1] if family in settings else family

    def _detectable(self, plan: BatchPlan, calibration: Calibration, alpha: float) -> Effect | None:
        """What would have been found of a coordinate by itself, where that is looked at."""
        alone = calibration.families.get(alone_family(self.line_sets[0]))
        if alone is None:
            return None
        threshold = float(np.quantile(alone.null, 1 - alpha))
        settings = [(base, "alone") for base in self.method.bases]
        expected = expected_squares(settings, plan.batches, 0)
        return detectable(threshold, plan, self.method.bases, expected)


def _direction_pit(found: tuple[LineFindings, ...], kept: np.ndarray) -> np.ndarray | None:
    """u along directions, without the draws that the directions were taken from."""
    if len(found) == 1:
        return None
    return found[1].u[found[1].lines.tested(kept) > 0]
