"""The contract of a method."""

import abc
from collections.abc import Iterator
from typing import ClassVar

import equinox as eqx

from steinwise._internal.run_options import RunOptions
from steinwise.calibration.batches import Batches, BatchPlan
from steinwise.calibration.pvalues import Calibration, calibrate
from steinwise.draws.samples import Samples
from steinwise.errors import InputError
from steinwise.methods.statistics import AbstractStatistic, Mean
from steinwise.results.check import NO_MISFIT, CoordinateResult, Findings
from steinwise.target import AbstractTarget


class AbstractMethod(eqx.Module):
    """A discrepancy between draws and a target that reduces to batch sums."""

    name: ClassVar[str]
    flag_note: ClassVar[str] = ""  # what it means that a coordinate is flagged
    bootstrap_share: ClassVar[float] = 1.0  # of the level; the rest is for exact p-values
    reads_by_chunk: ClassVar[bool] = False  # so that the draws need not fit into memory

    @abc.abstractmethod
    def describe(self) -> str:
        """The method and its settings, for the report."""

    @abc.abstractmethod
    def labels(self, samples: Samples) -> tuple[str, ...]:
        """The names of what gets a verdict of its own: coordinates, blocks, or nothing."""

    def findings(
        self,
        samples: Samples,
        statistic: AbstractStatistic,
        plan: BatchPlan,  # noqa: ARG002
        verdict: Calibration,
        alpha: float,
    ) -> Findings:
        """What the numbers mean: a verdict on each coordinate, and what else the method tells."""
        return Findings(
            coordinates=tuple(
                CoordinateResult(
                    name=name,
                    value=float(verdict.values[k]),
                    pvalue=float(verdict.coordinate_pvalues[k]),
                    adjusted_pvalue=float(verdict.adjusted_pvalues[k]),
                    effect=None,
                    verdict="misfit" if verdict.adjusted_pvalues[k] <= alpha else NO_MISFIT,
                )
                for k, name in enumerate(self.labels(samples))
            ),
            flag_note=self.flag_note,
            x=samples.rows,
            x_names=samples.names,
            parts_by=statistic.each_draw if isinstance(statistic, Mean) else None,
            places=samples.places,
        )

    def restricted(self, coordinates: tuple[int, ...]) -> "AbstractMethod":  # noqa: ARG002
        """The same method with verdicts on some coordinates only, at their cost."""
        raise InputError(
            f"coordinates= came with the method {self.name!r}, which sees all coordinates at once: "
            "expected 'transported' or 'kccsd', which go coordinate by coordinate."
        )

    def evaluations(
        self,
        samples: Samples,  # noqa: ARG002
        target: AbstractTarget,  # noqa: ARG002
    ) -> int:
        """Of the target, for every draw: its score, unless a method asks for more."""
        return 1

    def prepare(
        self,
        samples: Samples,
        target: AbstractTarget,  # noqa: ARG002
        run: RunOptions,  # noqa: ARG002
    ) -> "Iterator[tuple[AbstractMethod, Samples]]":
        """The method with all that it learns from a part of the draws, and the draws to test.

        One pair for each split of the draws, whose verdicts are averaged.
        """
        yield self, samples

    @abc.abstractmethod
    def statistic(
        self, samples: Samples, target: AbstractTarget, run: RunOptions
    ) -> AbstractStatistic:
        """What is averaged."""

    def calibrate(
        self, statistic: AbstractStatistic, batches: Batches, n_bootstrap: int, seed: object
    ) -> Calibration:
        """The verdict: by signs per batch, unless the method has a null of its own."""
        verdict = calibrate(statistic.batch_sums(batches), n_bootstrap, seed)
        return verdict.joined_with(statistic.exact_pvalues())
